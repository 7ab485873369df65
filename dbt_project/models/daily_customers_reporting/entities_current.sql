with events as (
    select * from {{ source('marts', 'fct_events') }}
),

-- What happened last, in whichever order the messages arrived.
happened_last as (
    select *
    from events
    qualify
        row_number() over (
            partition by entity_id
            order by occurred_at desc, event_id desc
        ) = 1
),

final as (
    select
        entity_id,
        operation,
        occurred_at,
        payload,
        event_id,
        operation = 'deleted' as is_deleted
    from happened_last
)

select * from final
