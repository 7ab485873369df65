"""The tables that the dbt project reads and makes: their columns in their order, and the types.

What belongs here: what other people rely on. What does not: rows (`shop_days.py`).
"""

from __future__ import annotations

from collections.abc import Mapping

# By table: type by column.
Tables = Mapping[str, Mapping[str, str]]

_INSTANT = "TIMESTAMP WITH TIME ZONE"
_AMOUNT = "DECIMAL(38,4)"

# What is loaded, one table per feed.
RAW: Tables = {
    "customers": {
        "_date": "DATE",
        "_line": "BIGINT",
        "customer_id": "VARCHAR",
        "name": "VARCHAR",
        "email": "VARCHAR",
        "country": "VARCHAR",
        "updated_at": _INSTANT,
    },
    "orders": {
        "_date": "DATE",
        "_line": "BIGINT",
        "order_id": "VARCHAR",
        "stock_code": "VARCHAR",
        "description": "VARCHAR",
        "quantity": "BIGINT",
        "ordered_at": _INSTANT,
        "unit_price": "DECIMAL(18,4)",
        "customer_id": "VARCHAR",
        "country": "VARCHAR",
    },
    "events": {
        "_date": "DATE",
        "_line": "BIGINT",
        "event_id": "VARCHAR",
        "entity_id": "VARCHAR",
        "operation": "VARCHAR",
        "occurred_at": _INSTANT,
        "payload": "VARCHAR",
    },
}

# What is made of a window's raw rows, and published day by day.
MARTS: Tables = {
    "dim_customers": {
        "_date": "DATE",
        "customer_id": "VARCHAR",
        "name": "VARCHAR",
        "email": "VARCHAR",
        "country": "VARCHAR",
        "updated_at": _INSTANT,
    },
    "fct_orders": {
        "_date": "DATE",
        "order_id": "VARCHAR",
        "customer_id": "VARCHAR",
        "country": "VARCHAR",
        "ordered_at": _INSTANT,
        "is_cancelled": "BOOLEAN",
        "order_lines": "BIGINT",
        "units": "BIGINT",
        "lines_without_customer": "BIGINT",
        "net_sales": _AMOUNT,
    },
    "fct_events": {
        "_date": "DATE",
        "_line": "BIGINT",
        "event_id": "VARCHAR",
        "entity_id": "VARCHAR",
        "operation": "VARCHAR",
        "occurred_at": _INSTANT,
        "payload": "VARCHAR",
    },
    "daily_summary": {
        "_date": "DATE",
        "order_lines": "BIGINT",
        "orders": "BIGINT",
        "cancelled_orders": "BIGINT",
        "customers": "BIGINT",
        "lines_without_customer": "BIGINT",
        "gross_sales": _AMOUNT,
        "cancelled_sales": _AMOUNT,
        "net_sales": _AMOUNT,
    },
    "sales_summary": {
        "_date": "DATE",
        "country": "VARCHAR",
        "orders": "BIGINT",
        "units": "BIGINT",
        "net_sales": _AMOUNT,
    },
}

# What is made of all published marts.
REPORTING: Tables = {
    "customer_summary": {
        "customer_id": "VARCHAR",
        "first_order_at": _INSTANT,
        "last_order_at": _INSTANT,
        "orders": "BIGINT",
        "cancelled_orders": "BIGINT",
        "net_sales": _AMOUNT,
        "days_since_last_order": "BIGINT",
    },
    "entities_current": {
        "entity_id": "VARCHAR",
        "operation": "VARCHAR",
        "is_deleted": "BOOLEAN",
        "occurred_at": _INSTANT,
        "payload": "VARCHAR",
        "event_id": "VARCHAR",
    },
    "monthly_sales": {
        "month": "DATE",
        "days": "BIGINT",
        "order_lines": "BIGINT",
        "orders": "BIGINT",
        "cancelled_orders": "BIGINT",
        "gross_sales": _AMOUNT,
        "cancelled_sales": _AMOUNT,
        "net_sales": _AMOUNT,
        "customers": "BIGINT",
    },
}
