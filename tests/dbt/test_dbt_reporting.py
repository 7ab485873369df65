"""What the reporting models of the shop compute from published marts, and what their data tests find,
with real dbt called as a refresh calls it.

What does not belong here: when they are built, and how they come into the warehouse
(`tests/orchestration/test_reporting_assets.py`).
"""

from __future__ import annotations

import shutil
from pathlib import Path

import pytest
from dbt_call import DAILY_REPORTING, PROJECT
from duckdb_files import rows_of, tables, types, write_warehouse
from expected_tables import expected_marts, expected_reporting
from made_tables import MARTS, REPORTING
from shop_days import DAYS, LAST_DAY, Rows

from customer_pipeline.dbt_adapter.invocation import build
from customer_pipeline.dbt_adapter.manifest import DbtProject
from customer_pipeline.warehouse.connection import Warehouse

FOLDER = "daily_customers_reporting"


def build_and_test(project: DbtProject, file: Path, warehouse: Warehouse) -> list[str]:
    """Makes the file as a refresh does; returns the names of the tests that found failing rows."""
    results = build(project, file, folder=FOLDER, reading=warehouse)
    tests = project.tests_of(FOLDER)
    return [test.name for test in tests if not results[test.unique_id].passed]


@pytest.fixture(scope="session")
def project(dbt_cache: Path) -> DbtProject:
    return DbtProject(PROJECT, dbt_cache)


@pytest.fixture(scope="session")
def reporting(
    project: DbtProject, warehouse: Warehouse, tmp_path_factory: pytest.TempPathFactory
) -> Path:
    """The reporting tables of the shop's published days. Only to be read."""
    file = tmp_path_factory.mktemp("reporting") / "candidate.duckdb"
    assert build_and_test(project, file, warehouse) == []
    return file


def test_models_compute_what_a_slow_reading_of_the_marts_gives(reporting, shop):
    assert tables(reporting, REPORTING) == expected_reporting(expected_marts(shop), LAST_DAY)


def test_the_shop_has_customers_who_only_cancelled_and_two_months(reporting):
    """What the test above rests on."""
    days = "select min(days_since_last_order), count(*) - count(last_order_at) > 0"
    assert rows_of(reporting, f"{days} from main.customer_summary") == [
        ((LAST_DAY - DAYS[-1]).days, True)
    ]
    assert rows_of(reporting, "select days from main.monthly_sales order by month") == [(1,), (2,)]


def test_tables_have_exactly_their_columns_and_types(reporting):
    assert types(reporting, REPORTING) == {
        name: list(columns.items()) for name, columns in REPORTING.items()
    }


def test_published_days_without_rows_give_empty_tables_that_pass_all_tests(project, tmp_path):
    nothing = {name: [] for name in MARTS}
    warehouse = write_warehouse(tmp_path / "warehouse.duckdb", Rows(), nothing, {LAST_DAY: "empty"})
    file = tmp_path / "candidate.duckdb"
    assert build_and_test(project, file, warehouse) == []
    assert tables(file, REPORTING) == {name: [] for name in REPORTING}


def test_orders_of_a_day_that_the_ledger_does_not_know_fail_a_test(project, shop, tmp_path):
    path = tmp_path / "warehouse.duckdb"
    warehouse = write_warehouse(path, shop, expected_marts(shop), {DAYS[0]: "published"})
    failed = build_and_test(project, tmp_path / "candidate.duckdb", warehouse)
    assert failed == ["the_last_order_is_not_after_the_last_published_day"]


def test_each_data_test_can_fail(dbt, reporting, tmp_path):
    file = Path(shutil.copy(reporting, tmp_path))
    # What no warehouse can bring about, since the models rule it out.
    for table in REPORTING:
        rows_of(file, f"insert into main.{table} from main.{table}")
    for damage in (
        "insert into main.customer_summary (customer_id) values (null)",
        "update main.customer_summary set days_since_last_order = -1",
        "insert into main.entities_current (entity_id) values (null)",
    ):
        rows_of(file, damage)
    assert dbt.test(file, *DAILY_REPORTING).keys() == dbt.own("test", FOLDER).keys()
