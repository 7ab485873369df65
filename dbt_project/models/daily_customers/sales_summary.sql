with orders as (
    select * from {{ ref('fct_orders') }}
),

final as (
    select
        _date,
        coalesce(country, 'Unspecified') as country,
        count(*) as orders,
        try_cast(sum(units) as bigint) as units,
        sum(net_sales) as net_sales
    from orders
    group by all
)

select * from final
