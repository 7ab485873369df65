with orders as (
    select *
    from {{ source('marts', 'fct_orders') }}
    where customer_id is not null
),

-- As of the last published day, and not of the day on which somebody looks.
published as (
    select max(cast(partition_key as date)) as last_day
    from {{ source('ops', 'partitions') }}
    where
        pipeline = 'daily_customers'
        and status in ('published', 'empty')
),

customers as (
    select
        customer_id,
        min(ordered_at) filter (where not is_cancelled) as first_order_at,
        max(ordered_at) filter (where not is_cancelled) as last_order_at,
        max(_date) filter (where not is_cancelled) as last_order_day,
        count(*) filter (where not is_cancelled) as orders,
        count(*) filter (where is_cancelled) as cancelled_orders,
        sum(net_sales) as net_sales
    from orders
    group by customer_id
),

final as (
    select
        customers.customer_id,
        customers.first_order_at,
        customers.last_order_at,
        customers.orders,
        customers.cancelled_orders,
        customers.net_sales,
        published.last_day - customers.last_order_day as days_since_last_order
    from customers
    cross join published
)

select * from final
