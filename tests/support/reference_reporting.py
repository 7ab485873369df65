"""The reporting tables, from the marts of all published days: the slow, obvious way (see
`reference.py`).

What does not belong here: the marts themselves (`reference_marts.py`).
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterable, Mapping
from datetime import date
from decimal import Decimal
from itertools import groupby
from typing import Any

from tests.support.reference_marts import COLUMNS as MART_COLUMNS
from tests.support.reference_marts import Line, Table

# The columns of all reporting tables, in the order of the rows made here.
COLUMNS = {
    "customer_history": (
        *("customer_id", "name", "email", "country", "valid_from", "valid_to", "is_current"),
        "_date",
    ),
    "customer_summary": (
        *("customer_id", "first_order_at", "last_order_at", "orders", "cancelled_orders"),
        *("net_sales", "days_since_last_order"),
    ),
    "customers_current": ("customer_id", "name", "email", "country", "updated_at", "_date"),
    "entities_current": (
        *("entity_id", "operation", "is_deleted", "occurred_at", "payload", "event_id"),
    ),
    "monthly_sales": (
        *("month", "days", "order_lines", "orders", "cancelled_orders", "customers"),
        *("gross_sales", "cancelled_sales", "net_sales"),
    ),
}


def reporting_of(marts: Mapping[str, Table], last_day: date | None) -> dict[str, Table]:
    """All rows of each reporting table.

    Args:
        marts: all rows of all marts, with the columns of `reference_marts.COLUMNS`.
        last_day: the last published day; None when nothing is published.
    """
    rows = {
        mart: [dict(zip(MART_COLUMNS[mart], row, strict=True)) for row in table]
        for mart, table in marts.items()
    }
    return {
        "customer_history": _customer_history(rows["dim_customers"]),
        "customer_summary": _customer_summary(rows["fct_orders"], last_day),
        "customers_current": _customers_current(rows["dim_customers"]),
        "entities_current": _entities_current(rows["fct_events"]),
        "monthly_sales": _monthly_sales(rows["daily_summary"], rows["fct_orders"]),
    }


def _by(rows: Iterable[Line], name: str) -> dict[Any, list[Line]]:
    """The rows by a column; rows without a value in it are left out."""
    found = defaultdict(list)
    for row in rows:
        if row[name] is not None:
            found[row[name]].append(row)
    return found


def _customers_current(customers: list[Line]) -> Table:
    newest = [
        max(states, key=lambda row: (row["updated_at"], row["_date"]))
        for states in _by(customers, "customer_id").values()
    ]
    return [tuple(row[name] for name in COLUMNS["customers_current"]) for row in newest]


def _customer_history(customers: list[Line]) -> Table:
    table = []
    for customer, states in _by(customers, "customer_id").items():
        # Of several states since the same moment, that of the latest day stays.
        last = {row["updated_at"]: row for row in sorted(states, key=lambda row: row["_date"])}
        in_order = [last[moment] for moment in sorted(last)]
        periods = [next(same) for _, same in groupby(in_order, _description)]
        ends = [following["updated_at"] for following in periods[1:]] + [None]
        for row, end in zip(periods, ends, strict=True):
            table.append(
                (customer, *_description(row), row["updated_at"], end, end is None, row["_date"])
            )
    return table


def _description(row: Line) -> tuple[Any, ...]:
    return row["name"], row["email"], row["country"]


def _entities_current(events: list[Line]) -> Table:
    newest = [
        max(some, key=lambda row: (row["occurred_at"], row["event_id"]))
        for some in _by(events, "entity_id").values()
    ]
    return [
        (
            row["entity_id"],
            row["operation"],
            row["operation"] == "deleted",
            row["occurred_at"],
            row["payload"],
            row["event_id"],
        )
        for row in newest
    ]


def _monthly_sales(days: list[Line], orders: list[Line]) -> Table:
    months: dict[date, list[Line]] = defaultdict(list)
    for day in days:
        months[day["_date"].replace(day=1)].append(day)
    table = []
    for month, some in months.items():
        sums = {
            name: sum(day[name] for day in some)
            for name in MART_COLUMNS["daily_summary"]
            if name != "_date"
        }
        customers = {
            order["customer_id"] for order in orders if order["_date"].replace(day=1) == month
        }
        row = sums | {"month": month, "days": len(some), "customers": len(customers - {None})}
        table.append(tuple(row[name] for name in COLUMNS["monthly_sales"]))
    return table


def _customer_summary(orders: list[Line], last_day: date | None) -> Table:
    table = []
    for customer, some in _by(orders, "customer_id").items():
        kept = [order for order in some if not order["is_cancelled"]]
        moments = [order["ordered_at"] for order in kept]
        newest = max((order["_date"] for order in kept), default=None)
        table.append(
            (
                customer,
                min(moments, default=None),
                max(moments, default=None),
                len(kept),
                len(some) - len(kept),
                sum((order["net_sales"] for order in some), Decimal(0)),
                (last_day - newest).days if newest and last_day else None,
            )
        )
    return table
