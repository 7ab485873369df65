"""The marts, from loaded rows: the slow, obvious way (see `reference.py`).

What belongs here: what is made of one day's rows, and of the messages of several days. What does
not: reading deliveries (`reference.py`), and what is made of the marts (`reference_reporting.py`).
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from datetime import date
from decimal import Decimal
from typing import Any

Line = dict[str, Any]
Table = list[tuple[Any, ...]]

# The columns of all marts, in the order of the rows made here.
COLUMNS = {
    "daily_summary": (
        *("_date", "order_lines", "orders", "cancelled_orders", "customers"),
        *("lines_without_customer", "gross_sales", "cancelled_sales", "net_sales"),
    ),
    "dim_customers": ("_date", "customer_id", "name", "email", "country", "updated_at"),
    "fct_events": (
        *("_date", "_line", "event_id", "entity_id", "operation", "occurred_at", "payload"),
    ),
    "fct_orders": (
        *("_date", "order_id", "customer_id", "country", "ordered_at", "is_cancelled"),
        *("order_lines", "units", "lines_without_customer", "net_sales"),
    ),
    "sales_summary": ("_date", "country", "orders", "units", "net_sales"),
}


def marts_of(key: str, customers: Sequence[Line], orders: Sequence[Line]) -> dict[str, Table]:
    """All rows of a day in each mart that depends on that day's deliveries alone."""
    day = date.fromisoformat(key)
    facts = _fct_orders(day, orders)
    return {
        "daily_summary": _daily_summary(day, orders),
        "dim_customers": _dim_customers(day, customers),
        "fct_orders": facts,
        "sales_summary": _sales_summary(day, facts),
    }


@dataclass(frozen=True)
class Message:
    """One message: the row that counts, its copies, and the rows that contradict it."""

    owner: Line
    copies: tuple[Line, ...]
    conflicts: tuple[Line, ...]


def messages_of(rows: Iterable[Line]) -> list[Message]:
    """The messages in the events of all published deliveries, each owned by its first row."""
    delivered: dict[str, list[Line]] = defaultdict(list)
    for row in sorted(rows, key=lambda row: (row["_date"], row["_line"])):
        texts = {name: clean(row[name]) for name in ("event_id", "entity_id", "operation")}
        delivered[texts["event_id"] or ""].append(row | texts)
    return [
        Message(
            owner,
            tuple(row for row in others if _content(row) == _content(owner)),
            tuple(row for row in others if _content(row) != _content(owner)),
        )
        for owner, *others in delivered.values()
    ]


def fct_events(messages: Iterable[Message]) -> Table:
    return [tuple(one.owner[name] for name in COLUMNS["fct_events"]) for one in messages]


def clean(text: str | None) -> str | None:
    """The text without outer white space; None when nothing is left."""
    return (text or "").strip(" \t\r\n") or None


def _content(row: Line) -> tuple[Any, ...]:
    return tuple(row[name] for name in ("entity_id", "operation", "occurred_at", "payload"))


def _dim_customers(day: date, rows: Sequence[Line]) -> Table:
    newest: dict[str | None, Line] = {}
    for row in sorted(rows, key=lambda row: (row["updated_at"], row["_line"])):
        newest[clean(row["customer_id"])] = row
    return [
        (
            day,
            customer,
            clean(row["name"]),
            clean(row["email"]),
            clean(row["country"]),
            row["updated_at"],
        )
        for customer, row in newest.items()
    ]


def _fct_orders(day: date, rows: Sequence[Line]) -> Table:
    orders: dict[str, list[Line]] = defaultdict(list)
    for row in rows:
        orders[clean(row["order_id"]) or ""].append(row)
    return [
        (
            day,
            order,
            _first(lines, "customer_id"),
            _first(lines, "country"),
            min(line["ordered_at"] for line in lines),
            order.startswith("C"),
            len(lines),
            sum(line["quantity"] for line in lines),
            sum(clean(line["customer_id"]) is None for line in lines),
            _sales(lines),
        )
        for order, lines in orders.items()
    ]


def _daily_summary(day: date, rows: Sequence[Line]) -> Table:
    if not rows:
        return []
    orders = {clean(row["order_id"]) or "" for row in rows}
    cancelled = [row for row in rows if (clean(row["order_id"]) or "").startswith("C")]
    customers = {clean(row["customer_id"]) for row in rows} - {None}
    return [
        (
            day,
            len(rows),
            len(orders),
            sum(order.startswith("C") for order in orders),
            len(customers),
            sum(clean(row["customer_id"]) is None for row in rows),
            _sales(rows) - _sales(cancelled),
            _sales(cancelled),
            _sales(rows),
        )
    ]


def _sales_summary(day: date, orders: Table) -> Table:
    countries: dict[str, Table] = defaultdict(list)
    for order in orders:
        countries[order[3] or "Unspecified"].append(order)
    return [
        (day, country, len(some), sum(row[7] for row in some), sum(row[9] for row in some))
        for country, some in countries.items()
    ]


def _first(lines: Sequence[Line], name: str) -> str | None:
    """What the first line that says something says."""
    return next((found for line in lines if (found := clean(line[name]))), None)


def _sales(lines: Sequence[Line]) -> Decimal:
    return sum((line["quantity"] * line["unit_price"] for line in lines), Decimal("0.0000"))
