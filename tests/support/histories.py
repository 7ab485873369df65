"""A shop to which anything may happen: deliveries come, are corrected, withdrawn and spoiled, and
days are run in any order.

What belongs here: the state machine (in hypothesis' words) that every kind of run shares, and what
must hold after each run. What does not: how days are run (the tests that inherit from it), and what
is expected (`expected.py`).
"""

from __future__ import annotations

import shutil
from collections.abc import Mapping, Sequence

from hypothesis import strategies as st
from hypothesis.stateful import RuleBasedStateMachine, initialize, rule

from tests.support import reference_marts
from tests.support.delivered_rows import (
    DAYS,
    customers,
    days,
    events,
    feeds,
    first_events,
    orders,
)
from tests.support.expected import COLUMNS, REPORTING, Counted, Expected, assert_same
from tests.support.lake import lake_rows_of
from tests.support.reference import Day, day_of
from tests.support.shop import Shop, customer, event, line
from tests.support.warehouse import rows_of

# By day, rows of a feed as they are delivered.
Rows = Mapping[str, list[dict[str, object]]]


class Histories(RuleBasedStateMachine):
    """A shop whose deliveries change between runs, beside what must be published by now.

    `hashes` are shared by all histories of a test: the content hash by content.
    """

    def __init__(self, shop: Shop, hashes: dict[str, str]) -> None:
        super().__init__()
        self.shop = shop
        self.warehouse = shop.settings.warehouse_path
        self.expected = Expected()
        # What each table of the lake may hold: one thing, unless a run was cut short.
        self.in_lake = [Expected()]
        # What was published when the reporting tables were refreshed last.
        self.reported: Expected | None = None
        self.hashes = hashes

    def run_pipeline(self, keys: Sequence[str]) -> bool:
        """Run these days, however it is done; returns whether the lake followed."""
        raise NotImplementedError

    def teardown(self) -> None:
        shutil.rmtree(self.shop.root)

    @initialize(run=st.sampled_from([True, True, False]), first=first_events)
    def begin(self, run: bool, first: Rows) -> None:
        for n, day in enumerate(DAYS[:-2]):
            self.shop.deliver_day(day, orders=n + 1)
        self.deliver({}, {}, first)
        if run:
            self.run(DAYS)

    @rule(orders=orders, customers=customers, events=events)
    def deliver(self, orders: Rows, customers: Rows, events: Rows) -> None:
        for feed, make, delivered in (
            ("orders", line, orders),
            ("customers", customer, customers),
            ("events", event, events),
        ):
            for day, rows in delivered.items():
                self.shop.deliver(feed, day, [make(day, 0) | row for row in rows])

    @rule(orders=orders, customers=customers, events=events)
    def deliver_and_run(self, orders: Rows, customers: Rows, events: Rows) -> None:
        self.deliver(orders, customers, events)
        if delivered := sorted({*orders, *customers, *events}):
            self.run(delivered)

    @rule(day=days, feed=feeds, share=st.floats(0, 0.99))
    def cut(self, day: str, feed: str, share: float) -> None:
        path = self.shop.path(feed, day)
        if path.exists():
            content = path.read_bytes()
            path.write_bytes(content[: int(len(content) * share)])

    @rule(day=days, feed=feeds, spoiled=st.integers(0, 2))
    def withdraw_or_spoil(self, day: str, feed: str, spoiled: int) -> None:
        self.shop.withdraw(feed, day)
        if spoiled:
            make, bad = {
                "customers": (customer, {"updated_at": "yesterday"}),
                "events": (event, {"occurred_at": ""}),
                "orders": (line, {"quantity": "n/a"}),
            }[feed]
            rows = [make(day, n) for n in range(21 - spoiled)]
            rows[7:7] = [make(day, n, **bad) for n in range(spoiled)]
            self.shop.deliver(feed, day, rows)

    @rule(first=days, last=days)
    def run_range(self, first: str, last: str) -> None:
        first, last = sorted((first, last))
        self.run([day for day in DAYS if first <= day <= last])

    def run(self, keys: Sequence[str]) -> None:
        """Run these days to the end; all must be as expected."""
        delivered = self.delivered(keys)
        followed = self.run_pipeline(keys)
        *_, self.expected = self.expected.after_each_transaction(delivered)
        if followed:
            self.in_lake = [self.expected]
        found = self.look()
        self.check(found)
        newest = newest_attempts(found["ops.attempts"])
        for day in delivered:
            outcome, reason = newest[day.key]
            assert outcome == day.status, (day.key, outcome, reason, day.status)
            assert (day.problem or "") in reason, (day.key, reason, day.problem)

    def delivered(self, keys: Sequence[str]) -> list[Day]:
        return [day_of(self.shop, key) for key in keys]

    def look(self) -> dict[str, Counted]:
        """All that is looked at of the warehouse, in one look."""
        ledger = {
            "ops.attempts": ("partition_key", "outcome", "reason", "finished_at"),
            "ops.publications": ("publication", "partition_key", "content_hash"),
            "ops.partitions as hashed": ("partition_key", "content_hash"),
        }
        return rows_of(self.warehouse, COLUMNS | REPORTING | ledger)

    def check(self, found: Mapping[str, Counted]) -> None:
        """Everything that the warehouse and the lake hold is what they must hold."""
        assert_same(found, self.expected.tables)
        if self.reported:
            assert_same(found, self.reported.reporting)
        self._check_hashes(found)
        self._check_lake()

    def _check_hashes(self, found: Mapping[str, Counted]) -> None:
        """One hash for one content, in all histories that were tried so far, and in the ledger of
        publications the same as in that of partitions."""
        hashes = dict(found["ops.partitions as hashed"].elements())
        for key, content_hash in hashes.items():
            content = repr(self.expected.marts_of(key))
            assert self.hashes.setdefault(content, content_hash) == content_hash, content
        assert len(set(self.hashes.values())) == len(self.hashes), "two contents have one hash"
        publications = sorted(found["ops.publications"])
        assert hashes == {key: content_hash for _, key, content_hash in publications}, publications

    def _check_lake(self) -> None:
        lake = lake_rows_of(self.shop.settings.lake_path, reference_marts.COLUMNS)
        for mart, rows in lake.items():
            assert rows in [state.tables[f"marts.{mart}"] for state in self.in_lake], (mart, rows)


def newest_attempts(attempts: Counted) -> dict[str, tuple[str, str]]:
    """Outcome and reason of each day's newest attempt."""
    in_order = sorted(attempts, key=lambda row: row[-1])
    return {key: (outcome, reason or "") for key, outcome, reason, _ in in_order}
