"""The daily schedule: which day it asks for at which tick (cases T1, T2, T10, T11)."""

from __future__ import annotations

from datetime import date, datetime, timedelta
from pathlib import Path
from zoneinfo import ZoneInfo

import dagster as dg
import pytest

from customer_pipeline.orchestration.location import build_defs
from tests.support.dagster_processes import Home
from tests.support.runs import run_days
from tests.support.schedules import tick
from tests.support.shop import SOURCE, Shop
from tests.support.warehouse import content_hashes

NAME = "daily_customer_pipeline_schedule"
ZONES = ["Europe/London", "America/New_York", "Asia/Tokyo"]


class Schedule:
    """The schedule of a shop whose source begins (and ends) as given."""

    def __init__(self, root: Path, dbt_cache: Path, home: Home, *, zone: str, lines: str) -> None:
        shop = SOURCE.replace("timezone: Europe/London", f"timezone: {zone}")
        shop = shop.replace("start: 2026-03-01", lines)
        self.zone, self.home = ZoneInfo(zone), home
        self.repository = build_defs(
            Shop(root / zone, source=shop, dbt_cache=dbt_cache).settings
        ).get_repository_def()
        self.definition = self.repository.get_schedule_def(NAME)

    def tick(self, day: date, hour: int = 3) -> list[dg.RunRequest] | str:
        """What a tick on `day` asks for, or why it asks for nothing."""
        at = datetime(day.year, day.month, day.day, hour, tzinfo=self.zone)
        return tick(self.home, self.repository, NAME, at)


@pytest.fixture(params=ZONES)
def schedule(
    request: pytest.FixtureRequest, tmp_path: Path, dbt_cache: Path, home: Home
) -> Schedule:
    return Schedule(tmp_path, dbt_cache, home, zone=request.param, lines="start: 2025-10-01")


def test_it_runs_at_three_in_the_zone_of_the_source(schedule: Schedule) -> None:
    assert schedule.definition.cron_schedule == "0 3 * * *"
    assert schedule.definition.execution_timezone == schedule.zone.key


def test_a_tick_asks_for_the_day_that_just_closed_and_no_other(schedule: Schedule) -> None:
    (request,) = schedule.tick(date(2026, 3, 9))
    assert isinstance(request, dg.RunRequest)
    assert (request.partition_key, request.run_key) == ("2026-03-08", "2026-03-08")
    assert request.tags["dagster/priority"] == "10"
    assert request.tags["customer_pipeline/scheduled"] == "daily_customers"


@pytest.mark.parametrize("schedule", ["Europe/London"], indirect=True)
def test_moving_the_hour_does_not_run_a_day_twice(schedule: Schedule) -> None:
    """A schedule's run key holds back what the same tick asks for twice, and nothing else."""
    (request,) = schedule.tick(date(2026, 3, 9), 3)
    assert isinstance(request, dg.RunRequest)
    with schedule.home.instance() as instance:
        # It fails, since nothing is delivered: also then it is for a person to say what is next.
        run = schedule.repository.get_job("daily_customer_pipeline").execute_in_process(
            instance=instance,
            partition_key=request.partition_key,
            tags=request.tags,
            raise_on_error=False,
        )
    said = f"2026-03-08 has already been requested: run {run.run_id}"
    assert schedule.tick(date(2026, 3, 9), 4) == said
    (next_day,) = schedule.tick(date(2026, 3, 10), 4)
    assert next_day.partition_key == "2026-03-09"  # pyright: ignore[reportAttributeAccessIssue]


@pytest.mark.parametrize(
    ("schedule", "change"),
    [
        ("America/New_York", date(2026, 3, 8)),
        ("Europe/London", date(2026, 3, 29)),
        ("Europe/London", date(2025, 10, 26)),
        ("America/New_York", date(2025, 11, 2)),
        ("Asia/Tokyo", date(2026, 3, 29)),
    ],
    ids=["New York spring", "London spring", "London autumn", "New York autumn", "none in Tokyo"],
    indirect=["schedule"],
)
def test_around_a_change_of_clocks_each_day_is_asked_for_once(
    schedule: Schedule, change: date
) -> None:
    days = [change + timedelta(days=n) for n in range(-1, 3)]
    asked = [request for day in days for request in schedule.tick(day)]
    assert [request.partition_key for request in asked] == [  # pyright: ignore[reportAttributeAccessIssue]
        (day - timedelta(days=1)).isoformat() for day in days
    ]


@pytest.mark.parametrize(
    ("day", "said"),
    [
        (date(2026, 3, 1), "no day of the source shop is over yet"),
        (date(2026, 2, 27), "no day of the source shop is over yet"),
        (date(2026, 3, 6), "the source ended with 2026-03-04"),
        (date(2027, 1, 1), "the source ended with 2026-03-04"),
    ],
)
def test_before_the_first_day_and_after_the_last_it_skips_and_says_why(
    tmp_path: Path, dbt_cache: Path, home: Home, day: date, said: str
) -> None:
    lines = "start: 2026-03-01\nend: 2026-03-04"
    schedule = Schedule(tmp_path, dbt_cache, home, zone="Europe/London", lines=lines)
    assert schedule.tick(day) == said
    for n in (2, 5):
        (request,) = schedule.tick(date(2026, 3, n))
        assert request.partition_key == f"2026-03-0{n - 1}"  # pyright: ignore[reportAttributeAccessIssue]


@pytest.mark.usefixtures("without_dbt")
def test_a_day_by_the_schedule_by_hand_and_in_a_range_is_the_same_window_and_content(
    tmp_path: Path, dbt_cache: Path, home: Home, shop: Shop
) -> None:
    (asked,) = Schedule(
        tmp_path, dbt_cache, home, zone="Europe/London", lines="start: 2026-03-01"
    ).tick(date(2026, 3, 5))
    assert isinstance(asked, dg.RunRequest)
    assert asked.partition_key == "2026-03-04"
    for day in ("2026-03-04", "2026-03-05"):
        shop.deliver_day(day)
    found = []
    for ran in (
        run_days(shop, home, "2026-03-04", tags=asked.tags),
        run_days(shop, home, "2026-03-04"),
        run_days(shop, home, "2026-03-04", "2026-03-05"),
    ):
        assert ran.succeeded, ran.errors
        window = ran.metadata("landing/orders", "window")["2026-03-04"]
        found.append((window, content_hashes(shop.settings.warehouse_path)["2026-03-04"]))
    assert len(set(found)) == 1
    assert found[0][0] == "[2026-03-04T00:00:00+00:00, 2026-03-05T00:00:00+00:00)"
