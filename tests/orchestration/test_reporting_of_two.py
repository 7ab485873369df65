"""The reporting tables of two pipelines: one job for all of them, each brought up to its own days or
months."""

from __future__ import annotations

from pathlib import Path

import dagster as dg
import pytest

from customer_pipeline.dbt_adapter.manifest import DbtProject
from customer_pipeline.orchestration.location import build_defs
from customer_pipeline.pipelines import DAILY, MONTHLY
from tests.support.dagster_processes import Home
from tests.support.months import RideShop
from tests.support.runs import refresh_reporting, run_days
from tests.support.stages import run_stages

MONTH, DAY = "2026-02-01", "2026-03-02"
MONTHS_TABLE = "reporting/monthly_rides_ever"
DAYS_TABLE = "reporting/monthly_sales"


@pytest.fixture
def both(tmp_path: Path, rides: DbtProject) -> RideShop:
    shop = RideShop(tmp_path / "rides", models=rides, specs=(DAILY, MONTHLY))
    shop.deliver_rides(MONTH)
    shop.deliver_day(DAY)
    run_stages(shop.pipelines[MONTHLY.name], [MONTH], lake=False)
    return shop


def _asked(shop: RideShop, home: Home) -> list[set[str]]:
    """The tables of each refresh that a tick of the sensor asks for."""
    repository = build_defs(shop.settings).get_repository_def()
    sensor = repository.get_sensor_def("reporting_on_publish")
    with (
        home.instance() as instance,
        dg.build_sensor_context(instance, repository_def=repository) as context,
    ):
        requests = sensor.evaluate_tick(context).run_requests or []
    return [{key.to_user_string() for key in one.asset_selection or ()} for one in requests]


def test_a_pipeline_that_has_published_nothing_is_left_out(both: RideShop, home: Home) -> None:
    ran = refresh_reporting(both, home)
    assert ran.succeeded, ran.errors
    assert ran.materialized(MONTHS_TABLE) == [None]
    assert ran.materialized(DAYS_TABLE) == []


def test_each_is_asked_for_by_itself_and_a_refresh_of_all_is_for_both(
    both: RideShop, home: Home
) -> None:
    assert _asked(both, home) == [{MONTHS_TABLE}]
    assert refresh_reporting(both, home).succeeded
    assert _asked(both, home) == []
    run_stages(both.pipelines[DAILY.name], [DAY], lake=False)
    ((tables),) = _asked(both, home)
    assert DAYS_TABLE in tables
    assert MONTHS_TABLE not in tables
    ran = refresh_reporting(both, home)
    assert (ran.materialized(MONTHS_TABLE), ran.materialized(DAYS_TABLE)) == ([None], [None])
    assert _asked(both, home) == []


def test_a_table_that_somebody_picks_is_the_one_that_shows(both: RideShop, home: Home) -> None:
    run_stages(both.pipelines[DAILY.name], [DAY], lake=False)
    job = build_defs(both.settings).resolve_job_def("reporting_refresh")
    with home.instance() as instance:
        result = job.execute_in_process(
            instance=instance, asset_selection=[dg.AssetKey(["reporting", "monthly_sales"])]
        )
    found = [event.asset_key for event in result.get_asset_materialization_events()]
    assert found == [dg.AssetKey(["reporting", "monthly_sales"])]
    # All of its pipeline are made together, so that they never contradict each other.
    assert _asked(both, home) == [{MONTHS_TABLE}]


def test_a_run_by_the_job_of_the_months_has_nothing_to_do_with_days(
    both: RideShop, home: Home
) -> None:
    assert run_days(both, home, MONTH, job_name=MONTHLY.job).succeeded
    assert both.pipelines[DAILY.name].warehouse.exists
    assert _asked(both, home) == [{MONTHS_TABLE}]
