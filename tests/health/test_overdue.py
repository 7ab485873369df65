"""Whether the newest partition that is due is in order, by the ledger."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from datetime import UTC, date, datetime, timedelta
from pathlib import Path
from typing import Literal
from zoneinfo import ZoneInfo

import pytest

from customer_pipeline.health.finding import Finding
from customer_pipeline.health.overdue import look_for_overdue
from customer_pipeline.outcomes import Casualty
from customer_pipeline.source.calendars import DailyPartitions
from customer_pipeline.source.partitions import Window
from customer_pipeline.warehouse.connection import Warehouse
from customer_pipeline.warehouse.ledger import Published, Run, record_failures, record_published
from customer_pipeline.warehouse.publications import record_publication
from customer_pipeline.warehouse.schema import ensure_ledger
from customer_pipeline.warehouse.waivers import Waiver, grant_waivers

BEGUN = datetime(2026, 3, 9, tzinfo=UTC)
RUN = Run("run", "daily", BEGUN, "v1")
SIX_HOURS = timedelta(hours=6)
NEW_YORK, LONDON = ZoneInfo("America/New_York"), ZoneInfo("Europe/London")


@dataclass
class Ledger:
    """A warehouse, and what a look at it says at some moment."""

    warehouse: Warehouse

    def publish(
        self, keys: Sequence[str], status: Literal["published", "empty"] = "published"
    ) -> None:
        rows = [
            Published("daily", key, status, 1, 0, 1, 1, "f", "h", "v1", "run", BEGUN)
            for key in keys
        ]
        with self.warehouse.write() as connection:
            ensure_ledger(connection)
            record_published(connection, RUN, rows)

    def look(self, moment: str, zone: ZoneInfo = LONDON, last: date | None = None) -> Finding:
        partitions = DailyPartitions(date(2026, 1, 1), last, zone)
        now = datetime.fromisoformat(moment).replace(tzinfo=UTC)
        (found,) = look_for_overdue(
            self.warehouse, "daily", partitions, now, _six_hours_after, option=" --pipeline daily"
        )
        return found


def _six_hours_after(window: Window) -> datetime:
    return (window.end.astimezone(UTC) + SIX_HOURS).astimezone(window.end.tzinfo)


@pytest.fixture
def ledger(tmp_path: Path) -> Ledger:
    return Ledger(Warehouse(tmp_path / "warehouse.duckdb", lock_timeout=1))


@pytest.mark.parametrize(
    ("moment", "zone", "level"),
    [
        ("2026-03-10T05:59", LONDON, "ok"),
        ("2026-03-10T06:00", LONDON, "problem"),
        ("2026-03-10T09:59", NEW_YORK, "ok"),
        ("2026-03-10T10:00", NEW_YORK, "problem"),
    ],
)
def test_a_day_is_due_at_an_hour_of_its_own_zone(
    ledger: Ledger, moment: str, zone: ZoneInfo, level: str
) -> None:
    ledger.publish(["2026-03-08"])
    assert ledger.look(moment, zone).level == level


def test_an_overdue_day_is_named_with_when_it_was_due_and_what_to_run(ledger: Ledger) -> None:
    ledger.publish(["2026-03-06"])
    found = ledger.look("2026-03-10T12:00")
    assert "2026-03-09 is not published, and was due by 2026-03-10 06:00 GMT" in found.words
    assert "nor are 2 before it" in found.words
    assert (
        found.todo == "`customer-pipeline run --pipeline daily --from 2026-03-07 --to 2026-03-09`"
    )


def test_six_hours_are_six_hours_also_when_the_clocks_change(ledger: Ledger) -> None:
    # The night before the 29th of March London loses an hour.
    ledger.publish(["2026-03-27"])
    assert ledger.look("2026-03-29T05:59").level == "ok"
    assert "due by 2026-03-29 07:00 BST" in ledger.look("2026-03-29T06:00").words


def test_what_is_empty_or_waived_is_in_order(ledger: Ledger) -> None:
    ledger.publish(["2026-03-08"], "empty")
    assert ledger.look("2026-03-09T12:00").level == "ok"
    with ledger.warehouse.write() as connection:
        grant_waivers(connection, "daily", [Waiver("2026-03-09", "none came", "me", BEGUN)])
    assert ledger.look("2026-03-10T12:00").level == "ok"


def test_a_day_that_failed_says_of_what(ledger: Ledger) -> None:
    ledger.publish(["2026-03-08"])
    with ledger.warehouse.write() as connection:
        record_failures(connection, RUN, [Casualty("2026-03-09", "extract", "orders: cut off")])
    assert ledger.look("2026-03-10T12:00").words.endswith("; failed in extract: orders: cut off")


def test_nothing_published_at_all_is_a_problem(ledger: Ledger) -> None:
    found = ledger.look("2026-03-10T12:00")
    assert found.level == "problem"
    assert found.words.startswith("nothing is published; 2026-03-09 was due")
    assert not ledger.warehouse.exists


def test_a_pipeline_that_nobody_uses_beside_another_is_no_problem(ledger: Ledger) -> None:
    other = replace(RUN, pipeline="monthly")
    with ledger.warehouse.write() as connection:
        ensure_ledger(connection)
        record_publication(connection, other, {"2026-02-01": "a hash"})
    found = ledger.look("2026-03-10T12:00")
    assert found.level == "warning"
    assert found.words == "it has never run; 2026-03-09 is the newest day that is due"
    with ledger.warehouse.write() as connection:
        record_failures(connection, RUN, [Casualty("2026-03-09", "extract", "orders: cut off")])
    assert ledger.look("2026-03-10T12:00").level == "problem"


def test_of_a_source_that_ended_long_ago_nothing_is_due(ledger: Ledger) -> None:
    ended = date(2026, 3, 9)
    assert ledger.look("2026-03-12T12:00", last=ended).level == "problem"
    assert ledger.look("2026-05-12T12:00", last=ended).level == "ok"
