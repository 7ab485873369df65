"""Many runs at the same moment: no lock errors, and the result of a quiet run (contract 7; cases L1,
L2, L5, L6, P6).
"""

from __future__ import annotations

import sqlite3
from contextlib import closing
from pathlib import Path

import pytest

from tests.conftest import PROJECT
from tests.doors.conftest import DAYS
from tests.support.dagster_processes import Home
from tests.support.shop import Shop
from tests.support.stages import run_stages
from tests.support.warehouse import content_hashes, query

pytestmark = pytest.mark.slow

LEFT_BY_DBT = [PROJECT / "dbt_project" / name for name in ("target", "logs")]
JOB = "daily_customer_pipeline"
# What DuckDB, SQLite and the pipeline say of a file that somebody else holds.
LOCK_ERRORS = ("could not set lock", "database is locked", "was held", "conflicting lock")


def test_six_processes_two_of_them_for_the_same_day(
    shop: Shop, home: Home, expected: dict[str, str]
) -> None:
    left_by_hand = {path for path in LEFT_BY_DBT if path.exists()}
    days = [*DAYS[:4], DAYS[4], DAYS[4]]
    processes = [
        home.start(
            *("dagster", "asset", "materialize", "--select", "*", "--partition", day),
            *("-m", "customer_pipeline.definitions"),
        )
        for day in days
    ]
    outputs = [process.communicate(timeout=280)[0] for process in processes]
    for day, process, output in zip(days, processes, outputs, strict=True):
        assert process.returncode == 0, f"{day}\n{output[-3000:]}"
        assert_no_lock_error(output)
    assert content_hashes(shop.settings.warehouse_path) == {day: expected[day] for day in DAYS[:5]}
    attempts = query(
        shop.settings.warehouse_path,
        "select partition_key from ops.attempts where outcome = 'published' order by 1",
    )
    assert [day for (day,) in attempts] == sorted(days)
    # No run has left anything in the project's own folder, or its candidate.
    assert {path for path in LEFT_BY_DBT if path.exists()} == left_by_hand
    assert list(shop.settings.runs_path.iterdir()) == []


def test_ten_runs_of_a_day_each_through_the_daemon_succeed_at_the_first_try(
    shop: Shop, home: Home
) -> None:
    days = [f"2026-03-{day:02}" for day in range(10, 20)]
    for n, day in enumerate(days):
        shop.deliver_day(day, orders=n + 1)
    with home.services() as api:
        launched = api.launch_days(JOB, days)
        runs = api.wait_for_runs(len(days), seconds=280)
    assert {run_id: run["status"] for run_id, run in runs.items()} == dict.fromkeys(
        launched, "SUCCESS"
    )
    assert_no_lock_error(home.output)
    assert_no_step_was_tried_twice(home, runs=len(days))
    together = content_hashes(shop.settings.warehouse_path)
    shop.settings.warehouse_path.unlink()
    run_stages(shop.pipeline, days)
    assert together == content_hashes(shop.settings.warehouse_path)
    assert len(together) == len(days)


def assert_no_lock_error(output: str) -> None:
    for words in LOCK_ERRORS:
        assert words not in output.lower(), output[-3000:]


def assert_no_step_was_tried_twice(home: Home, *, runs: int) -> None:
    """The steps that write to the warehouse waited for each other and did not come back later."""
    writers = [
        sorted(_started_writers(shard))
        for shard in (home.folder / "history" / "runs").glob("*-*.db")
    ]
    # A refresh of the reporting tables, when the sensor has started one, has none of these.
    of_days = [started for started in writers if started]
    assert len(of_days) == runs
    for started in of_days:
        assert started == [
            "load_customers",
            "load_events",
            "load_orders",
            "publish_daily_customers",
        ]


def _started_writers(shard: Path) -> list[str]:
    with closing(sqlite3.connect(shard)) as log:
        rows = log.execute(
            "select step_key from event_logs"
            " where dagster_event_type in ('STEP_START', 'STEP_RESTARTED')"
            " and (step_key like 'load%' or step_key like 'publish%')"
        ).fetchall()
    return [step for (step,) in rows]
