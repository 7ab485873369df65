with trips as (
    select * from {{ ref('stg_trips') }}
),

-- From staging and not from trips_clean, so that one can be reconciled with the other.
months as (
    select
        _date,
        count(*) as trips,
        count(*) filter (where payment_type = 'cash') as cash_trips,
        sum(distance) as distance,
        sum(total_amount) as revenue
    from trips
    group by _date
),

final as (
    select
        _date,
        trips,
        cash_trips,
        revenue,
        {{ quotient('distance', 'trips', digits=4) }} as average_distance,
        {{ quotient('cash_trips', 'trips', digits=4) }} as cash_share
    from months
)

select * from final
