"""Seven months of a real shop, in one run and in many, against numbers that the pipeline had no part
in."""

from __future__ import annotations

import csv
import random
import shutil
from collections import Counter, defaultdict
from collections.abc import Callable, Iterator, Sequence
from decimal import Decimal
from pathlib import Path
from typing import Any

import pytest

from customer_pipeline.orchestration.location import build_pipeline
from customer_pipeline.orchestration.pipeline import Pipeline
from customer_pipeline.reporting import refresh
from customer_pipeline.settings import PACKAGE, Settings
from customer_pipeline.stages import transform
from tests.support.compiled_models import CompiledModels
from tests.support.dagster_processes import PROJECT, Home
from tests.support.stages import refresh_reporting, run_stages
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

# By name, what becomes of the days in the order of the calendar.
ORDERS: dict[str, Callable[[Sequence[str]], list[str]]] = {
    "oldest first": list,
    "newest first": lambda days: list(reversed(days)),
    "shuffled": lambda days: random.Random(20101201).sample(days, len(days)),
}
DAYS_A_RUN = 25
RUNS_BETWEEN_REFRESHES = 3

Tables = dict[str, Counter[tuple[Any, ...]]]


@pytest.fixture(scope="module")
def deliveries(test_data: Path, tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("online_retail")
    shutil.unpack_archive(test_data / "online_retail" / "dev_2010-12_to_2011-06.tar.gz", folder)
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


@pytest.fixture(scope="module")
def pipeline_in(
    deliveries: Path, dbt_cache: Path, session_folder: Path
) -> Iterator[Callable[[Path], Pipeline]]:
    """Makes a pipeline over the deliveries with its data in a folder, for runs without Dagster."""
    models = CompiledModels.of(PROJECT / "dbt_project", session_folder / "models")
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("ONLINE_RETAIL_DIR", str(deliveries))
        patch.setattr(transform, "build", models.build)
        patch.setattr(refresh, "build", models.build)

        def make(folder: Path) -> Pipeline:
            (folder / ".dbt").symlink_to(dbt_cache)
            source = PACKAGE / "source" / "online_retail.yaml"
            return build_pipeline(Settings(source=source, data_dir=folder, warehouse=None))

        yield make


def load(pipeline: Pipeline, order: str) -> None:
    """Load all days in this order, a few a run, with refreshes of the reporting tables between."""
    days = ORDERS[order](pipeline.partitions.keys_between("2010-12-01", "2011-06-30"))
    for run, first in enumerate(range(0, len(days), DAYS_A_RUN), start=1):
        run_stages(pipeline, days[first : first + DAYS_A_RUN])
        if run % RUNS_BETWEEN_REFRESHES == 0:
            refresh_reporting(pipeline)
    refresh_reporting(pipeline)


def tables(pipeline: Pipeline) -> Tables:
    """All rows that users read: marts, lake and reporting tables."""
    path = pipeline.warehouse.path
    names = query(
        path,
        "select schema_name || '.' || table_name from duckdb_tables()"
        " where schema_name in ('marts', 'reporting')",
    )
    found = {name: Counter(query(path, f"from {name}")) for (name,) in names}
    with (
        pipeline.warehouse.read() as connection,
        pipeline.lake.relations(connection, pipeline.marts) as relations,
    ):
        for mart, relation in relations.items():
            rows = connection.execute(f"from {relation}").fetchall()
            found[f"lake/{mart}"] = Counter(rows)
    return found


@pytest.fixture(scope="module")
def oldest_first(
    pipeline_in: Callable[[Path], Pipeline], tmp_path_factory: pytest.TempPathFactory
) -> Pipeline:
    """All days, as schedules would have loaded them."""
    pipeline = pipeline_in(tmp_path_factory.mktemp("oldest_first"))
    load(pipeline, "oldest first")
    return pipeline


@pytest.mark.parametrize("order", ["newest first", "shuffled"])
def test_the_order_in_which_days_are_loaded_leaves_no_trace(
    order: str,
    oldest_first: Pipeline,
    pipeline_in: Callable[[Path], Pipeline],
    tmp_path: Path,
) -> None:
    pipeline = pipeline_in(tmp_path)
    load(pipeline, order)
    found, expected = tables(pipeline), tables(oldest_first)
    assert found.keys() == expected.keys()
    assert [name for name, rows in found.items() if rows != expected[name]] == []


def test_what_users_read_is_the_same_in_warehouse_and_lake(oldest_first: Pipeline) -> None:
    found = tables(oldest_first)
    for mart in oldest_first.marts:
        assert found[f"lake/{mart}"] == found[f"marts.{mart}"]


def test_months_add_up_to_the_true_numbers(
    oldest_first: Pipeline, truth: dict[str, tuple[Decimal, ...]]
) -> None:
    added = [name for name in COLUMNS if name not in ("customers", "lines_without_customer")]
    expected: dict[str, dict[str, Decimal]] = defaultdict(lambda: dict.fromkeys(added, Decimal()))
    for day, numbers in truth.items():
        for name, number in zip(COLUMNS, numbers, strict=True):
            if name in added:
                expected[day[:7]][name] += number
    rows = query(
        oldest_first.warehouse.path,
        f"select month::varchar, {', '.join(added)} from reporting.monthly_sales",
    )
    assert {
        month[:7]: dict(zip(added, numbers, strict=True)) for month, *numbers in rows
    } == expected
