with days as (
    select
        *,
        cast(date_trunc('month', _date) as date) as month
    from {{ source('marts', 'daily_summary') }}
),

orders as (
    select
        *,
        cast(date_trunc('month', _date) as date) as month
    from {{ source('marts', 'fct_orders') }}
),

customers_by_month as (
    select
        month,
        count(distinct customer_id) as customers
    from orders
    group by month
),

sales_by_month as (
    select
        month,
        count(*) as days,
        sum(order_lines) as order_lines,
        sum(orders) as orders,
        sum(cancelled_orders) as cancelled_orders,
        sum(gross_sales) as gross_sales,
        sum(cancelled_sales) as cancelled_sales,
        sum(net_sales) as net_sales
    from days
    group by month
),

final as (
    select
        sales_by_month.month,
        sales_by_month.days,
        sales_by_month.gross_sales,
        sales_by_month.cancelled_sales,
        sales_by_month.net_sales,
        cast(sales_by_month.order_lines as bigint) as order_lines,
        cast(sales_by_month.orders as bigint) as orders,
        cast(sales_by_month.cancelled_orders as bigint) as cancelled_orders,
        coalesce(customers_by_month.customers, 0) as customers
    from sales_by_month
    left join customers_by_month
        on sales_by_month.month = customers_by_month.month
)

select * from final
