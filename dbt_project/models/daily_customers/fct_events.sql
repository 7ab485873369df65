with events as (
    select * from {{ ref('stg_events') }}
),

-- Every row delivered. Which of them counts is settled when they are published, since it depends on
-- what other days have delivered.
final as (
    select
        _date,
        _line,
        event_id,
        entity_id,
        operation,
        occurred_at,
        payload
    from events
)

select * from final
