"""Thirty days, a run each: as planned, in order, never more at once than allowed, each day once, and
never in the way of others (cases B1, B11, B14, L1, L7, L8, L9, T10; contract 7).
"""

from __future__ import annotations

import re

import dagster as dg
import pytest

from customer_pipeline.orchestration.location import build_defs
from tests.doors.test_at_the_same_time import assert_no_lock_error
from tests.support.backfills import Services, days_from, in_turn, most_at_once
from tests.support.dagster_processes import wait_for
from tests.support.warehouse import content_hashes, query

pytestmark = [pytest.mark.slow, pytest.mark.timeout(600)]

DAYS = days_from("2026-03-09", 30)
OTHER_DAYS = days_from("2026-04-20", 2)


def test_thirty_days_with_a_run_each(services: Services) -> None:
    """The cap is three at first, while a second backfill begins. Then it is eight, all of which are
    at work when the daily run comes, for a day that the backfill is just at work on."""
    gates, runs_by_id = services.gates, services.api.runs
    services.deliver([*DAYS, *OTHER_DAYS])
    gates.close(DAYS)
    whole = services.start(
        *("--from", DAYS[0], "--to", DAYS[-1], "--verify-first", "0", "--days-per-run", "1"),
        *("--max-active-runs", "3", "--reason", "a rule has changed"),
    )
    backfill_id = whole.backfill_id()
    services.wait_for_runs(backfill_id, len(DAYS))
    first = wait_for(lambda: gates.waiting_if(3), seconds=120, what="three runs")

    # Another backfill is not kept behind by this one.
    code, output = services.backfill(
        *("--from", OTHER_DAYS[0], "--to", OTHER_DAYS[1], "--verify-first", "0", "--no-wait")
    )
    assert code == 0, output
    other_id = re.findall("backfill ([0-9a-f]{8}) continues by itself", output)[0]
    wait_for(
        lambda: [run.status for run in services.runs(other_id)] == ["SUCCESS"],
        seconds=120,
        what="the end of the other backfill",
    )
    assert gates.waiting().keys() == first

    code, output = services.backfill("--change", backfill_id, "--max-active-runs", "8")
    assert code == 0, output
    assert "from now on at most 8 runs at once; 30 runs left" in output
    at_work = sorted(wait_for(lambda: gates.waiting_if(8), seconds=180, what="eight runs"))
    assert first < set(at_work)

    # All places are taken. The daily run gets the next one, before the 22 that wait.
    twice = at_work[-1]
    daily = launch_as_the_schedule(services, twice)
    wait_for(lambda: runs_by_id()[daily]["status"] == "QUEUED", seconds=60, what="the queue")
    gates.open(at_work[:1])
    wait_for(lambda: runs_by_id()[daily]["status"] != "QUEUED", seconds=60, what="its turn")
    assert {run.status for run in services.runs(backfill_id)[8:]} == {"QUEUED"}
    gates.open(DAYS)

    assert whole.ends(seconds=400) == 0, whole.output
    assert "would run: 30 days" in whole.output
    assert "30 days in 30 runs" in whole.output
    assert "30 days verified, from source to lake" in whole.output
    runs = services.runs(backfill_id)
    assert sorted(run.days for run in runs) == [(day,) for day in DAYS]
    assert in_turn(runs) == sorted(in_turn(runs))
    assert len(in_turn(runs)) >= 20
    assert {run.status for run in runs} == {"SUCCESS"}
    assert most_at_once(runs) == 8
    assert {run.tags["customer_pipeline/reason"] for run in runs} == {"a rule has changed"}
    attempts = services.attempts(DAYS)
    assert attempts.pop(twice) in (
        [("published", None), ("published", backfill_id)],
        [("published", backfill_id), ("published", None)],
    )
    assert all(found == [("published", backfill_id)] for found in attempts.values()), attempts
    warehouse = services.shop.settings.warehouse_path
    # Of the day that two runs have published, the ledger names the last one.
    assert query(
        warehouse, "select run_id from ops.partitions where partition_key = ?", [twice]
    ) == query(
        warehouse,
        "select max_by(run_id, finished_at) from ops.attempts where partition_key = ?",
        [twice],
    )
    assert query(
        warehouse,
        "select reason from ops.backfills where backfill_id = ?",
        [backfill_id],
    ) == [("a rule has changed",)]
    assert_no_lock_error(services.home.output)
    assert services.retried_steps(runs) == []


def test_the_same_days_launched_in_the_ui_are_repeated_in_one_run_with_the_same_content(
    services: Services,
) -> None:
    warehouse = services.shop.settings.warehouse_path
    before = content_hashes(warehouse)
    assert set(DAYS) <= before.keys()
    launched = services.api.launch_backfill(services.api.asset_keys(), DAYS)
    assert services.api.wait_for_backfill(launched) == "COMPLETED_SUCCESS"
    assert content_hashes(warehouse) == before
    runs = services.api.runs()
    of_days = [
        run
        for run in runs.values()
        if run["tags"].get("dagster/backfill") == launched
        and "dagster/asset_partition_range_start" in run["tags"]
    ]
    assert [
        (
            run["tags"]["dagster/asset_partition_range_start"],
            run["tags"]["dagster/asset_partition_range_end"],
        )
        for run in of_days
    ] == [(DAYS[0], DAYS[-1])]
    assert all(found[-1] == ("published", launched) for found in services.attempts(DAYS).values())


def launch_as_the_schedule(services: Services, day: str) -> str:
    """Just the run that the schedule asks for on the morning after; returns its id."""
    pipeline = services.shop.pipeline
    repository = build_defs(services.shop.settings).get_repository_def()
    schedule = repository.get_schedule_def("daily_customer_pipeline_schedule")
    with (
        services.home.instance() as instance,
        dg.build_schedule_context(
            instance,
            scheduled_execution_time=pipeline.partitions.window(day).end,
            repository_def=repository,
        ) as context,
    ):
        (asked,) = schedule.evaluate_tick(context).run_requests or []
    assert asked.partition_key == day
    (run_id,) = services.api.launch_days("daily_customer_pipeline", [day], asked.tags)
    return run_id
