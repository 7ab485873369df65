"""Three days of a made-up shop, and what the marts must hold, read off the rows one by one.

The shop has everything that makes the rules hard: order ids that come again on the next day, lines
of an order that disagree, texts with white space, several states of a customer on a day, ties.
"""

from __future__ import annotations

import random
from collections import defaultdict
from collections.abc import Iterable
from dataclasses import dataclass, replace
from datetime import UTC, date, datetime, time, timedelta
from decimal import Decimal

DAYS = (date(2026, 3, 28), date(2026, 3, 29), date(2026, 3, 30))


@dataclass(frozen=True)
class Customer:
    """A row of raw.customers."""

    _date: date
    _line: int
    customer_id: str
    name: str | None
    email: str | None
    country: str | None
    updated_at: datetime | None


@dataclass(frozen=True)
class OrderLine:
    """A row of raw.orders."""

    _date: date
    _line: int
    order_id: str
    stock_code: str
    description: str | None
    quantity: int | None
    ordered_at: datetime
    unit_price: Decimal
    customer_id: str | None
    country: str | None


def shop_days(seed: int) -> tuple[list[Customer], list[OrderLine]]:
    """The raw rows of all three days."""
    rng = random.Random(seed)
    customers: list[Customer] = []
    orders: list[OrderLine] = []
    for day in DAYS:
        lines = [_order_line(rng, day, number) for number in range(2, 152)]
        orders += lines
        seen = sorted({clean(line.customer_id) or "" for line in lines} - {""})
        states = [
            _customer(rng, day, customer) for customer in seen for _ in range(rng.randint(1, 4))
        ]
        rng.shuffle(states)
        customers += [replace(state, _line=number) for number, state in enumerate(states, start=2)]
    return customers, orders


def _order_line(rng: random.Random, day: date, number: int) -> OrderLine:
    order = f"{rng.choice(['C', '', '', ''])}{rng.randrange(100, 140)}"
    quantity = rng.randrange(40)
    return OrderLine(
        _date=day,
        _line=number,
        order_id=rng.choice(["{}", " {}", "{} \r\n"]).format(order),
        stock_code=f"{rng.randrange(10000)}",
        description=rng.choice([None, "", " A thing "]),
        quantity=-quantity if order.startswith("C") else quantity,
        ordered_at=_midnight(day) + timedelta(minutes=rng.randrange(1440)),
        unit_price=Decimal(rng.randrange(-50, 200_000)) / 10_000,
        customer_id=rng.choice([None, "", "  ", "007", " 007 ", "8", "9\t"]),
        country=rng.choice([None, "", "France", " France", "Spain", "Unspecified"]),
    )


def _customer(rng: random.Random, day: date, customer: str) -> Customer:
    return Customer(
        _date=day,
        _line=0,
        customer_id=rng.choice(["{}", " {}", "{}\t"]).format(customer),
        name=rng.choice([None, "", "Ada", "  Ada  Lovelace ", "NULL"]),
        email=rng.choice([None, " ", "ada@example.com "]),
        country=rng.choice([None, "France", " Spain"]),
        updated_at=_midnight(day) + timedelta(hours=rng.randrange(3)),
    )


def _midnight(day: date) -> datetime:
    return datetime.combine(day, time(), tzinfo=UTC)


def clean(text: str | None) -> str | None:
    return (text or "").strip(" \t\r\n") or None


def expected_marts(
    customers: Iterable[Customer], orders: Iterable[OrderLine]
) -> dict[str, list[tuple]]:
    """All rows of all marts, sorted, for rows in which no required value is missing."""
    lines = sorted(orders, key=lambda line: line._line)
    of_orders = _fct_orders(lines)
    marts = {
        "dim_customers": _dim_customers(customers),
        "fct_orders": of_orders,
        "daily_summary": _daily_summary(lines),
        "sales_summary": _sales_summary(of_orders),
    }
    return {name: sorted(rows, key=repr) for name, rows in marts.items()}


def _dim_customers(customers: Iterable[Customer]) -> list[tuple]:
    newest: dict[tuple, Customer] = {}
    for row in sorted(customers, key=lambda row: (row.updated_at, row._line)):
        newest[row._date, clean(row.customer_id)] = row
    return [
        (day, customer, clean(row.name), clean(row.email), clean(row.country), row.updated_at)
        for (day, customer), row in newest.items()
    ]


def _fct_orders(lines: Iterable[OrderLine]) -> list[tuple]:
    by_order: dict[tuple, list[OrderLine]] = defaultdict(list)
    for line in lines:
        by_order[line._date, clean(line.order_id)].append(line)
    return [
        (
            day,
            order,
            next((clean(line.customer_id) for line in some if clean(line.customer_id)), None),
            next((clean(line.country) for line in some if clean(line.country)), None),
            min(line.ordered_at for line in some),
            order.startswith("C"),
            len(some),
            sum(line.quantity or 0 for line in some),
            sum(clean(line.customer_id) is None for line in some),
            _sales(some),
        )
        for (day, order), some in by_order.items()
    ]


def _daily_summary(lines: Iterable[OrderLine]) -> list[tuple]:
    by_day: dict[date, list[OrderLine]] = defaultdict(list)
    for line in lines:
        by_day[line._date].append(line)
    rows = []
    for day, some in by_day.items():
        orders = {clean(line.order_id) or "" for line in some}
        cancelled = [line for line in some if (clean(line.order_id) or "").startswith("C")]
        without_customer = sum(clean(line.customer_id) is None for line in some)
        rows.append(
            (
                day,
                len(some),
                len(orders),
                sum(order.startswith("C") for order in orders),
                len({clean(line.customer_id) for line in some} - {None}),
                without_customer,
                _sales(some) - _sales(cancelled),
                _sales(cancelled),
                _sales(some),
            )
        )
    return rows


def _sales_summary(orders: Iterable[tuple]) -> list[tuple]:
    by_country: dict[tuple, list[tuple]] = defaultdict(list)
    for order in orders:
        day, _, _, country, *_ = order
        by_country[day, country or "Unspecified"].append(order)
    return [
        (day, country, len(some), sum(row[7] for row in some), sum(row[9] for row in some))
        for (day, country), some in by_country.items()
    ]


def _sales(lines: Iterable[OrderLine]) -> Decimal:
    return sum(((line.quantity or 0) * line.unit_price for line in lines), Decimal("0.0000"))
