with order_lines as (
    select * from {{ ref('stg_orders') }}
),

-- Where the lines of an order disagree, the first line that says something counts: arg_min passes
-- over nulls.
orders as (
    select
        _date,
        order_id,
        is_cancelled,
        arg_min(customer_id, _line) as customer_id,
        arg_min(country, _line) as country,
        min(ordered_at) as ordered_at,
        count(*) as order_lines,
        -- An absurd quantity becomes null, which a test blames on its day. A plain cast would
        -- fail the whole run.
        try_cast(sum(quantity) as bigint) as units,
        count(*) filter (where customer_id is null) as lines_without_customer,
        sum(line_amount) as net_sales
    from order_lines
    group by _date, order_id, is_cancelled
),

final as (
    select
        _date,
        order_id,
        customer_id,
        country,
        ordered_at,
        is_cancelled,
        order_lines,
        units,
        lines_without_customer,
        net_sales
    from orders
)

select * from final
