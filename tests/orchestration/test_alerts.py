"""What is told of days and runs: once, to the point, and not what mends itself (cases A1, A2, A9 to
A13, B9, C1). The same with the daemon: `tests/doors/test_alerts.py`.
"""

from __future__ import annotations

import time
from collections.abc import Iterator
from datetime import UTC, datetime, timedelta
from typing import Any

import dagster as dg
import pytest

from customer_pipeline.alerts.channels import parse_channels
from customer_pipeline.alerts.mutes import Mute, mute
from customer_pipeline.warehouse.waivers import Waiver, grant_waivers
from tests.support.alert_desk import REFRESH, AlertDesk
from tests.support.dagster_processes import Home
from tests.support.instance_traces import fails_in_a_step, waits_for_another_attempt
from tests.support.receiver import Receiver, receiver
from tests.support.shop import Shop

DAYS = [f"2026-03-{day:02}" for day in range(1, 32)]
HOUR, MINUTE = timedelta(hours=1), timedelta(minutes=1)


@pytest.fixture
def inbox() -> Iterator[Receiver]:
    with receiver() as running:
        yield running


@pytest.fixture
def desk(shop: Shop, home: Home, inbox: Receiver) -> Iterator[AlertDesk]:
    with home.instance() as instance:
        yield AlertDesk(shop, instance, inbox)


def test_a_day_that_failed_is_told_with_its_reason_and_what_to_do(desk: AlertDesk) -> None:
    run = desk.failed(DAYS[3])
    (message,) = desk.told()
    assert message.title == f"error: daily_customers: {DAYS[3]} failed in extract"
    assert message.kind == "failure"
    lines = message.body.splitlines()
    assert lines[0] == "orders: cut off"
    assert lines[1].startswith("attempt 1, since 20")
    assert lines[2:] == [
        f"more: customer-pipeline status --day {DAYS[3]}",
        f"fix: customer-pipeline run --from {DAYS[3]}",
        f"http://localhost:3000/runs/{run.run_id}",
    ]


@pytest.mark.parametrize("only", [["landing"], ["landing", "marts"]])
def test_a_run_of_picked_assets_is_told_once(desk: AlertDesk, only: list[str]) -> None:
    """Case A8: whatever the run would have published."""
    desk.fail(desk.run(DAYS[3], only=only), DAYS[3])
    (message,) = desk.told()
    assert message.title == f"error: daily_customers: {DAYS[3]} failed in extract"


def test_it_is_told_once_however_often_it_is_tried_and_seen(desk: AlertDesk) -> None:
    desk.failed(DAYS[3])
    assert len(desk.told()) == 1
    for _ in range(4):
        desk.failed(DAYS[3])
        assert desk.told(after=HOUR) == []


def test_the_days_of_one_run_are_one_message_by_reason(desk: AlertDesk) -> None:
    """Case A11."""
    run = desk.run(DAYS[1], DAYS[4])
    desk.publish(run, DAYS[1])
    desk.fail(run, DAYS[2], DAYS[3], why="orders: there is no delivery", end=False)
    desk.fail(run, DAYS[4], why="customers: cut off")
    (message,) = desk.told()
    assert message.title == "error: daily_customers: 3 days failed in extract"
    assert f"- {DAYS[2]} to {DAYS[3]} (2): orders: there is no delivery\n" in message.body
    assert f"- {DAYS[4]} (1): customers: cut off\n" in message.body
    assert f"backfill --from {DAYS[2]} --to {DAYS[4]}" in message.body


def test_a_run_that_goes_on_is_told_when_it_has_ended(desk: AlertDesk) -> None:
    run = desk.run(DAYS[1], DAYS[2])
    desk.fail(run, DAYS[1], end=False)
    assert desk.told() == []
    desk.fail(run, DAYS[2])
    (message,) = desk.told()
    assert "2 days failed" in message.title


def test_what_failed_before_anybody_looked_is_not_told_until_it_fails_again(
    shop: Shop, home: Home, inbox: Receiver
) -> None:
    """Case A9."""
    with home.instance() as instance:
        before = AlertDesk(shop, instance, inbox)
        before.watch.store.path.unlink()
        for day in DAYS[:10]:
            before.failed(day)
        desk = AlertDesk(shop, instance, inbox)
        assert desk.told() == []
        assert desk.told(after=25 * HOUR) == [], "nor is anybody reminded of it"
        desk.ahead = timedelta()
        desk.failed(DAYS[5])
        (message,) = desk.told()
        assert DAYS[5] in message.title


def test_a_run_that_is_tried_again_is_told_only_if_it_fails_for_good(desk: AlertDesk) -> None:
    """Case A1: killed, started again, and well; and one that fails to the end."""
    first = desk.run(DAYS[0], tags={"dagster/max_retries": "3"})
    desk.instance.report_run_failed(first, "its worker is gone")
    failed = desk.instance.get_run_by_id(first.run_id)
    assert failed and failed.tags["dagster/will_retry"] == "true"
    assert desk.told() == []
    again = desk.run(DAYS[0], tags={"dagster/parent_run_id": first.run_id})
    desk.instance.add_run_tags(first.run_id, {"dagster/auto_retry_run_id": again.run_id})
    desk.publish(again, DAYS[0])
    assert desk.told() == []
    assert desk.told(after=11 * MINUTE) == []

    desk.ahead = timedelta()
    lost = desk.run(DAYS[1])
    desk.instance.report_run_failed(lost, "Detected run worker status FAILED.")
    (message,) = desk.told()
    assert message.title == f"error: daily_customers: {DAYS[1]} lost in a failed run"
    assert "Detected run worker status FAILED." in message.body
    assert lost.run_id in message.body
    assert desk.told(after=MINUTE) == []


def test_a_retry_that_was_announced_and_never_came_is_told(desk: AlertDesk) -> None:
    desk.instance.report_run_failed(
        desk.run(DAYS[0], tags={"dagster/max_retries": "3"}), "its worker is gone"
    )
    assert desk.told(after=5 * MINUTE) == []
    assert len(desk.told(after=6 * MINUTE)) == 1
    assert desk.told(after=6 * MINUTE) == []


def test_what_mends_itself_before_anybody_looks_is_not_told(desk: AlertDesk) -> None:
    desk.failed(DAYS[0])
    desk.published(DAYS[0])
    assert desk.told() == []


def test_what_was_told_is_told_to_be_well_again(desk: AlertDesk) -> None:
    desk.failed(DAYS[0])
    desk.failed(DAYS[1])
    assert len(desk.told()) == 2
    desk.published(DAYS[0])
    (message,) = desk.told()
    assert message.title == f"resolved: daily_customers: {DAYS[0]} has been published"
    assert message.kind == "success"
    desk.failed(DAYS[0])
    (message,) = desk.told()
    assert message.title.startswith("error"), "a new failure is told anew"


def test_a_day_that_nobody_mends_is_reminded_of_daily_until_it_is_waived(desk: AlertDesk) -> None:
    """Case A10."""
    desk.failed(DAYS[0])
    assert len(desk.told()) == 1
    desk.published(DAYS[1])
    assert desk.told(after=23 * HOUR) == []
    for day in (1, 2):
        (message,) = desk.told(after=24 * HOUR if day > 1 else 2 * HOUR)
        assert f"{DAYS[0]} still not published after" in message.title
        assert "orders: cut off" in message.body
        assert "customer-pipeline waive" in message.body
        assert desk.told(after=MINUTE) == []
    with desk.pipeline.warehouse.write() as connection:
        waiver = Waiver(DAYS[0], "never", "me", datetime.now(UTC))
        grant_waivers(connection, desk.pipeline.name, [waiver])
    assert desk.told(after=48 * HOUR) == []


def test_a_feed_may_ask_for_patience(desk: AlertDesk) -> None:
    """Case A12: three failures in a row for a noisy feed, one for the others."""
    noisy = desk.shop.source_path.read_text().replace("  orders:", "  orders:\n    alert_after: 3")
    desk.shop.source_path.write_text(noisy)
    patient = AlertDesk(desk.shop, desk.instance, desk.receiver)
    for attempt in range(1, 4):
        patient.failed(DAYS[0])
        assert len(patient.told()) == (attempt == 3)
    patient.failed(DAYS[1], why="customers: cut off")
    assert len(patient.told()) == 1
    patient.failed(DAYS[2])
    assert patient.told() == []
    assert any(DAYS[2] in one.title for one in patient.told(after=25 * HOUR)), "not forever"


def test_what_is_muted_is_told_when_the_mute_ends(desk: AlertDesk) -> None:
    with desk.watch.store.transaction() as connection:
        now = datetime.now(UTC)
        for subject in ("orders", DAYS[1]):
            mute(connection, Mute(subject, now + 2 * HOUR, "known", "me"), now)
    desk.failed(DAYS[0])
    desk.failed(DAYS[1], why="customers: cut off")
    desk.failed(DAYS[2], why="customers: cut off")
    (message,) = desk.told()
    assert DAYS[2] in message.title
    assert len(desk.told(after=3 * HOUR)) == 2


def test_a_backfill_is_one_notice_after_its_last_run(desk: AlertDesk) -> None:
    """Cases A2, B9: thirty days, of which seven fail; one run goes on when Dagster is done."""
    desk.backfill("bf")
    tags = {"dagster/backfill": "bf"}
    bad = DAYS[10:17]
    desk.published(*DAYS[:10], **tags)
    desk.failed_each(bad, **tags)
    assert desk.told() == []
    desk.published(*DAYS[17:29], **tags)
    assert desk.told() == []
    last = desk.run(DAYS[29], tags=tags)
    desk.backfill("bf", status="COMPLETED_FAILED")
    assert desk.told() == []
    desk.publish(last, DAYS[29])
    desk.instance.report_run_canceled(last)
    (message,) = desk.told()
    assert message.title == (
        "error: daily_customers: backfill bf ended: 30 days asked for, 23 published, 7 failed"
    )
    assert f"- {bad[0]} to {bad[-1]} (7): orders: there is no delivery of …\n" in message.body
    assert f"fix: customer-pipeline backfill --from {bad[0]} --to {bad[-1]}" in message.body
    assert "http://localhost:3000/runs/b/bf" in message.body
    assert desk.told(after=2 * MINUTE) == []
    (reminder,) = desk.told(after=25 * HOUR)
    assert "7 days still not published" in reminder.title


def test_an_operation_of_several_backfills_is_one_notice(desk: AlertDesk) -> None:
    operation = {"customer_pipeline/backfill": "june"}
    desk.backfill("first", tags=operation)
    desk.published(DAYS[0], **operation, **{"dagster/backfill": "first"})
    desk.backfill("first", status="COMPLETED_SUCCESS")
    assert desk.told() == [], "the rest may be about to begin"
    desk.backfill("rest", tags=operation)
    assert desk.told(after=2 * MINUTE) == []
    desk.failed(DAYS[1], **operation, **{"dagster/backfill": "rest"})
    desk.backfill("rest", status="COMPLETED_FAILED")
    (message,) = desk.told(after=2 * MINUTE)
    assert "backfill june ended: 2 days asked for, 1 published, 1 failed" in message.title


def test_a_backfill_that_went_well_or_was_cancelled_is_told_as_such(desk: AlertDesk) -> None:
    for name, status in (("good", "COMPLETED_SUCCESS"), ("gone", "CANCELED")):
        desk.backfill(name)
        desk.published(DAYS[0], **{"dagster/backfill": name})
        if name == "gone":
            left = desk.run(DAYS[1], tags={"dagster/backfill": name})
            desk.instance.report_run_canceled(left)
        desk.backfill(name, status=status)
    good, gone = sorted((one.title for one in desk.told()), key=len)
    assert good == "info: daily_customers: backfill good ended: 1 day asked for, 1 published"
    assert gone == (
        "warning: daily_customers: backfill gone was cancelled: 2 days asked for, 1 published,"
        " 1 not done"
    )
    assert desk.told(after=25 * HOUR) == []


def test_a_storm_in_a_backfill_of_single_days_is_one_message(desk: AlertDesk) -> None:
    """Two hundred days, each with a run of its own, and all fail."""
    first = datetime(2026, 3, 1, tzinfo=UTC)
    days = [f"{first + timedelta(days=n):%Y-%m-%d}" for n in range(200)]
    desk.backfill("storm")
    desk.failed_each(days, **{"dagster/backfill": "storm"})
    desk.backfill("storm", status="COMPLETED_FAILED")
    began = time.monotonic()
    (message,) = desk.told()
    assert time.monotonic() - began < 20
    assert "200 days asked for, 0 published, 200 failed" in message.title
    assert f"- {days[0]} to {days[-1]} (200): orders: there is no delivery of …" in message.body


def test_a_job_without_days_is_told_once_until_it_succeeds(desk: AlertDesk) -> None:
    for _ in range(3):
        run = desk.run(job=REFRESH)
        desk.instance.report_run_failed(run, "these tests failed")
    (message,) = desk.told()
    assert message.title == "error: reporting_refresh failed"
    desk.succeed(desk.run(job=REFRESH))
    (message,) = desk.told()
    assert message.title == "resolved: reporting_refresh: reporting_refresh succeeds again"


def test_a_run_that_takes_three_times_its_usual_time_is_told_while_it_runs(desk: AlertDesk) -> None:
    """Case A13."""
    desk.succeed(desk.run(DAYS[0]), after=4 * MINUTE)
    slow = desk.run(DAYS[1])
    assert desk.told(after=11 * MINUTE) == []
    (message,) = desk.told(after=2 * MINUTE)
    assert message.title == (
        "warning: daily_customer_pipeline: a run has taken 13 min so far, usually 4 min"
    )
    assert slow.run_id in message.body
    (message,) = desk.told(after=50 * MINUTE)
    assert "no sign of life from a run for 63 min" in message.title
    assert desk.told(after=MINUTE) == []


def test_a_run_that_dagster_ends_is_told_as_that_though_its_step_was_interrupted_first(
    desk: AlertDesk,
) -> None:
    """Case A13: who ends it says so first, and whether it is the first to say that it failed is chance."""
    run = desk.run(DAYS[0])
    why = "Canceling due to exceeding maximum runtime of 80 seconds."
    desk.instance.report_run_canceling(run, why)
    fails_in_a_step(desk.instance, run, "DagsterExecutionInterruptedError")
    desk.instance.report_run_failed(run)
    (message,) = desk.told()
    assert why in message.body


def test_the_pauses_of_a_run_between_attempts_are_not_held_against_it(desk: AlertDesk) -> None:
    desk.succeed(desk.run(DAYS[0]), after=4 * MINUTE)
    pausing = desk.run(DAYS[1])
    waits_for_another_attempt(desk.instance, pausing, seconds=6 * 3600)
    assert desk.told(after=350 * MINUTE) == []
    (message,) = desk.told(after=25 * MINUTE)
    assert "a run has taken 15 min so far, usually 4 min" in message.title
    (message,) = desk.told(after=55 * MINUTE)
    assert "no sign of life from a run for" in message.title


def test_who_owns_a_feed_hears_of_it_and_the_source_s_owner_of_the_rest(desk: AlertDesk) -> None:
    owned = (
        desk.shop.source_path.read_text()
        .replace("timezone:", "owner: team:platform\ntimezone:")
        .replace("  orders:", "  orders:\n    owner: sales@example.com")
    )
    desk.shop.source_path.write_text(owned)
    owner = AlertDesk(desk.shop, desk.instance, desk.receiver)
    url = desk.receiver.url
    owner.channels = parse_channels(
        f"{url('sales', '?owner=sales@example.com')} {url('platform', '?owner=team:platform')}"
    )
    owner.failed(DAYS[0])
    owner.failed(DAYS[1], why="customers: cut off")
    owner.told()
    assert [DAYS[0] in title for title in desk.receiver.titles("sales")] == [True]
    assert [DAYS[1] in title for title in desk.receiver.titles("platform")] == [True]
    graph = owner.repository.asset_graph
    owners = {
        key.to_user_string(): list(graph.get(key).owners) for key in graph.get_all_asset_keys()
    }
    assert owners["raw/orders"] == owners["landing/orders"] == ["sales@example.com"]
    assert owners["raw/customers"] == owners["marts/fct_orders"] == ["team:platform"]
    # Whom to tell is no matter of the data.
    assert owner.pipeline.code_version == desk.pipeline.code_version


def test_the_marts_should_be_fresh_when_they_are_due(desk: AlertDesk) -> None:
    graph = desk.repository.asset_graph
    policy: Any = graph.get(dg.AssetKey(["marts", "fct_orders"])).freshness_policy
    assert (policy.deadline_cron, policy.timezone) == ("0 7 * * *", "Europe/London")
    assert policy.lower_bound_delta == 7 * HOUR


def test_a_run_of_what_is_no_day_is_told_and_nobody_is_reminded_of_it(desk: AlertDesk) -> None:
    desk.instance.report_run_failed(desk.run("2099-01-01"), "2099-01-01 is not over yet")
    (message,) = desk.told()
    assert message.title == "error: daily_customer_pipeline failed"
    assert message.body.startswith("2099-01-01 is not over yet")
    assert desk.told(after=49 * HOUR) == []


def test_a_run_that_published_everything_and_failed_at_the_rest_is_told(desk: AlertDesk) -> None:
    run = desk.run(DAYS[0])
    desk.publish(run, DAYS[0])
    desk.instance.report_run_failed(run, "everything is published, but the lake is behind")
    (message,) = desk.told()
    assert message.title == "error: daily_customer_pipeline failed"
    desk.succeed(desk.run(DAYS[1]))
    (message,) = desk.told()
    assert message.title.startswith("resolved")


@pytest.mark.parametrize("status", ["COMPLETED_FAILED", "CANCELED"])
def test_a_run_that_was_killed_in_a_backfill_is_part_of_its_notice(
    desk: AlertDesk, status: str
) -> None:
    desk.backfill("bf")
    tags = {"dagster/backfill": "bf"}
    desk.published(DAYS[0], **tags)
    desk.instance.report_run_failed(desk.run(DAYS[1], tags=tags), "its worker is gone")
    assert desk.told() == []
    desk.backfill("bf", status=status)
    (message,) = desk.told()
    assert "2 days asked for, 1 published, 1 not done" in message.title
    assert desk.told(after=10 * MINUTE) == []


def test_a_retry_that_fails_for_good_is_told_and_the_first_attempt_is_not(desk: AlertDesk) -> None:
    first = desk.run(DAYS[0], tags={"dagster/max_retries": "1"})
    desk.instance.report_run_failed(first, "its worker is gone")
    again = desk.run(DAYS[0], tags={"dagster/parent_run_id": first.run_id})
    desk.instance.add_run_tags(first.run_id, {"dagster/auto_retry_run_id": again.run_id})
    assert desk.told() == []
    desk.instance.report_run_failed(again, "its worker is gone again")
    (message,) = desk.told()
    assert message.body.startswith("its worker is gone again")
    assert desk.told(after=20 * MINUTE) == []
