"""The tables that the dbt project reads and makes: their columns in their order, and the types.

What belongs here: what other people rely on. What does not: rows (`shop_days.py`, `taxi_months.py`).
"""

from __future__ import annotations

from collections.abc import Mapping

# By table: type by column.
Tables = Mapping[str, Mapping[str, str]]

_INSTANT = "TIMESTAMP WITH TIME ZONE"
_AMOUNT = "DECIMAL(38,4)"
_MONEY = "DECIMAL(18,2)"

# What is loaded day by day, one table per feed.
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

# What is made of the raw rows of some days, and published day by day.
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

# What is made of all published days.
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

_TRIP = {
    "_date": "DATE",
    "_line": "BIGINT",
    "vendor_id": "VARCHAR",
    "picked_up_at": _INSTANT,
    "dropped_off_at": _INSTANT,
    "passengers": "BIGINT",
    "distance": "DECIMAL(18,2)",
    "rate_code": "VARCHAR",
    "store_and_forward": "VARCHAR",
    "pickup_zone": "VARCHAR",
    "dropoff_zone": "VARCHAR",
    "payment_type": "VARCHAR",
    "fare_amount": _MONEY,
    "extra": _MONEY,
    "mta_tax": _MONEY,
    "tip_amount": _MONEY,
    "tolls_amount": _MONEY,
    "improvement_surcharge": _MONEY,
    "total_amount": _MONEY,
    "congestion_surcharge": _MONEY,
}

# The same of the monthly pipeline.
TRIPS_RAW: Tables = {"trips": _TRIP}

TRIPS_MARTS: Tables = {
    "trips_clean": _TRIP,
    "trips_monthly": {
        "_date": "DATE",
        "trips": "BIGINT",
        "cash_trips": "BIGINT",
        "revenue": "DECIMAL(38,2)",
        "average_distance": "DECIMAL(38,4)",
        "cash_share": "DECIMAL(38,4)",
    },
}

TRIPS_REPORTING: Tables = {
    "trips_summary": {
        "month": "DATE",
        "trips": "BIGINT",
        "revenue": "DECIMAL(38,2)",
        "average_distance": "DECIMAL(38,4)",
        "cash_share": "DECIMAL(38,4)",
        "revenue_so_far_this_year": "DECIMAL(38,2)",
        "revenue_a_year_before": "DECIMAL(38,2)",
        "revenue_change_percent": "DECIMAL(38,2)",
    },
}
