with customers as (
    select * from {{ ref('stg_customers') }}
),

newest_of_the_day as (
    select *
    from customers
    qualify
        row_number() over (
            partition by _date, customer_id
            order by updated_at desc nulls last, _line desc
        ) = 1
),

final as (
    select
        _date,
        customer_id,
        name,
        email,
        country,
        updated_at
    from newest_of_the_day
)

select * from final
