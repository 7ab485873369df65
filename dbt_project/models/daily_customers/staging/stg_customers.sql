with source as (
    select * from {{ source('raw', 'customers') }}
),

renamed as (
    select
        _date,
        _line,
        {{ clean_text('customer_id') }} as customer_id,
        {{ clean_text('name') }} as name,
        {{ clean_text('email') }} as email,
        {{ clean_text('country') }} as country,
        updated_at
    from source
)

select * from renamed
