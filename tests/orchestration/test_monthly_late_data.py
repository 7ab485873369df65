"""Corrections of months, beside those of days: each is looked for as far back as is usual for it."""

from __future__ import annotations

from pathlib import Path

from customer_pipeline.dbt_adapter.manifest import DbtProject
from customer_pipeline.pipelines import DAILY, MONTHLY
from tests.support.dagster_processes import Home
from tests.support.late_desk import END, START, LateDesk
from tests.support.months import RideShop
from tests.support.stages import run_stages


def test_months_and_days_are_looked_at_each_in_their_own_time(
    tmp_path: Path, rides: DbtProject, home: Home
) -> None:
    shop = RideShop(tmp_path / "rides", models=rides, specs=(DAILY, MONTHLY))
    text = shop.source_path.read_text()
    shop.source_path.write_text(text.replace("timezone:", "end: 2026-03-31\ntimezone:"))
    months, days = ["2026-01-01", "2026-02-01", "2026-03-01"], ["2026-03-30", "2026-03-31"]
    for month in months:
        shop.deliver_rides(month)
    for day in days:
        shop.deliver_day(day)
    run_stages(shop.pipelines["monthly_trips"], months, lake=False)
    run_stages(shop.pipelines["daily_customers"], days, lake=False)
    with home.instance() as instance:
        desk = LateDesk(shop, instance)
        assert desk.tick() == []
        # Of months, the newest two are looked at.
        for month in months:
            shop.deliver_rides(month, rides=9)
        desk.correct(days[1], orders=9)
        asked = [(one.job_name, one.tags[START], one.tags[END]) for one in desk.requests()]
        assert asked == [
            ("daily_customer_pipeline", days[1], days[1]),
            ("monthly_trips_pipeline", months[1], months[2]),
        ]
        assert desk.tick() == []
