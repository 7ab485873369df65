"""Reporting follows what is published, with the daemon as users run it: once after many days, never
after a failure, and whatever was killed, down or broken meanwhile (cases S1, S2, S4 to S8, B15).

The tests share the services, and each publishes days of its own.
"""

from __future__ import annotations

import os
import signal
import sys
import time
from collections.abc import Iterator
from dataclasses import dataclass
from datetime import date, timedelta
from pathlib import Path
from typing import Any

import pytest
import yaml

from tests.support.dagster_processes import Api, Home, home_template, kill, wait_for
from tests.support.runs import run_days
from tests.support.shop import Shop
from tests.support.warehouse import query

pytestmark = pytest.mark.slow

LOCATION = "tests.support.location_quick_sensor"
QUICK_DAEMON = (sys.executable, "-m", "tests.support.quick_daemon")
SENSOR = "reporting_on_publish"
NOTHING = "the reporting tables hold everything that is published"
ACTIVE = {"QUEUED", "NOT_STARTED", "STARTING", "STARTED", "CANCELING"}


def _days(first: str, number: int) -> list[str]:
    return [(date.fromisoformat(first) + timedelta(days=n)).isoformat() for n in range(number)]


@dataclass(frozen=True)
class Services:
    """The services over a shop."""

    shop: Shop
    home: Home
    api: Api
    switches: Path

    def settle(self) -> None:
        """Wait until nothing runs, and a look of the sensor after that has found nothing to do."""

        def settled() -> bool:
            if any(run["status"] in ACTIVE for run in self.api.runs().values()):
                return False
            now = time.time()
            wait_for(lambda: self.ticks(since=now), seconds=60, what="a tick of the sensor")
            return self.ticks(since=now)[-1]["skipReason"] == NOTHING

        wait_for(settled, seconds=150, what="the end of all refreshes")

    def ticks(self, *, since: float) -> list[dict[str, Any]]:
        return [tick for tick in self.api.sensor_ticks(SENSOR) if tick["timestamp"] >= since]

    def refreshes(self, *, since: float) -> list[dict[str, Any]]:
        """The runs of `reporting_refresh` that began since then, oldest first."""
        runs = [run for run in self.api.runs().values() if run["job"] == "reporting_refresh"]
        # One that was killed at its very start may never have begun.
        return sorted(
            (run for run in runs if (run["started"] or time.time()) >= since),
            key=lambda run: run["started"] or time.time(),
        )

    def switch(self, name: str, *, on: bool) -> None:
        if on:
            (self.switches / name).touch()
        else:
            (self.switches / name).unlink()

    def waiting_refresh(self) -> int:
        """The process of a refresh that has come to a switch."""
        mark = self.switches / "waiting"
        wait_for(mark.exists, seconds=90, what="a refresh")
        process = int(mark.read_text())
        mark.unlink()
        return process

    def reported(self, *days: str) -> dict[str, int]:
        """How many current customers there are whose state is of each of these days."""
        found = dict(
            query(
                self.shop.settings.warehouse_path,
                "select _date::varchar, count(*) from reporting.customers_current group by all",
            )
        )
        return {day: found.get(day, 0) for day in days}


@pytest.fixture(scope="module")
def services(
    tmp_path_factory: pytest.TempPathFactory, session_folder: Path, dbt_cache: Path
) -> Iterator[Services]:
    root = tmp_path_factory.mktemp("reporting")
    shop = Shop(root / "shop", dbt_cache=dbt_cache)
    switches = root / "switches"
    switches.mkdir()
    environment = shop.environment | {"TEST_SWITCHES": str(switches)}
    home = Home(root / "home", environment, template=home_template(session_folder))
    _one_run_at_a_time(home)
    with home.services(LOCATION, daemon=QUICK_DAEMON) as api:
        yield Services(shop, home, api, switches)


def _one_run_at_a_time(home: Home) -> None:
    """So that the sensor ticks between the runs that are asked for together."""
    instance = home.folder / "dagster.yaml"
    settings = yaml.safe_load(instance.read_text())
    settings["concurrency"]["runs"]["max_concurrent_runs"] = 1
    instance.write_text(yaml.safe_dump(settings))


@pytest.fixture
def began(services: Services) -> float:
    """The moment at which a test begins; each ends with nothing left to do for the sensor."""
    return time.time()


def test_a_backfill_of_thirty_days_is_one_refresh_after_its_end(
    services: Services, began: float
) -> None:
    """Of everything, as somebody selects it in the UI; one day fails (cases S2, S4, S7, B15)."""
    shop, api = services.shop, services.api
    days = _days("2026-03-09", 30)
    for day in days:
        shop.deliver_day(day)
    shop.withdraw("customers", days[-2])
    backfill = api.launch_backfill(api.asset_keys(), days)
    assert api.wait_for_backfill(backfill) == "COMPLETED_FAILED"
    (failed,) = api.backfill(backfill)["runs"]
    services.settle()
    (refresh,) = services.refreshes(since=began)
    assert refresh["status"] == "SUCCESS"
    assert refresh["started"] > api.runs()[failed["id"]]["ended"]
    assert refresh["tags"]["customer_pipeline/published"] == (
        f"{days[0]} ... {days[-1]} (29 partitions)"
    )
    assert refresh["tags"]["dagster/run_key"].startswith(
        refresh["tags"]["customer_pipeline/refresh"]
    )
    assert services.reported(*days[-2:]) == {days[-2]: 0, days[-1]: 3}

    # Repaired, together with days that were good: the backfill itself refreshes at its end, from
    # what it has published, and there is nothing left for the sensor.
    repaired_at = time.time()
    for day in days[-3:]:
        shop.deliver_day(day, orders=5)
    backfill = api.launch_backfill(api.asset_keys(), days[-3:])
    assert api.wait_for_backfill(backfill) == "COMPLETED_SUCCESS"
    services.settle()
    assert services.refreshes(since=repaired_at) == []
    published, reported = sorted(
        (api.runs()[run["id"]] for run in api.backfill(backfill)["runs"]),
        key=lambda run: run["started"],
    )
    assert published["ended"] <= reported["started"]
    assert services.reported(days[-1]) == {days[-1]: 5}


def test_days_that_are_run_one_by_one_are_one_refresh(services: Services, began: float) -> None:
    """Three runs, asked for at once, one of which fails (cases S1, S2, S8)."""
    days = _days("2026-05-01", 3)
    for day in days:
        services.shop.deliver_day(day)
    services.shop.withdraw("orders", days[1])
    ids = services.api.launch_days("daily_customer_pipeline", days)
    services.settle()
    runs = services.api.runs()
    assert [runs[run]["status"] for run in ids] == ["SUCCESS", "FAILURE", "SUCCESS"]
    (refresh,) = services.refreshes(since=began)
    assert refresh["started"] > max(runs[run]["ended"] for run in ids)
    assert refresh["tags"]["customer_pipeline/published"] == f"{days[0]}, {days[2]}"


def test_what_is_published_during_a_refresh_is_one_more_refresh(
    services: Services, began: float
) -> None:
    """Case S5: two days, while the first day's refresh is about to end."""
    first, *more = _days("2026-05-11", 3)
    for day in (first, *more):
        services.shop.deliver_day(day)
    services.switch("wait_after", on=True)
    assert run_days(services.shop, services.home, first).succeeded
    services.waiting_refresh()
    for day in more:
        assert run_days(services.shop, services.home, day).succeeded
    services.switch("wait_after", on=False)
    services.settle()
    assert [
        refresh["tags"]["customer_pipeline/published"]
        for refresh in services.refreshes(since=began)
    ] == [first, ", ".join(more)]


def test_a_refresh_whose_worker_was_killed_is_made_up_for_once(
    services: Services, began: float
) -> None:
    (day,) = _days("2026-05-21", 1)
    services.shop.deliver_day(day)
    services.switch("wait_before", on=True)
    assert run_days(services.shop, services.home, day).succeeded
    process = services.waiting_refresh()
    services.switch("wait_before", on=False)
    os.kill(process, signal.SIGKILL)
    services.settle()
    killed, again = services.refreshes(since=began)
    assert (killed["status"], again["status"]) == ("FAILURE", "SUCCESS")
    assert again["tags"]["dagster/parent_run_id"]
    assert services.reported(day) == {day: 3}


def test_nothing_is_lost_while_the_daemon_is_down_and_the_sensor_fails(
    services: Services, began: float
) -> None:
    """Two days from the command line, first loaded only (case S6), then published one by one."""
    shop, home = services.shop, services.home
    days = _days("2026-05-25", 2)
    for day in days:
        shop.deliver_day(day)
    assert run_days(shop, home, *days, only=["landing", "raw"]).succeeded
    services.settle()
    kill(home.daemon)
    for day in days:
        assert run_days(shop, home, day, only=["candidate", "validation", "marts"]).succeeded
    services.switch("sensor_fails", on=True)
    started = time.time()
    home.start_daemon(QUICK_DAEMON)

    def failed() -> bool:
        return any(tick["status"] == "FAILURE" for tick in services.ticks(since=started))

    wait_for(failed, seconds=90, what="a tick that fails")
    assert services.refreshes(since=began) == []
    services.switch("sensor_fails", on=False)
    services.settle()
    (refresh,) = services.refreshes(since=began)
    assert refresh["tags"]["customer_pipeline/published"] == ", ".join(days)
    assert services.reported(days[-1]) == {days[-1]: 3}


def test_a_run_of_everything_from_the_command_line_leaves_nothing_to_do(
    services: Services, began: float
) -> None:
    days = _days("2026-06-01", 2)
    for day in days:
        services.shop.deliver_day(day)
    services.home.materialize("--partition-range", "...".join(days))
    services.settle()
    assert services.refreshes(since=began) == []
    assert services.reported(days[-1]) == {days[-1]: 3}
