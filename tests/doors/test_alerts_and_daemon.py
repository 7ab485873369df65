"""Failures are told once, to someone, with the daemon as users run it, a receiver of messages that
accepts or refuses, and processes that are killed (cases A1 to A3, A5, A6, A8, A9, A11, A13, B9, C1, C9).

The tests share the services, and each fails days of its own.
"""

from __future__ import annotations

import os
import signal
from collections.abc import Iterator
from contextlib import suppress
from pathlib import Path

import psutil
import pytest

from tests.support.dagster_processes import Home, kill, wait_for
from tests.support.runs import run_days
from tests.support.shop import Shop, event
from tests.support.told_services import QUICK_DAEMON, ToldServices, told_services

pytestmark = pytest.mark.slow

JOB = "daily_customer_pipeline"
OLD = "2026-03-02"


@pytest.fixture(scope="module")
def services(
    tmp_path_factory: pytest.TempPathFactory, session_folder: Path, dbt_cache: Path
) -> Iterator[ToldServices]:
    root = tmp_path_factory.mktemp("alerts")
    shop = Shop(root / "shop", dbt_cache=dbt_cache)

    def before(home: Home) -> None:
        # Before anybody looks.
        shop.deliver("customers", OLD, [])
        assert not run_days(shop, home, OLD).succeeded

    with told_services(root, shop, session_folder, before) as services:
        yield services


def test_what_failed_before_anybody_looked_is_not_told(services: ToldServices) -> None:
    """Case A9."""
    assert services.receiver.received("main") == []


def test_a_failed_day_is_told_once_to_each_channel_and_so_is_its_end(
    services: ToldServices,
) -> None:
    """Cases A1, C9: a day that was published, and whose orders are gone in a second run."""
    shop, api, day = services.shop, services.api, "2026-03-10"
    shop.deliver_day(day)
    assert run_days(shop, services.home, day).succeeded
    services.fail(day)
    for _ in range(2):
        api.launch_days(JOB, [day])
        services.told(f"{day} failed in extract")
    api.wait_for_runs(4)
    services.settle()
    (message,) = services.about(day)
    assert "the 9 rows published earlier are still there" in message.body
    assert sum(day in one.text for one in services.receiver.taken("loud")) == 1
    shop.deliver_day(day)
    api.launch_days(JOB, [day])
    services.told(f"resolved: daily_customers: {day} has been published")


def test_a_backfill_is_one_notice_after_its_end(services: ToldServices) -> None:
    """Cases A2, A8, A11, B9: of assets, as somebody picks them in the UI."""
    days = [f"2026-04-{day:02}" for day in range(1, 11)]
    for day in days:
        services.shop.deliver_day(day)
    services.fail(*days[2:5])
    backfill = services.api.launch_backfill(
        [key for key in services.api.asset_keys() if key[0] != "reporting"], days
    )
    assert services.api.wait_for_backfill(backfill) == "COMPLETED_FAILED"
    (message,) = services.told(f"backfill {backfill}")
    assert "10 days asked for, 7 published, 3 failed" in message.title
    assert f"{days[2]} to {days[4]} (3): orders: " in message.body
    (run,) = services.api.backfill(backfill)["runs"]
    assert message.at > services.api.runs()[run["id"]]["ended"]
    services.settle()
    assert services.about(days[2]) == [message]


def test_a_killed_worker_is_told_unless_dagster_finishes_its_day(services: ToldServices) -> None:
    """Cases A1, A3."""
    retried, lost = "2026-05-01", "2026-05-02"
    for day in (retried, lost):
        services.shop.deliver_day(day)
    services.switch("wait", on=True)
    services.api.launch_days(JOB, [lost], {"dagster/max_retries": "0"})
    os.kill(services.waiting_run(), signal.SIGKILL)
    (message,) = services.told(f"{lost} lost in a failed run", seconds=60)
    assert "terminated by signal 9 (SIGKILL)" in message.body
    services.api.launch_days(JOB, [retried])
    process = services.waiting_run()
    services.switch("wait", on=False)
    os.kill(process, signal.SIGKILL)

    def finished() -> bool:
        runs = services.api.runs().values()
        of_day = [run for run in runs if run["tags"].get("dagster/partition") == retried]
        return [run["status"] for run in of_day] == ["SUCCESS", "FAILURE"]

    wait_for(finished, seconds=90, what="another run of the day")
    services.settle()
    assert services.about(retried) == []


def test_what_a_channel_refuses_is_told_when_it_takes_it(services: ToldServices) -> None:
    """Case A5: refused as it is and in fewer words; the other channel has it at once."""
    day = "2026-05-10"
    services.fail(day)
    services.receiver.answer("main", 400, 500)
    services.api.launch_days(JOB, [day])
    wait_for(
        lambda: any(day in one.text for one in services.receiver.taken("loud")),
        seconds=90,
        what="the other channel",
    )
    (message,) = services.told(day)
    received = [one for one in services.receiver.received("main") if day in one.text]
    assert [one.status for one in received] == [400, 500, 200]
    assert received[-1] == message
    listed = services.home.run("customer-pipeline", "alerts", "list", check=False)
    assert listed.returncode == 1, "the dead channel took nothing"
    assert "rejected" in listed.stdout


def test_nothing_is_lost_or_repeated_when_daemon_and_code_server_are_killed(
    services: ToldServices,
) -> None:
    day, later = "2026-05-20", "2026-05-21"
    services.fail(day, later)
    for process in psutil.Process(services.home.daemon.pid).children(recursive=True):
        # One that has just ended has no command line any more.
        with suppress(psutil.Error):
            if "grpc" in process.cmdline():
                process.kill()
    services.api.launch_days(JOB, [day])
    # Its run fails at the end, or never starts.
    services.told(day, seconds=150)
    kill(services.home.daemon)
    assert not run_days(services.shop, services.home, later).succeeded
    services.home.start_daemon(QUICK_DAEMON)
    services.told(f"{later} failed", seconds=120)
    services.settle()
    assert len(services.about(day)) == 1


def test_a_run_that_hangs_is_told_and_ended(services: ToldServices) -> None:
    """Case A13: first that it takes far longer than usual, then that nothing is heard of it."""
    day = "2026-06-01"
    services.shop.deliver_day(day)
    for switch in ("wait", "impatient"):
        services.switch(switch, on=True)
    (run,) = services.api.launch_days(
        JOB, [day], {"dagster/max_runtime": "80", "dagster/max_retries": "0"}
    )
    services.waiting_run()
    (slow,) = services.told("so far, usually", seconds=60)
    assert run in slow.body
    (hangs,) = services.told("no sign of life from a run", seconds=90)
    assert run in hangs.body
    (ended,) = services.told(f"{day} lost in a failed run", seconds=90)
    for switch in ("wait", "impatient"):
        services.switch(switch, on=False)
    assert "maximum runtime" in ended.body
    assert services.api.runs()[run]["status"] == "FAILURE"


def test_a_check_that_failed_in_a_run_that_succeeded_is_told(services: ToldServices) -> None:
    """Case C1: a message that comes again with other content does not count, and stops nothing."""
    days = ["2026-06-10", "2026-06-11"]
    for day in days:
        services.shop.deliver_day(day)
    services.shop.deliver("events", days[0], [event(days[0], 1)])
    services.shop.deliver("events", days[1], [event(days[0], 1, payload="other")])
    for day in days:
        assert run_days(services.shop, services.home, day).succeeded
    (message,) = services.told("messages_do_not_conflict")
    assert message.title == (
        "warning: daily_customers: messages_do_not_conflict failed in a run that succeeded"
        f" ({days[1]})"
    )


def test_a_sensor_that_keeps_failing_is_told_and_nothing_is_lost_meanwhile(
    services: ToldServices,
) -> None:
    """Case A6."""
    day = "2026-06-20"
    services.fail(day)
    services.switch("watch_fails", on=True)
    assert not run_days(services.shop, services.home, day).succeeded
    (message,) = services.told("the look fails, as the test wants it")
    assert message.title == "error: the sensor alerts_watch keeps failing"
    services.switch("watch_fails", on=False)
    services.told(f"{day} failed")
    services.settle()
    assert len(services.about(day)) == 1
