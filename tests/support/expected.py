"""What a warehouse must hold, and what each transaction of a run makes of it, by the reference.

What belongs here: which deliveries are loaded, refused and published, and the tables that follow
from that. What does not: computing rows (`reference*.py`), and looking into a real warehouse
(`warehouse.py`).
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from datetime import date
from functools import cached_property
from typing import Any

from tests.support import reference_marts, reference_reporting
from tests.support.reference import FEEDS, MARTS, Day, FeedDay, raw_table
from tests.support.reference_marts import Message, Table, fct_events, messages_of
from tests.support.reference_reporting import reporting_of
from tests.support.shop import HEADERS

# The columns of each table of the warehouse of which the reference speaks, in the order of its rows.
COLUMNS = {
    **{f"raw.{feed}": ("_date", "_line", *HEADERS[feed]) for feed in FEEDS},
    **{f"marts.{mart}": columns for mart, columns in reference_marts.COLUMNS.items()},
    "ops.deliveries": (
        *("feed", "partition_key", "state", "source_rows", "quarantined_rows", "raw_rows"),
        "fingerprint",
    ),
    "ops.quarantine": ("feed", "partition_key", "kind", "_date", "line"),
    "ops.processed_events": ("event_id", "partition_key", "line", "copies", "conflicts"),
    "ops.partitions": (
        *("partition_key", "status", "source_rows", "quarantined_rows", "raw_rows", "mart_rows"),
    ),
}
REPORTING = {
    f"reporting.{table}": columns for table, columns in reference_reporting.COLUMNS.items()
}

Counted = Counter[tuple[Any, ...]]


@dataclass(frozen=True)
class Expected:
    """A warehouse: by feed and day what is loaded and what was refused after it, and by day what is
    published."""

    loaded: Mapping[tuple[str, str], FeedDay] = field(default_factory=dict)
    refused: Mapping[tuple[str, str], FeedDay] = field(default_factory=dict)
    published: Mapping[str, Day] = field(default_factory=dict)

    def after_each_transaction(self, days: Sequence[Day]) -> Iterator[Expected]:
        """The warehouse after each transaction of a run of `days`, in order."""
        after = self
        for feed in FEEDS:
            after = after._after_load(feed, days)
            yield after
        published = {day.key: day for day in days if day.status != "failed"}
        yield replace(after, published={**after.published, **published})

    def _after_load(self, feed: str, days: Sequence[Day]) -> Expected:
        loaded, refused = dict(self.loaded), dict(self.refused)
        for day in days:
            place, delivered = (feed, day.key), day.feeds[feed]
            if delivered.state == "rejected":
                refused[place] = delivered
            else:
                loaded[place] = delivered
                refused.pop(place, None)
        return replace(self, loaded=loaded, refused=refused)

    @cached_property
    def tables(self) -> dict[str, Counted]:
        """All rows of each table in `COLUMNS`."""
        raw = {
            f"raw.{feed}": raw_table(
                row for (name, _), one in self.loaded.items() if name == feed for row in one.rows
            )
            for feed in FEEDS
        }
        marts = {f"marts.{mart}": table for mart, table in self.marts.items()}
        ops = {
            "ops.deliveries": self._deliveries(),
            "ops.quarantine": self._quarantine(),
            "ops.processed_events": self._processed_events(),
            "ops.partitions": self._partitions(),
        }
        return {name: Counter(rows) for name, rows in (raw | marts | ops).items()}

    @cached_property
    def reporting(self) -> dict[str, Counted]:
        """All rows of each table in `REPORTING`, when they are made of what is published now."""
        last_day = date.fromisoformat(max(self.published)) if self.published else None
        tables = reporting_of(self.marts, last_day)
        return {f"reporting.{name}": Counter(rows) for name, rows in tables.items()}

    @cached_property
    def marts(self) -> dict[str, Table]:
        """All rows of each mart."""
        days = [day.marts for day in self.published.values()]
        of_days = {mart: [row for marts in days for row in marts[mart]] for mart in MARTS}
        return of_days | {"fct_events": fct_events(self._messages)}

    def marts_of(self, key: str) -> dict[str, Table]:
        """The rows of a published day in each mart, sorted."""
        day = date.fromisoformat(key)
        return {
            mart: sorted((row for row in rows if row[0] == day), key=repr)
            for mart, rows in self.marts.items()
        }

    @cached_property
    def _messages(self) -> list[Message]:
        return messages_of(
            row for day in self.published.values() for row in day.feeds["events"].rows
        )

    def _processed_events(self) -> Table:
        return [
            (
                one.owner["event_id"],
                one.owner["_date"].isoformat(),
                one.owner["_line"],
                len(one.copies),
                len(one.conflicts),
            )
            for one in self._messages
        ]

    def _deliveries(self) -> Table:
        return [
            (
                *(*place, one.state, one.source_rows, len(one.quarantined), len(one.rows)),
                one.fingerprint,
            )
            for place, one in self.loaded.items()
        ]

    def _quarantine(self) -> Table:
        unread = [
            (feed, key, kind, date.fromisoformat(key), line)
            for kind, deliveries in (("unreadable", self.loaded), ("refused", self.refused))
            for (feed, key), one in deliveries.items()
            for line in one.quarantined
        ]
        conflicts = [
            ("events", row["_date"].isoformat(), "conflict", row["_date"], row["_line"])
            for one in self._messages
            for row in one.conflicts
        ]
        return unread + conflicts

    def _partitions(self) -> Table:
        rows = Counter(row[0].isoformat() for table in self.marts.values() for row in table)
        return [
            (
                key,
                day.status,
                sum(one.source_rows for one in day.feeds.values()),
                sum(len(one.quarantined) for one in day.feeds.values()),
                sum(len(one.rows) for one in day.feeds.values()),
                rows[key],
            )
            for key, day in self.published.items()
        ]


def assert_same(found: Mapping[str, Counted], expected: Mapping[str, Counted]) -> None:
    """Each expected table is found with exactly its rows."""
    for table, rows in expected.items():
        missing, surplus = rows - found[table], found[table] - rows
        assert not missing and not surplus, f"{table} lacks {missing} and has {surplus}"
