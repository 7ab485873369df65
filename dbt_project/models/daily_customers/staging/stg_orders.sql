with source as (
    select * from {{ source('raw', 'orders') }}
),

renamed as (
    select
        _date,
        _line,
        {{ clean_text('order_id') }} as order_id,
        {{ clean_text('stock_code') }} as stock_code,
        {{ clean_text('description') }} as description,
        quantity,
        ordered_at,
        unit_price,
        {{ clean_text('customer_id') }} as customer_id,
        {{ clean_text('country') }} as country
    from source
),

final as (
    select
        *,
        cast(quantity * unit_price as decimal(38, 4)) as line_amount,
        starts_with(order_id, 'C') as is_cancelled
    from renamed
)

select * from final
