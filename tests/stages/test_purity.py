"""What is published is a function of what the sources hold: whatever was run before, however often,
and in whichever order (contract 1, 3, 4 and 8; case W9).
"""

from __future__ import annotations

import os
import shutil
import subprocess
import sys
from collections import Counter
from collections.abc import Sequence
from itertools import count
from pathlib import Path

import pytest
from hypothesis import HealthCheck, Phase, settings
from hypothesis import strategies as st
from hypothesis.stateful import (
    RuleBasedStateMachine,
    initialize,
    rule,
    run_state_machine_as_test,
)

from tests.conftest import PROJECT
from tests.support.compiled_models import CompiledModels
from tests.support.reference import MARTS, Day, FeedDay, day_of, raw_table
from tests.support.shop import HEADERS, SOURCE, Shop, customer, line
from tests.support.stages import run_stages
from tests.support.warehouse import content_hashes, contents, query

# The last two are empty by rule.
DAYS = [f"2026-03-{day:02}" for day in range(3, 9)]

days = st.sampled_from(DAYS)
feeds = st.sampled_from(sorted(HEADERS))
# Lines of an order may disagree, and texts may be white space or look like nothing.
customer_ids = st.sampled_from(["1", "007", " 007 ", "", "  "])
countries = st.sampled_from(["France", " France", "NA", "", "Unspecified"])
order_lines = st.fixed_dictionaries(
    {
        "order_id": st.sampled_from(["100", " 100", "101", "C102", "C103"]),
        "quantity": st.sampled_from([1, 2, -3, 0, 1_000_000]),
        "unit_price": st.sampled_from(["2.5", "0.0001", "-1", "99999999999999.9999"]),
        "customer_id": customer_ids,
        "country": countries,
        "description": st.sampled_from(["A thing", 'a "thing", broken\nin two', ""]),
    }
)
customer_states = st.fixed_dictionaries(
    {
        "customer_id": st.sampled_from(["1", "007", " 007", "8"]),
        "name": st.sampled_from(["Ada", " Ada", "NULL", ""]),
        "country": countries,
        "updated_at": st.sampled_from(["{}T09:00:00Z", "{}T09:00:00.5Z", "{}T23:59:59+01:00"]),
    }
)


class Deliveries(RuleBasedStateMachine):
    """A shop whose deliveries change between runs, beside what must be published by now."""

    def __init__(self, shop: Shop, hashes: dict[str, str]) -> None:
        super().__init__()
        self.shop = shop
        self.pipeline = shop.pipeline
        self.warehouse = self.pipeline.warehouse.path
        self.published: dict[str, Day] = {}
        self.loaded: dict[tuple[str, str], FeedDay] = {}
        self.quarantined: dict[tuple[str, str], tuple[int, ...]] = {}
        self.hashes = hashes

    def teardown(self) -> None:
        shutil.rmtree(self.shop.root)

    @initialize(run=st.booleans())
    def begin(self, run: bool) -> None:
        for n, day in enumerate(DAYS[:-2]):
            self.shop.deliver_day(day, orders=n + 1)
        if run:
            self.run(DAYS)

    @rule(day=days, rows=st.lists(order_lines, max_size=5))
    def deliver_orders(self, day: str, rows: list[dict]) -> None:
        self.shop.deliver("orders", day, [line(day, 0) | row for row in rows])

    @rule(day=days, rows=st.lists(customer_states, max_size=4))
    def deliver_customers(self, day: str, rows: list[dict]) -> None:
        stamped = [row | {"updated_at": row["updated_at"].format(day)} for row in rows]
        self.shop.deliver("customers", day, [customer(day, 0) | row for row in stamped])

    @rule(day=days, orders=st.integers(1, 3))
    def deliver_again(self, day: str, orders: int) -> None:
        self.shop.deliver_day(day, orders=orders, price="3.10")

    @rule(day=days, spoiled=st.integers(1, 2))
    def deliver_with_bad_lines(self, day: str, spoiled: int) -> None:
        good = [line(day, n) for n in range(21 - spoiled)]
        bad = [line(day, n, quantity="n/a") for n in range(spoiled)]
        self.shop.deliver("orders", day, [*good[:7], *bad, *good[7:]])

    @rule(day=days, feed=feeds, share=st.floats(0, 0.99))
    def cut(self, day: str, feed: str, share: float) -> None:
        path = self.shop.path(feed, day)
        if path.exists():
            content = path.read_bytes()
            path.write_bytes(content[: int(len(content) * share)])

    @rule(day=days, feed=feeds)
    def withdraw(self, day: str, feed: str) -> None:
        self.shop.withdraw(feed, day)

    @rule(day=days)
    def run_one(self, day: str) -> None:
        self.run([day])

    @rule(first=days, last=days)
    def run_range(self, first: str, last: str) -> None:
        first, last = sorted((first, last))
        self.run([day for day in DAYS if first <= day <= last])

    @rule(some=st.lists(days, unique=True, min_size=1))
    def run_some_twice(self, some: list[str]) -> None:
        self.run(some)
        before = contents(self.warehouse)
        run_stages(self.pipeline, some)
        assert contents(self.warehouse) == before

    def run(self, keys: Sequence[str]) -> None:
        run_stages(self.pipeline, keys)
        for key in keys:
            day = day_of(self.shop, key)
            for feed, delivered in day.feeds.items():
                self.quarantined[feed, key] = delivered.quarantined
                if delivered.state != "rejected":
                    self.loaded[feed, key] = delivered
            if day.status != "failed":
                self.published[key] = day
            outcome, reason = self._newest_attempt(key)
            assert outcome == day.status
            assert (day.problem or "") in reason
        self.check()

    def check(self) -> None:
        """Everything that the warehouse holds is what it must hold."""
        found = contents(self.warehouse)
        for feed in HEADERS:
            rows = [delivered.rows for (name, _), delivered in self.loaded.items() if name == feed]
            assert found.get(f"raw.{feed}", []) == in_order(raw_table(sum(rows, ())))
        for mart in MARTS:
            rows = [row for day in self.published.values() for row in day.marts[mart]]
            assert found.get(f"marts.{mart}", []) == in_order(rows)
        assert self._ledger() == {key: ledger_row(day) for key, day in self.published.items()}
        self._check_hashes()
        assert self._deliveries() == {
            place: (one.source_rows, len(one.quarantined), len(one.rows), one.fingerprint)
            for place, one in self.loaded.items()
        }
        assert self._quarantine() == Counter(
            (*place, number) for place, numbers in self.quarantined.items() for number in numbers
        )

    def _check_hashes(self) -> None:
        """One hash for one content, in all histories that were tried so far."""
        for key, found in content_hashes(self.warehouse).items():
            rows = {mart: in_order(rows) for mart, rows in self.published[key].marts.items()}
            assert self.hashes.setdefault(repr(rows), found) == found
        assert len(set(self.hashes.values())) == len(self.hashes)

    def _ledger(self) -> dict[str, tuple]:
        rows = query(
            self.warehouse,
            "select partition_key, status, source_rows, quarantined_rows, raw_rows, mart_rows"
            " from ops.partitions",
        )
        return {key: tuple(row) for key, *row in rows}

    def _deliveries(self) -> dict[tuple[str, str], tuple]:
        rows = query(
            self.warehouse,
            "select feed, partition_key, source_rows, quarantined_rows, raw_rows, fingerprint"
            " from ops.deliveries",
        )
        return {(feed, key): tuple(row) for feed, key, *row in rows}

    def _quarantine(self) -> Counter:
        rows = query(self.warehouse, "select feed, partition_key, line from ops.quarantine")
        return Counter(rows)

    def _newest_attempt(self, key: str) -> tuple[str, str]:
        ((outcome, reason),) = query(
            self.warehouse,
            "select outcome, coalesce(reason, '') from ops.attempts where partition_key = ?"
            " order by finished_at desc limit 1",
            [key],
        )
        return outcome, reason


def ledger_row(day: Day) -> tuple:
    delivered = day.feeds.values()
    return (
        day.status,
        sum(one.source_rows for one in delivered),
        sum(len(one.quarantined) for one in delivered),
        sum(len(one.rows) for one in delivered),
        sum(len(rows) for rows in day.marts.values()),
    )


def in_order(rows: Sequence[tuple]) -> list[tuple]:
    return sorted(rows, key=repr)


def try_histories(tmp_path: Path, dbt_cache: Path, *, examples: int, steps: int) -> None:
    hashes: dict[str, str] = {}
    numbers = count()

    class InAFolderOfItsOwn(Deliveries):
        def __init__(self) -> None:
            super().__init__(Shop(tmp_path / f"{next(numbers)}", dbt_cache=dbt_cache), hashes)

    run_state_machine_as_test(
        InAFolderOfItsOwn,
        settings=settings(
            max_examples=examples,
            stateful_step_count=steps,
            deadline=None,
            # Shrinking a failure takes minutes, and a history of a few steps can be read as it is.
            phases=[Phase.reuse, Phase.generate],
            suppress_health_check=[HealthCheck.too_slow, HealthCheck.data_too_large],
        ),
    )


def test_after_any_history_all_is_what_the_newest_good_deliveries_hold(
    tmp_path: Path, dbt_cache: Path
) -> None:
    try_histories(tmp_path, dbt_cache, examples=15, steps=8)


@pytest.mark.slow
@pytest.mark.timeout(900)
def test_after_any_long_history_all_is_what_the_newest_good_deliveries_hold(
    tmp_path: Path, dbt_cache: Path
) -> None:
    try_histories(tmp_path, dbt_cache, examples=30, steps=12)


SENSITIVE_SOURCE = SOURCE.replace(
    "updated_at: {type: timestamp,", "updated_at: {type: timestamp, expression: value::timestamptz,"
)


def test_the_hosts_time_zone_language_and_folders_make_no_difference(
    tmp_path: Path, dbt_cache: Path, models: CompiledModels
) -> None:
    """Not even for times without an offset, or where an expression leaves the zone to DuckDB."""
    models.write(tmp_path / "models.json")
    found = []
    for zone, language in (("Asia/Tokyo", "C"), ("America/New_York", "de_DE.UTF-8")):
        shop = Shop(tmp_path / zone, source=SENSITIVE_SOURCE, dbt_cache=dbt_cache)
        for day in DAYS[:-2]:
            shop.deliver(
                "orders", day, [line(day, n, ordered_at=f"{day} 23:30:00") for n in (1, 2)]
            )
            shop.deliver(
                "customers", day, [customer(day, n, updated_at=f"{day} 00:30:00") for n in (1, 2)]
            )
        subprocess.run(
            [
                *(sys.executable, "-m", "tests.support.killed_run", shop.root),
                *(tmp_path / "models.json", "sql", "never", "0", *DAYS),
            ],
            env=os.environ | {"TZ": zone, "LC_ALL": language},
            cwd=PROJECT,
            check=True,
            timeout=120,
        )
        found.append(contents(shop.settings.warehouse_path))
    assert len(found[0]["ops.partitions"]) == len(DAYS)
    # Which rules a delivery was landed under includes where it lay.
    declared = [found[n].pop("ops.deliveries") for n in (0, 1)]
    assert [row[:-1] for row in declared[0]] == [row[:-1] for row in declared[1]]
    assert found[0] == found[1]


@pytest.mark.parametrize(
    "runs",
    [
        pytest.param([[day] for day in DAYS], id="one by one"),
        pytest.param([[day] for day in reversed(DAYS)], id="backwards"),
        pytest.param([DAYS[2:5], DAYS[:3], DAYS[4:]], id="overlapping ranges"),
        pytest.param([DAYS[::2], DAYS[::-2], DAYS], id="days with gaps, and all again"),
    ],
)
def test_however_the_days_are_run_rows_and_hashes_are_the_same(
    shop: Shop, runs: list[list[str]]
) -> None:
    for n, day in enumerate(DAYS[:-2]):
        shop.deliver_day(day, orders=n + 2)
    found = []
    for groups in ([DAYS], runs):
        pipeline = shop.pipeline
        for keys in groups:
            run_stages(pipeline, keys)
        found.append(contents(pipeline.warehouse.path))
        shutil.move(pipeline.settings.landing_path, shop.root / "landing before")
        pipeline.warehouse.path.unlink()
    assert found[0] == found[1]
    assert len(found[0]["ops.partitions"]) == len(DAYS)
