"""What the models of the monthly trips compute, and what their tests and rules find, with real dbt."""

from __future__ import annotations

import shutil
from collections.abc import Sequence
from dataclasses import replace
from datetime import timedelta
from decimal import Decimal
from pathlib import Path

import pytest
from dbt_call import PROJECT, TRIPS, TRIPS_REPORTING, Dbt
from duckdb_files import rows_of, tables, types, write_trips_candidate, write_trips_warehouse
from made_tables import TRIPS_MARTS
from made_tables import TRIPS_REPORTING as REPORTING_TABLES
from taxi_months import (
    MONTHS,
    Trip,
    expected_trips_marts,
    expected_trips_summary,
    taxi_months,
)

from customer_pipeline.dbt_adapter.invocation import build
from customer_pipeline.dbt_adapter.manifest import DbtProject
from customer_pipeline.warehouse.connection import Warehouse

PIPELINE = "monthly_trips"
BAD_MONTH = MONTHS[1]


@pytest.fixture(scope="module")
def trips() -> list[Trip]:
    return taxi_months(seed=3)


@pytest.fixture(scope="module")
def built(dbt: Dbt, trips: Sequence[Trip], tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A candidate file with all months, built. Only to be read."""
    return _built(dbt, tmp_path_factory.mktemp("trips"), trips)


@pytest.fixture
def candidate(built: Path, tmp_path: Path) -> Path:
    """A copy of `built`, to be changed."""
    return Path(shutil.copy(built, tmp_path))


def test_models_compute_what_a_slow_reading_of_the_trips_gives(built, trips):
    assert tables(built, TRIPS_MARTS) == expected_trips_marts(trips)


def test_averages_have_a_half_in_the_digit_that_is_rounded_off(built):
    """What the test above rests on."""
    halves = "select count(*) from (select sum(distance) * 10000 as d from main.trips_clean"
    sums = f"{halves} group by _date) where cast(d as hugeint) % 160 = 80"
    assert rows_of(built, sums) == [(len(MONTHS),)]


def test_marts_have_exactly_their_columns_and_types(built):
    assert types(built, TRIPS_MARTS) == {
        name: list(columns.items()) for name, columns in TRIPS_MARTS.items()
    }


def test_months_built_one_by_one_are_the_months_built_together(dbt, built, trips, tmp_path):
    one_by_one: dict[str, list[tuple]] = {name: [] for name in TRIPS_MARTS}
    for month in reversed(MONTHS):
        of_month = [trip for trip in trips if trip._date == month]
        file = _built(dbt, tmp_path / str(month), list(reversed(of_month)))
        for name, rows in tables(file, TRIPS_MARTS).items():
            one_by_one[name] += rows
    assert {name: sorted(rows, key=repr) for name, rows in one_by_one.items()} == tables(
        built, TRIPS_MARTS
    )


def test_a_window_without_trips_builds_empty_tables_that_pass_all_tests(dbt, tmp_path):
    candidate = _built(dbt, tmp_path, [])
    assert tables(candidate, TRIPS_MARTS) == {name: [] for name in TRIPS_MARTS}
    assert dbt.failing_rows(candidate, *TRIPS) == {}


def test_good_months_pass_all_data_tests_and_all_reconciliation_rules(dbt, candidate):
    assert dbt.failing_rows(candidate, *TRIPS) == {}
    assert dbt.broken_rules(candidate, MONTHS, PIPELINE) == set()


def test_each_data_test_can_fail_and_blames_only_the_month(dbt, trips, tmp_path):
    trip = next(trip for trip in trips if trip._date == BAD_MONTH)
    bad = [
        replace(trip, _line=900, distance=None),
        replace(trip, _line=901, dropped_off_at=trip.picked_up_at - timedelta(seconds=1)),
        replace(trip, _line=902, payment_type="9"),
        replace(trip, _line=903),
        replace(trip, _line=903, total_amount=Decimal(1)),
        replace(trip, _line=None),
    ]
    candidate = _built(dbt, tmp_path, [*trips, *bad])
    # And what no delivery can bring about, since the models rule it out.
    for damage in (
        "insert into main.trips_monthly from main.trips_monthly where _date = ?",
        "update main.trips_monthly set cash_trips = trips + 1 where _date = ?",
    ):
        rows_of(candidate, damage, [BAD_MONTH])
    failing = dbt.failing_rows(candidate, *TRIPS)
    assert {test: list(months) for test, months in failing.items()} == {
        test: [BAD_MONTH] for test in dbt.own("test", PIPELINE)
    }


def test_what_is_odd_but_no_mistake_of_the_delivery_is_a_warning(dbt):
    severe = {name: node.config.severity for name, node in dbt.own("test", PIPELINE).items()}
    assert {name for name, severity in severe.items() if severity == "warn"} == {
        "a_payment_is_of_a_known_type",
        "a_trip_does_not_end_before_it_begins",
    }


@pytest.mark.parametrize("model", TRIPS_MARTS)
def test_every_reconciliation_rule_of_a_model_notices_a_month_that_the_model_lost(
    dbt, candidate, model
):
    rows_of(candidate, f"delete from main.{model} where _date = ?", [BAD_MONTH])
    broken = dbt.broken_rules(candidate, MONTHS, PIPELINE)
    stated = {rule.check for rule in dbt.rules(PIPELINE) if rule.model == model}
    assert stated
    assert stated <= {check for check, _ in broken}
    assert {month for _, month in broken} == {str(BAD_MONTH)}


@pytest.fixture(scope="module")
def summary(
    dbt_cache: Path, trips: Sequence[Trip], tmp_path_factory: pytest.TempPathFactory
) -> Path:
    """The reporting table of all published months. Only to be read."""
    folder = tmp_path_factory.mktemp("summary")
    path = folder / "warehouse.duckdb"
    warehouse = write_trips_warehouse(path, trips, expected_trips_marts(trips))
    return _summary(dbt_cache, folder / "candidate.duckdb", warehouse)


def test_the_summary_is_what_a_slow_reading_of_the_months_gives(summary, trips):
    months = expected_trips_marts(trips)["trips_monthly"]
    rows = tables(summary, REPORTING_TABLES)["trips_summary"]
    assert rows == expected_trips_summary(months)
    assert [before is not None for *_, before, _ in rows] == [False, False, True, False]


def test_the_summary_has_exactly_its_columns_and_types(summary):
    assert types(summary, REPORTING_TABLES) == {
        name: list(columns.items()) for name, columns in REPORTING_TABLES.items()
    }


def test_without_a_published_month_the_summary_is_empty(dbt_cache, tmp_path):
    path = tmp_path / "warehouse.duckdb"
    warehouse = write_trips_warehouse(path, [], expected_trips_marts([]))
    file = _summary(dbt_cache, tmp_path / "candidate.duckdb", warehouse)
    assert tables(file, REPORTING_TABLES) == {"trips_summary": []}


def test_each_data_test_of_the_summary_can_fail(dbt, summary, tmp_path):
    file = Path(shutil.copy(summary, tmp_path))
    rows_of(file, "insert into main.trips_summary from main.trips_summary")
    assert (
        dbt.test(file, *TRIPS_REPORTING).keys() == dbt.own("test", f"{PIPELINE}_reporting").keys()
    )


def test_each_pipeline_reads_the_raw_tables_of_its_own_folder(dbt_cache):
    project = DbtProject(PROJECT, dbt_cache)
    assert project.raw_tables_of("daily_customers").keys() == {"customers", "orders", "events"}
    assert project.raw_tables_of(PIPELINE).keys() == {"trips"}


def _built(dbt: Dbt, folder: Path, trips: Sequence[Trip]) -> Path:
    file = write_trips_candidate(folder, trips)
    dbt.run(file, TRIPS, makes=TRIPS_MARTS)
    return file


def _summary(dbt_cache: Path, file: Path, warehouse: Warehouse) -> Path:
    project, folder = DbtProject(PROJECT, dbt_cache), f"{PIPELINE}_reporting"
    results = build(project, file, folder=folder, reading=warehouse)
    assert all(results[test.unique_id].passed for test in project.tests_of(folder))
    return file
