"""What the ledger remembers of attempts: failures that nothing followed, and how long runs took."""

from __future__ import annotations

from collections.abc import Iterator
from datetime import UTC, datetime, timedelta
from pathlib import Path

import duckdb
import pytest

from customer_pipeline.warehouse.attempts import (
    Failure,
    RunTime,
    attempts_at,
    failures_of,
    run_times,
)
from customer_pipeline.warehouse.connection import Warehouse
from customer_pipeline.warehouse.schema import ensure_ledger
from customer_pipeline.warehouse.sql import insert_rows

DAY, OTHER = "2026-03-01", "2026-03-02"
MIDNIGHT = datetime(2026, 3, 9, tzinfo=UTC)


def at(minute: int) -> datetime:
    return MIDNIGHT + timedelta(minutes=minute)


@pytest.fixture
def ledger(tmp_path: Path) -> Iterator[duckdb.DuckDBPyConnection]:
    with Warehouse(tmp_path / "warehouse.duckdb", lock_timeout=5).write() as connection:
        ensure_ledger(connection)
        yield connection


def tried(
    ledger: duckdb.DuckDBPyConnection, run: str, minute: int, outcomes: dict[str, str]
) -> None:
    """A run that took a minute, and how its partitions ended."""
    insert_rows(
        ledger,
        "ops.attempts",
        [
            {
                "run_id": run,
                "pipeline": "daily",
                "partition_key": key,
                "outcome": outcome,
                "stage": "load" if outcome == "failed" else "publish",
                "reason": f"{run} {key}" if outcome == "failed" else None,
                "started_at": at(minute - 1),
                "finished_at": at(minute),
            }
            for key, outcome in outcomes.items()
        ],
    )


def test_failures_in_a_row_are_one_with_its_newest_reason_and_its_first_moment(
    ledger: duckdb.DuckDBPyConnection,
) -> None:
    tried(ledger, "0", 5, {DAY: "failed"})
    tried(ledger, "1", 10, {DAY: "published", OTHER: "published"})
    for run, minute in (("2", 20), ("3", 30)):
        tried(ledger, run, minute, {DAY: "failed"})
    expected = Failure(DAY, "3", "load", f"3 {DAY}", at(30), at(20), 2)
    assert failures_of(ledger, "daily") == {DAY: expected}
    assert failures_of(ledger, "monthly") == {}


def test_a_failure_that_a_success_followed_is_none(ledger: duckdb.DuckDBPyConnection) -> None:
    tried(ledger, "1", 10, {DAY: "failed"})
    tried(ledger, "2", 20, {DAY: "empty"})
    assert failures_of(ledger, "daily") == {}


def test_every_attempt_at_a_partition_is_remembered_oldest_first(
    ledger: duckdb.DuckDBPyConnection,
) -> None:
    tried(ledger, "2", 20, {DAY: "published", OTHER: "published"})
    tried(ledger, "1", 10, {DAY: "failed"})
    found = attempts_at(ledger, "daily", DAY)
    assert [(one.run_id, one.outcome, one.reason) for one in found] == [
        ("1", "failed", f"1 {DAY}"),
        ("2", "published", None),
    ]


def test_runs_that_published_nothing_say_nothing_about_how_long_runs_take(
    ledger: duckdb.DuckDBPyConnection,
) -> None:
    tried(ledger, "1", 10, {DAY: "failed", OTHER: "published"})
    tried(ledger, "2", 20, {DAY: "failed"})
    assert run_times(ledger, "daily") == [RunTime(2, 60.0)]
