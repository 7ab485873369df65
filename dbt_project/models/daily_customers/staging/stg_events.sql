with source as (
    select * from {{ source('raw', 'events') }}
),

renamed as (
    select
        _date,
        _line,
        {{ clean_text('event_id') }} as event_id,
        {{ clean_text('entity_id') }} as entity_id,
        {{ clean_text('operation') }} as operation,
        occurred_at,
        payload
    from source
)

select * from renamed
