"""Seven months of a real shop, in one run, against numbers that the pipeline had no part in."""

from __future__ import annotations

import csv
import tarfile
from decimal import Decimal
from pathlib import Path
from typing import Any

import pytest

from customer_pipeline.settings import PACKAGE
from tests.support.dagster_processes import Home
from tests.support.warehouse import content_hashes, query

pytestmark = pytest.mark.slow

# Columns of marts.daily_summary, and what the truth calls them.
COLUMNS = {
    "order_lines": "lines",
    "orders": "invoices",
    "cancelled_orders": "cancelled_invoices",
    "customers": "distinct_customers",
    "lines_without_customer": "lines_no_customer",
    "gross_sales": "gross_sales",
    "cancelled_sales": "cancel_value",
    "net_sales": "net_all_lines",
}


@pytest.fixture(scope="module")
def deliveries(test_data: Path, tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("online_retail")
    with tarfile.open(test_data / "online_retail" / "dev_2010-12_to_2011-06.tar.gz") as archive:
        archive.extractall(folder, filter="data")
    return folder / "by-day"


@pytest.fixture(scope="module")
def truth(test_data: Path) -> dict[str, tuple[Decimal, ...]]:
    with (test_data / "online_retail" / "expected_by_day_dev.csv").open(newline="") as file:
        return {
            row["date"]: tuple(Decimal(row[name]) for name in COLUMNS.values())
            for row in csv.DictReader(file)
        }


def environment(folder: Path, deliveries: Path) -> dict[str, str]:
    return {
        "CUSTOMER_PIPELINE_SOURCE": str(PACKAGE / "source" / "online_retail.yaml"),
        "CUSTOMER_PIPELINE_DATA_DIR": str(folder / "data"),
        "CUSTOMER_PIPELINE_MAX_RETRIES": "0",
        "ONLINE_RETAIL_DIR": str(deliveries),
    }


@pytest.fixture(scope="module")
def warehouse(tmp_path_factory: pytest.TempPathFactory, deliveries: Path) -> Path:
    """All days in one run."""
    folder = tmp_path_factory.mktemp("one_run")
    home = Home(folder / "home", environment(folder, deliveries))
    home.materialize("--partition-range", "2010-12-01...2011-06-30")
    return folder / "data" / "warehouse.duckdb"


def test_every_delivered_day_is_published_and_the_others_are_empty_by_rule(
    warehouse: Path, truth: dict[str, Any]
) -> None:
    found = query(warehouse, "select partition_key, status, quarantined_rows from ops.partitions")
    assert {key for key, status, _ in found if status == "published"} == set(truth)
    assert sorted(status for _, status, _ in found) == ["empty"] * 45 + ["published"] * 167
    assert {quarantined for *_, quarantined in found} == {0}


def test_every_day_has_the_true_numbers_to_the_last_digit(
    warehouse: Path, truth: dict[str, tuple[Decimal, ...]]
) -> None:
    rows = query(warehouse, f"select _date::varchar, {', '.join(COLUMNS)} from marts.daily_summary")
    assert {row[0]: row[1:] for row in rows} == truth


def test_ranges_in_another_order_leave_the_same_content(
    warehouse: Path, deliveries: Path, tmp_path: Path
) -> None:
    home = Home(tmp_path / "home", environment(tmp_path, deliveries))
    for arguments in (
        ("--partition-range", "2011-06-01...2011-06-30"),
        ("--partition", "2011-06-09"),
        ("--partition-range", "2010-12-01...2011-06-10"),
    ):
        home.materialize(*arguments)
    assert content_hashes(tmp_path / "data" / "warehouse.duckdb") == content_hashes(warehouse)
