with trips as (
    select * from {{ ref('stg_trips') }}
),

-- Every row delivered is a trip here, also one that was given back.
final as (
    select
        _date,
        _line,
        vendor_id,
        picked_up_at,
        dropped_off_at,
        passengers,
        distance,
        rate_code,
        store_and_forward,
        pickup_zone,
        dropoff_zone,
        payment_type,
        fare_amount,
        extra,
        mta_tax,
        tip_amount,
        tolls_amount,
        improvement_surcharge,
        total_amount,
        congestion_surcharge
    from trips
)

select * from final
