with order_lines as (
    select * from {{ ref('stg_orders') }}
),

-- From the lines and not from fct_orders, so that one can be reconciled with the other.
final as (
    select
        _date,
        count(*) as order_lines,
        count(distinct order_id) as orders,
        count(distinct order_id) filter (where is_cancelled) as cancelled_orders,
        count(distinct customer_id) as customers,
        count(*) filter (where customer_id is null) as lines_without_customer,
        coalesce(sum(line_amount) filter (where not is_cancelled), 0) as gross_sales,
        coalesce(sum(line_amount) filter (where is_cancelled), 0) as cancelled_sales,
        sum(line_amount) as net_sales
    from order_lines
    group by _date
)

select * from final
