"""Three days of a made-up shop: raw rows.

The shop has everything that makes the rules hard: order ids that come again on the next day, lines
of an order that disagree, texts with white space, several states of a customer on a day, ties,
messages that come again with the same or with other content, out of order, and a month that ends.

What does not belong here: what the tables must hold then (`expected_tables.py`).
"""

from __future__ import annotations

import random
from collections.abc import Sequence
from dataclasses import dataclass, replace
from datetime import UTC, date, datetime, time, timedelta
from decimal import Decimal

DAYS = (date(2026, 2, 28), date(2026, 3, 1), date(2026, 3, 29))
# The last day that the ledger knows. Nothing was delivered, which is as it should be.
LAST_DAY = date(2026, 3, 31)
LEDGER = dict.fromkeys(DAYS, "published") | {LAST_DAY: "empty", date(2026, 4, 2): "waived"}
WHITE_SPACE = " \t\r\n"


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


@dataclass(frozen=True)
class Event:
    """A row of raw.events."""

    _date: date
    _line: int
    event_id: str
    entity_id: str
    operation: str
    occurred_at: datetime
    payload: str | None


@dataclass(frozen=True)
class Rows:
    """Raw rows, by feed."""

    customers: Sequence[Customer] = ()
    orders: Sequence[OrderLine] = ()
    events: Sequence[Event] = ()

    def of_day(self, day: date) -> Rows:
        return Rows(
            [row for row in self.customers if row._date == day],
            [row for row in self.orders if row._date == day],
            [row for row in self.events if row._date == day],
        )

    def and_also(self, other: Rows) -> Rows:
        return Rows(
            [*self.customers, *other.customers],
            [*self.orders, *other.orders],
            [*self.events, *other.events],
        )

    def shuffled(self, seed: int) -> Rows:
        rng = random.Random(seed)
        return Rows(
            rng.sample(self.customers, len(self.customers)),
            rng.sample(self.orders, len(self.orders)),
            rng.sample(self.events, len(self.events)),
        )


def shop_days(seed: int) -> Rows:
    """The raw rows of all three days."""
    rng = random.Random(seed)
    customers: list[Customer] = []
    orders: list[OrderLine] = []
    events: list[Event] = []
    for day in DAYS:
        lines = [_order_line(rng, day, number) for number in range(2, 152)]
        orders += lines
        seen = sorted({(line.customer_id or "").strip(WHITE_SPACE) for line in lines} - {""})
        states = [
            _customer(rng, day, customer) for customer in seen for _ in range(rng.randint(1, 4))
        ]
        rng.shuffle(states)
        customers += [replace(state, _line=number) for number, state in enumerate(states, start=2)]
        events += [_event(rng, day, number) for number in range(2, 62)]
    return Rows(customers, orders, events)


def _order_line(rng: random.Random, day: date, number: int) -> OrderLine:
    order = f"{rng.choice(['C', '', '', ''])}{rng.randrange(100, 140)}"
    quantity = rng.randrange(40)
    # Some come often and some hardly ever, perhaps only to cancel.
    customer = rng.choice([None, "", "  ", "007", " 007 ", "8", "9\t", f"{rng.randrange(20, 60)}"])
    return OrderLine(
        _date=day,
        _line=number,
        order_id=rng.choice(["{}", " {}", "{} \r\n"]).format(order),
        stock_code=f"{rng.randrange(10000)}",
        description=rng.choice([None, "", " A thing "]),
        quantity=-quantity if order.startswith("C") else quantity,
        ordered_at=_midnight(day) + timedelta(minutes=rng.randrange(1440)),
        unit_price=Decimal(rng.randrange(-50, 200_000)) / 10_000,
        customer_id=customer,
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


def _event(rng: random.Random, day: date, number: int) -> Event:
    return Event(
        _date=day,
        _line=number,
        event_id=rng.choice(["{}", " {}", "{}\t"]).format(f"e{rng.randrange(120)}"),
        entity_id=rng.choice(["{}", "\n{} "]).format(rng.randrange(30)),
        operation=rng.choice(["created", "changed", " changed\r\n", "deleted"]),
        # Messages of all days are about the same few moments.
        occurred_at=_midnight(DAYS[0]) + timedelta(hours=rng.randrange(3)),
        payload=rng.choice([None, "", " ", " {} \n"]),
    )


def _midnight(day: date) -> datetime:
    return datetime.combine(day, time(), tzinfo=UTC)
