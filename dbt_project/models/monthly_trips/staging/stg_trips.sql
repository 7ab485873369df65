with source as (
    select * from {{ source('raw', 'trips') }}
),

renamed as (
    select
        _date,
        _line,
        {{ clean_text('vendor_id') }} as vendor_id,
        picked_up_at,
        dropped_off_at,
        passengers,
        distance,
        {{ clean_text('rate_code') }} as rate_code,
        {{ clean_text('store_and_forward') }} as store_and_forward,
        {{ clean_text('pickup_zone') }} as pickup_zone,
        {{ clean_text('dropoff_zone') }} as dropoff_zone,
        {{ clean_text('payment_type') }} as payment_code,
        fare_amount,
        extra,
        mta_tax,
        tip_amount,
        tolls_amount,
        improvement_surcharge,
        total_amount,
        congestion_surcharge
    from source
),

final as (
    select
        * exclude (payment_code),
        case payment_code
            when '1' then 'credit card'
            when '2' then 'cash'
            when '3' then 'no charge'
            when '4' then 'dispute'
            when '5' then 'unknown'
            when '6' then 'voided'
            -- What is no known code is kept as it is.
            else payment_code
        end as payment_type
    from renamed
)

select * from final
