"""What a shop's files must lead to, read off them a row at a time with csv, Decimal and datetime.

Slow and obvious on purpose, and free of DuckDB, Arrow and the pipeline's own code: what the
pipeline publishes is compared with this. It knows the feeds of `shop.SOURCE` and the shop's models,
for times with an offset.
"""

from __future__ import annotations

import csv
import io
import re
from collections import defaultdict
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field
from datetime import date, datetime
from decimal import Decimal
from hashlib import sha256
from typing import Any, Literal

from tests.support.shop import HEADERS, Shop

# In the order of the source, since the first thing that is wrong is the reason given.
FEEDS = ("customers", "orders")
EMPTY_BY_RULE = ("2026-03-07", "2026-03-08")
THRESHOLD = Decimal("0.05")
REQUIRED = {
    "customers": ("customer_id", "updated_at"),
    "orders": ("order_id", "quantity", "ordered_at", "unit_price"),
}
MARTS = ("daily_summary", "dim_customers", "fct_orders", "sales_summary")

_WRONG = object()

Line = dict[str, Any]
Table = list[tuple[Any, ...]]


@dataclass(frozen=True)
class FeedDay:
    """One delivery: its loaded rows, the lines that go to quarantine, or why it cannot be used.

    `problem` is None, or the word that the reason given for the day must hold.
    """

    state: Literal["landed", "absent", "rejected"]
    rows: tuple[Line, ...] = ()
    quarantined: tuple[int, ...] = ()
    fingerprint: str = ""
    problem: str | None = None

    @property
    def source_rows(self) -> int:
        return len(self.rows) + len(self.quarantined)


@dataclass(frozen=True)
class Day:
    """A whole day: what is published of it, or which word says why it is not."""

    feeds: dict[str, FeedDay]
    marts: dict[str, Table] = field(default_factory=dict)
    problem: str | None = None

    @property
    def status(self) -> Literal["published", "empty", "failed"]:
        if self.problem:
            return "failed"
        return "published" if any(feed.rows for feed in self.feeds.values()) else "empty"


def day_of(shop: Shop, key: str) -> Day:
    feeds = {feed: feed_of(shop, feed, key) for feed in FEEDS}
    problems = [found.problem for found in feeds.values() if found.problem]
    if not problems:
        problems = _problems_of_models(feeds, key)
    if problems:
        return Day(feeds, problem=problems[0])
    return Day(feeds, marts_of(key, feeds["customers"].rows, feeds["orders"].rows))


def feed_of(shop: Shop, feed: str, key: str) -> FeedDay:
    path = shop.path(feed, key)
    if not path.exists():
        if key in EMPTY_BY_RULE:
            return FeedDay("absent", fingerprint="absent")
        return FeedDay("rejected", problem="no such file")
    content = path.read_bytes()
    text = content.decode().removeprefix("\ufeff")
    header, _, data = text.partition("\n")
    if not text:
        return FeedDay("rejected", problem="empty")
    if missing := set(HEADERS[feed]) - set(header.split(",")):
        return FeedDay("rejected", problem=min(missing))
    if data and not data.endswith("\n"):
        return FeedDay("rejected", problem="cut off")
    rows: list[Line] = []
    quarantined: list[int] = []
    reader = csv.DictReader(io.StringIO(text, newline=""))
    line = 2
    for record in reader:
        loaded = _loaded(feed, record)
        if loaded is None:
            quarantined.append(line)
        else:
            rows.append({"_date": date.fromisoformat(key), "_line": line} | loaded)
        line = reader.line_num + 1
    if len(quarantined) > THRESHOLD * (len(rows) + len(quarantined)):
        return FeedDay("rejected", quarantined=tuple(quarantined), problem="cannot be loaded")
    return FeedDay("landed", tuple(rows), tuple(quarantined), sha256(content).hexdigest())


def raw_table(rows: Iterable[Line]) -> Table:
    """The rows as they lie in the raw table."""
    return [tuple(row.values()) for row in rows]


def marts_of(key: str, customers: Sequence[Line], orders: Sequence[Line]) -> dict[str, Table]:
    """All rows of the day in each mart, columns in the marts' order."""
    day = date.fromisoformat(key)
    facts = _fct_orders(day, orders)
    return {
        "daily_summary": _daily_summary(day, orders),
        "dim_customers": _dim_customers(day, customers),
        "fct_orders": facts,
        "sales_summary": _sales_summary(day, facts),
    }


def _loaded(feed: str, record: dict[str, str]) -> Line | None:
    """The typed row; None when something in it is wrong."""
    row: Line = {}
    for name in HEADERS[feed]:
        text = record[name]
        if text == "":
            row[name] = None
        elif name == "quantity":
            row[name] = int(text) if re.fullmatch("-?[0-9]+", text) else _WRONG
        elif name == "unit_price":
            fits = re.fullmatch(r"-?[0-9]{1,14}(\.[0-9]{1,4})?", text)
            row[name] = Decimal(text).quantize(Decimal("0.0001")) if fits else _WRONG
        elif name in ("ordered_at", "updated_at"):
            row[name] = datetime.fromisoformat(text)
        else:
            row[name] = text
    wrong = _WRONG in row.values() or any(row[name] is None for name in REQUIRED[feed])
    return None if wrong else row


def _problems_of_models(feeds: dict[str, FeedDay], key: str) -> list[str]:
    found = []
    for feed, delivered in feeds.items():
        if not delivered.rows and key not in EMPTY_BY_RULE:
            found.append(f"{feed}_has_rows")
    # Required texts may be white space, which the models take for nothing.
    for feed, name in (("orders", "order_id"), ("customers", "customer_id")):
        if any(_clean(row[name]) is None for row in feeds[feed].rows):
            found.append("failing row")
    return found


def _clean(text: str | None) -> str | None:
    return (text or "").strip(" \t\r\n") or None


def _dim_customers(day: date, rows: Sequence[Line]) -> Table:
    newest: dict[str | None, Line] = {}
    for row in sorted(rows, key=lambda row: (row["updated_at"], row["_line"])):
        newest[_clean(row["customer_id"])] = row
    return [
        (
            day,
            customer,
            _clean(row["name"]),
            _clean(row["email"]),
            _clean(row["country"]),
            row["updated_at"],
        )
        for customer, row in newest.items()
    ]


def _fct_orders(day: date, rows: Sequence[Line]) -> Table:
    orders: dict[str, list[Line]] = defaultdict(list)
    for row in rows:
        orders[_clean(row["order_id"]) or ""].append(row)
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
            sum(_clean(line["customer_id"]) is None for line in lines),
            _sales(lines),
        )
        for order, lines in orders.items()
    ]


def _daily_summary(day: date, rows: Sequence[Line]) -> Table:
    if not rows:
        return []
    orders = {_clean(row["order_id"]) or "" for row in rows}
    cancelled = [row for row in rows if (_clean(row["order_id"]) or "").startswith("C")]
    customers = {_clean(row["customer_id"]) for row in rows} - {None}
    return [
        (
            day,
            len(rows),
            len(orders),
            sum(order.startswith("C") for order in orders),
            len(customers),
            sum(_clean(row["customer_id"]) is None for row in rows),
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
    return next((found for line in lines if (found := _clean(line[name]))), None)


def _sales(lines: Sequence[Line]) -> Decimal:
    return sum((line["quantity"] * line["unit_price"] for line in lines), Decimal("0.0000"))
