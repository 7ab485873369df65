"""dbt started by a person, in the project's folder, with the warehouse at its usual place."""

from __future__ import annotations

import importlib.util
import shutil
import subprocess
import sys
from collections.abc import Iterator
from contextlib import closing, contextmanager
from pathlib import Path
from typing import Any

import duckdb
import pytest
from dbt.adapters.duckdb.connections import DuckDBConnectionManager
from dbt.cli.main import dbtRunner
from dbt_call import PROJECT, places
from dbt_common.exceptions import DbtRuntimeError
from duckdb_files import rows_of, tables, write_trips_warehouse
from expected_tables import expected_marts, expected_reporting
from made_tables import MARTS, REPORTING, TRIPS_MARTS, TRIPS_REPORTING
from shop_days import LAST_DAY
from taxi_months import expected_trips_marts, expected_trips_summary, taxi_months

from tests.support.shop import SOURCE, Shop
from tests.support.stages import run_stages

HOLD = """
import sys, time, duckdb
connection = duckdb.connect(sys.argv[1])
print("held", flush=True)
time.sleep(1.5)
"""


@pytest.fixture
def clone(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Path]:
    """A clone's folder, with dbt about to be started in its dbt_project. No data yet."""
    folder = tmp_path / "clone"
    ignored = shutil.ignore_patterns("target", "logs")
    shutil.copytree(PROJECT, folder / "dbt_project", ignore=ignored)
    monkeypatch.chdir(folder / "dbt_project")
    # dbt adds the plugin's folder to the path of this process, which has another clone's plugin.
    monkeypatch.setattr(sys, "path", [*sys.path])
    monkeypatch.delitem(sys.modules, "attach_warehouse", raising=False)
    monkeypatch.delitem(sys.path_importer_cache, "plugins", raising=False)
    for name in ("WAREHOUSE", "DATA_DIR", "LOCK_TIMEOUT"):
        monkeypatch.delenv(f"CUSTOMER_PIPELINE_{name}", raising=False)
    yield folder
    # A process that is about to end would not need this.
    DuckDBConnectionManager.close_all_connections()


def test_all_loaded_days_and_all_of_history_are_built_beside_the_warehouse(
    clone, built, warehouse, shop
):
    path = clone / "data" / "warehouse.duckdb"
    path.parent.mkdir()
    shutil.copy(warehouse.path, path)
    before = path.read_bytes()
    _build("daily_customers")
    file = clone / "data" / "by_hand" / "candidate.duckdb"
    assert tables(file, MARTS) == tables(built, MARTS)
    assert tables(file, REPORTING) == expected_reporting(expected_marts(shop), LAST_DAY)
    assert path.read_bytes() == before


def test_all_loaded_months_are_built_where_the_other_pipeline_has_loaded_nothing(clone):
    trips = taxi_months(seed=3)
    marts = expected_trips_marts(trips)
    write_trips_warehouse(clone / "data" / "warehouse.duckdb", trips, marts)
    _build("monthly_trips")
    file = clone / "data" / "by_hand" / "candidate.duckdb"
    assert tables(file, TRIPS_MARTS) == marts
    summary = expected_trips_summary(marts["trips_monthly"])
    assert tables(file, TRIPS_REPORTING) == {"trips_summary": summary}


def test_all_can_be_built_where_no_message_and_no_month_ever_came(
    clone, dbt_cache, tmp_path, monkeypatch
):
    source, _, _ = SOURCE.partition("  events:\n")
    shop = Shop(tmp_path / "shop", source=source, dbt_cache=dbt_cache)
    shop.deliver_day("2026-03-02", orders=3)
    assert run_stages(shop.pipeline, ["2026-03-02"], lake=False)
    monkeypatch.setenv("CUSTOMER_PIPELINE_DATA_DIR", str(shop.settings.data_dir))
    _build()
    file = shop.settings.data_dir / "by_hand" / "candidate.duckdb"
    made = [*MARTS, *REPORTING, *TRIPS_MARTS, *TRIPS_REPORTING]
    assert {name: len(rows_of(file, f"from main.{name}")) for name in made} == {
        "dim_customers": 3,
        "fct_orders": 3,
        "fct_events": 0,
        "daily_summary": 1,
        "sales_summary": 1,
        "customer_summary": 3,
        "entities_current": 0,
        "monthly_sales": 1,
        "trips_clean": 0,
        "trips_monthly": 0,
        "trips_summary": 0,
    }


def test_relative_paths_start_at_the_project_s_root_as_they_do_for_the_pipeline(clone, monkeypatch):
    trips = taxi_months(seed=3)
    marts = expected_trips_marts(trips)
    write_trips_warehouse(clone / "elsewhere" / "trips.duckdb", trips, marts)
    monkeypatch.setenv("CUSTOMER_PIPELINE_DATA_DIR", "data/trips")
    (clone / ".env").write_text("CUSTOMER_PIPELINE_WAREHOUSE=elsewhere/trips.duckdb\n")
    _build("monthly_trips")
    assert tables(clone / "data" / "trips" / "by_hand" / "candidate.duckdb", TRIPS_MARTS) == marts
    assert not (clone / "dbt_project" / "data").exists()


def test_a_missing_warehouse_is_named_with_what_to_do(dbt, clone):
    outcome = dbtRunner(manifest=dbt.manifest).invoke(
        ["run", *places(clone / "dbt_project", clone / "target", target="by_hand")]
    )
    assert f"there is no warehouse at {clone}/data/warehouse.duckdb (load" in str(outcome.exception)
    assert not (clone / "data").exists()


@pytest.fixture
def warehouse_by_hand(tmp_path, monkeypatch) -> Path:
    """Where a warehouse would be; there is none yet."""
    path = tmp_path / "somebody's warehouse.duckdb"
    monkeypatch.setenv("CUSTOMER_PIPELINE_WAREHOUSE", str(path))
    return path


def test_a_held_warehouse_is_waited_for(warehouse_by_hand):
    with _held(warehouse_by_hand), closing(duckdb.connect()) as connection:
        _plugin().configure_connection(connection)
        databases = connection.execute("show databases").fetchall()
    assert ("warehouse",) in databases


def test_it_is_waited_for_no_longer_than_the_settings_say(warehouse_by_hand, monkeypatch):
    monkeypatch.setenv("CUSTOMER_PIPELINE_LOCK_TIMEOUT", "0")
    with (
        _held(warehouse_by_hand),
        closing(duckdb.connect()) as connection,
        pytest.raises(DbtRuntimeError, match="close what holds it"),
    ):
        _plugin().configure_connection(connection)


def test_a_warehouse_that_is_no_database_is_told_at_once(warehouse_by_hand):
    warehouse_by_hand.write_text("not a database" * 1000)
    with (
        closing(duckdb.connect()) as connection,
        pytest.raises(DbtRuntimeError, match=r"warehouse\.duckdb cannot be opened for reading"),
    ):
        _plugin().configure_connection(connection)


@contextmanager
def _held(warehouse: Path) -> Iterator[None]:
    """Another process holds it, for a moment."""
    with subprocess.Popen(
        [sys.executable, "-c", HOLD, str(warehouse)], stdout=subprocess.PIPE
    ) as holder:
        assert holder.stdout is not None
        assert holder.stdout.readline() == b"held\n"
        yield


def _build(pipeline: str | None = None) -> None:
    chosen = ["--select", pipeline, f"{pipeline}_reporting"] if pipeline else []
    outcome = dbtRunner().invoke(["build", *chosen, "--log-level=none"])
    results: Any = outcome.result or ()
    wrong = {one.node.name: one.message for one in results if one.status in ("error", "fail")}
    assert outcome.success, outcome.exception or wrong


def _plugin() -> Any:
    path = PROJECT / "plugins" / "attach_warehouse.py"
    spec = importlib.util.spec_from_file_location("attach_warehouse", path)
    assert spec is not None
    assert spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module.Plugin("attach_warehouse", {})
