"""What is told when there are several pipelines: everything once, by the one that it belongs to."""

from __future__ import annotations

from collections.abc import Iterator
from datetime import UTC, datetime, timedelta
from pathlib import Path

import dagster as dg
import pytest

from customer_pipeline.alerts.mutes import Mute, mute, partition_subject
from customer_pipeline.dbt_adapter.manifest import DbtProject
from customer_pipeline.orchestration.alerting.watch import Watch
from customer_pipeline.orchestration.instance_view import partitions_in_flight
from customer_pipeline.pipelines import DAILY as DAYS
from customer_pipeline.pipelines import MONTHLY as MONTHS
from tests.support.alert_desk import MONTHLY, REFRESH, AlertDesk
from tests.support.dagster_processes import Home
from tests.support.instance_traces import switch, waits_for_another_attempt
from tests.support.months import RideShop
from tests.support.receiver import receiver

# The key of a day and of a month.
FIRST, NEXT, LAST = "2026-01-01", "2026-02-01", "2026-03-01"
HOUR, MINUTE = timedelta(hours=1), timedelta(minutes=1)
LOST = "its worker is gone"


@pytest.fixture
def desk(tmp_path: Path, rides: DbtProject, home: Home) -> Iterator[AlertDesk]:
    shop = RideShop(tmp_path / "rides", models=rides, specs=(DAYS, MONTHS))
    with receiver() as inbox, home.instance() as instance:
        yield AlertDesk(shop, instance, inbox)


def titles(desk: AlertDesk, *, after: timedelta = timedelta()) -> list[str]:
    return sorted(message.title for message in desk.told(after=after))


def test_a_day_and_a_month_of_the_same_key_are_told_each_and_mended_each(desk: AlertDesk) -> None:
    desk.failed(FIRST)
    desk.failed(FIRST, NEXT, job=MONTHLY, why="monthly_rides: cut off")
    desk.tick()
    month, day = sorted(desk.deliver(), key=lambda message: -message.title.count("months"))
    assert month.title == "error: monthly_trips: 2 months failed in extract"
    assert f"- {FIRST} to {NEXT} (2): monthly_rides: cut off\n" in month.body
    option = "--pipeline monthly_trips"
    assert f"customer-pipeline status --from {FIRST} --to {NEXT} {option}\n" in month.body
    assert f"customer-pipeline backfill --from {FIRST} --to {NEXT} {option}\n" in month.body
    assert day.title == f"error: daily_customers: {FIRST} failed in extract"
    assert f"fix: customer-pipeline run --from {FIRST}\n" in day.body
    desk.published(FIRST, job=MONTHLY)
    assert titles(desk) == [f"resolved: monthly_trips: {FIRST} has been published"]
    assert titles(desk, after=25 * HOUR) == [
        f"error: daily_customers: {FIRST} still not published after 25 hours",
        f"error: monthly_trips: {NEXT} still not published after 25 hours",
    ]


def test_lost_runs_and_backfills_are_told_by_the_pipeline_that_they_are_of(
    desk: AlertDesk,
) -> None:
    desk.instance.report_run_failed(desk.run(LAST, job=MONTHLY), LOST)
    desk.instance.report_run_failed(desk.run(LAST), LOST)
    desk.backfill("bf")
    of_backfill = {"dagster/backfill": "bf"}
    desk.published(FIRST, job=MONTHLY, **of_backfill)
    desk.failed(NEXT, job=MONTHLY, **of_backfill)
    desk.backfill("bf", status="COMPLETED_FAILED")
    # One that never came to a run.
    desk.backfill("none", assets=[dg.AssetKey(["marts", "monthly_rides_total"])])
    desk.backfill("none", status="CANCELED")
    assert titles(desk) == [
        f"error: daily_customers: {LAST} lost in a failed run",
        f"error: monthly_trips: {LAST} lost in a failed run",
        "error: monthly_trips: backfill bf ended: 2 months asked for, 1 published, 1 failed",
        "info: monthly_trips: backfill none was cancelled: 0 months asked for, 0 published",
    ]
    assert titles(desk, after=MINUTE) == []


def test_the_refresh_of_one_pipeline_s_tables_says_nothing_of_the_others(desk: AlertDesk) -> None:
    def refresh(*tables: str) -> dg.DagsterRun:
        keys = frozenset(dg.AssetKey(["reporting", table]) for table in tables)
        return desk.run(job=REFRESH, assets=keys)

    monthly, daily = "monthly_rides_ever", "monthly_sales"
    for tables in ([monthly], [daily], [monthly]):
        desk.instance.report_run_failed(refresh(*tables), "its tests failed")
    assert titles(desk) == [
        "error: reporting_refresh failed",
        "error: reporting_refresh of monthly_trips failed",
    ]
    desk.succeed(refresh(daily))
    assert [title.split(": ")[:2] for title in titles(desk)] == [["resolved", "reporting_refresh"]]
    # As by hand, all of them.
    desk.succeed(refresh(monthly, daily))
    assert [title.split(": ")[:2] for title in titles(desk)] == [
        ["resolved", "reporting_refresh of monthly_trips"]
    ]


def test_a_run_that_waits_six_hours_for_its_next_attempt_does_not_hang(desk: AlertDesk) -> None:
    waiting = desk.run(FIRST, NEXT, job=MONTHLY)
    desk.fail(waiting, FIRST, end=False)
    waits_for_another_attempt(desk.instance, waiting, seconds=6 * 3600)
    desk.run(LAST)
    (hanging,) = desk.told(after=2 * HOUR)
    assert hanging.title.startswith("error: daily_customer_pipeline: no sign of life from a run")
    assert titles(desk, after=4 * HOUR) == []
    in_6_hours = datetime.now(UTC) + 6 * HOUR
    days, months = desk.watch.pipelines
    assert set(partitions_in_flight(desk.instance, months, in_6_hours)) == {FIRST, NEXT}
    assert partitions_in_flight(desk.instance, days, in_6_hours) == {}
    assert any("monthly_trips_pipeline: no sign of" in one for one in titles(desk, after=2 * HOUR))


def test_a_month_is_overdue_by_its_own_schedule(desk: AlertDesk) -> None:
    switch(desk.instance, "schedule", MONTHS.schedule, "RUNNING")
    pipeline = desk.watch.pipelines[1]
    now = datetime.now(UTC)
    # Of the month that ends next.
    (key,) = set(pipeline.partitions.complete_keys(now + timedelta(days=31))) - set(
        pipeline.partitions.complete_keys(now)
    )
    due = pipeline.partitions.window(key).end + pipeline.due_after
    assert titles(desk, after=due - now - HOUR) == []
    assert titles(desk, after=2 * HOUR) == [f"error: monthly_trips: {key} overdue"]
    assert titles(desk, after=MINUTE) == []


def test_who_watched_one_pipeline_so_far_tells_nothing_again(desk: AlertDesk) -> None:
    both = desk.watch
    desk.watch = Watch(both.pipelines[:1])
    desk.failed(FIRST)
    desk.instance.report_run_failed(desk.run(job=REFRESH), "its tests failed")
    desk.instance.report_run_failed(desk.run(NEXT), LOST)
    assert len(desk.told()) == 3
    desk.watch = both
    assert desk.told() == []


def test_a_muted_month_is_no_muted_day(desk: AlertDesk) -> None:
    now = datetime.now(UTC)
    subject = partition_subject(FIRST, desk.watch.pipelines[1].option)
    with desk.watch.store.transaction() as connection:
        mute(connection, Mute(subject, now + HOUR, "known", "me"), now)
    desk.failed(FIRST, job=MONTHLY)
    desk.failed(FIRST)
    assert titles(desk) == [f"error: daily_customers: {FIRST} failed in extract"]
    assert titles(desk, after=2 * HOUR) == [f"error: monthly_trips: {FIRST} failed in extract"]
