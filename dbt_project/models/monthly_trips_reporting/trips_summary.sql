with months as (
    select
        _date as month,
        trips,
        revenue,
        average_distance,
        cash_share
    from {{ source('marts', 'trips_monthly') }}
),

with_history as (
    select
        months.*,
        a_year_before.revenue as revenue_a_year_before,
        sum(months.revenue) over (
            partition by date_trunc('year', months.month)
            order by months.month
        ) as revenue_so_far_this_year
    from months
    left join months as a_year_before
        on months.month = a_year_before.month + interval 1 year
),

final as (
    select
        month,
        trips,
        revenue,
        average_distance,
        cash_share,
        revenue_so_far_this_year,
        revenue_a_year_before,
        -- Compared with nothing, or with less, a change has no percentage.
        case
            when revenue_a_year_before > 0
                then {{ quotient(
                    '100 * (revenue - revenue_a_year_before)', 'revenue_a_year_before', digits=2
                ) }}
        end as revenue_change_percent
    from with_history
)

select * from final
