"""What a shop's files must lead to, read off them a row at a time with csv, Decimal and datetime.

Slow and obvious on purpose, and free of DuckDB, Arrow and the pipeline's own code: what the
pipeline publishes is compared with this. It knows the feeds of `shop.SOURCE` and the shop's models,
for times with an offset.

What belongs here: what one day's deliveries hold, and whether the day can be published. What does
not: the tables that are made of it (`reference_marts.py`, `reference_reporting.py`), and what a
warehouse holds after several runs (`expected.py`).
"""

from __future__ import annotations

import csv
import io
import re
from collections.abc import Iterable
from dataclasses import dataclass
from datetime import UTC, date, datetime
from decimal import Decimal
from hashlib import sha256
from typing import Any, Literal

from tests.support.reference_marts import Line, Table, clean, marts_of
from tests.support.shop import HEADERS, Shop

# In the order of the source, since the first thing that is wrong is the reason given.
FEEDS = ("customers", "orders", "events")
# The marts in which a day depends on that day's deliveries alone.
MARTS = ("daily_summary", "dim_customers", "fct_orders", "sales_summary")
EMPTY_BY_RULE = ("2026-03-07", "2026-03-08")
THRESHOLD = Decimal("0.05")
REQUIRED = {
    "customers": ("customer_id", "updated_at"),
    "orders": ("order_id", "quantity", "ordered_at", "unit_price"),
    "events": ("event_id", "entity_id", "operation", "occurred_at"),
}
OPERATIONS = ("created", "changed", "deleted")
# Texts that the models demand. A delivered one may be white space, which they take for nothing.
_DEMANDED = (
    ("orders", "order_id"),
    ("customers", "customer_id"),
    ("events", "event_id"),
    ("events", "entity_id"),
    ("events", "operation"),
)

_WRONG: Any = object()


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
    """A whole day: the deliveries of all feeds, and the word that says why they are not published.

    `problem` is None when they are.
    """

    key: str
    feeds: dict[str, FeedDay]
    problem: str | None = None

    @property
    def status(self) -> Literal["published", "empty", "failed"]:
        if self.problem:
            return "failed"
        return "published" if any(feed.rows for feed in self.feeds.values()) else "empty"

    @property
    def marts(self) -> dict[str, Table]:
        """All rows of the day in each of `MARTS`; no rows when it cannot be published."""
        rows = {name: () if self.problem else feed.rows for name, feed in self.feeds.items()}
        return marts_of(self.key, rows["customers"], rows["orders"])


def day_of(shop: Shop, key: str) -> Day:
    """What the shop's files hold for a day now."""
    feeds = {feed: feed_of(shop, feed, key) for feed in FEEDS}
    problems = [found.problem for found in feeds.values() if found.problem]
    problems += [] if problems else _problems_of_models(feeds, key)
    return Day(key, feeds, problems[0] if problems else None)


def feed_of(shop: Shop, feed: str, key: str) -> FeedDay:
    """What the delivery of a feed for a day holds."""
    path = shop.path(feed, key)
    if not path.exists():
        if _may_be_empty(feed, key):
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


def _may_be_empty(feed: str, key: str) -> bool:
    return feed == "events" or key in EMPTY_BY_RULE


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
        elif name in ("ordered_at", "updated_at", "occurred_at"):
            row[name] = _instant(text)
        else:
            row[name] = text
    wrong = _WRONG in row.values() or any(row[name] is None for name in REQUIRED[feed])
    return None if wrong else row


def _instant(text: str) -> datetime:
    try:
        return datetime.fromisoformat(text).astimezone(UTC)
    except ValueError:
        return _WRONG


def _problems_of_models(feeds: dict[str, FeedDay], key: str) -> list[str]:
    found = []
    for feed, delivered in feeds.items():
        if not delivered.rows and not _may_be_empty(feed, key):
            found.append(f"{feed}_has_rows")
    for feed, name in _DEMANDED:
        if any(clean(row[name]) is None for row in feeds[feed].rows):
            found.append("failing row")
    operations = {clean(row["operation"]) for row in feeds["events"].rows}
    if operations - {*OPERATIONS, None}:
        found.append("failing row")
    return found
