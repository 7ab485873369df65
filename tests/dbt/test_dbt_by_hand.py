"""dbt started by a person, in the project's folder, with the warehouse at its usual place."""

from __future__ import annotations

import importlib.util
import shutil
import subprocess
import sys
from collections.abc import Iterator
from contextlib import closing
from pathlib import Path
from typing import Any

import duckdb
import pytest
from dbt.adapters.duckdb.connections import DuckDBConnectionManager
from dbt.cli.main import dbtRunner
from dbt_call import OF_THE_PROJECT, PROJECT, Dbt, places, tables, write_candidate
from dbt_common.exceptions import DbtRuntimeError

# One worker, since the project is parsed once per worker.
pytestmark = pytest.mark.xdist_group("dbt_project")

HOLD = """
import sys, time, duckdb
connection = duckdb.connect(sys.argv[1])
print("held", flush=True)
time.sleep(1.5)
"""


@pytest.fixture
def clone(dbt: Dbt, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Path]:
    """A clone's folder, with dbt about to be started in its dbt_project. No data yet."""
    folder = tmp_path / "clone"
    shutil.copytree(dbt.project, folder / "dbt_project")
    monkeypatch.chdir(folder / "dbt_project")
    # dbt adds the plugin's folder to the path of this process.
    monkeypatch.setattr(sys, "path", [*sys.path])
    for name in ("CANDIDATE", "WAREHOUSE", "DATA_DIR"):
        monkeypatch.delenv(f"CUSTOMER_PIPELINE_{name}", raising=False)
    yield folder
    # A process that is about to end would not need this.
    DuckDBConnectionManager.close_all_connections()


def test_all_loaded_days_are_built_beside_the_warehouse(clone, built, shop):
    warehouse = clone / "data" / "warehouse.duckdb"
    warehouse.parent.mkdir()
    write_candidate(clone, *shop).rename(warehouse)
    before = warehouse.read_bytes()
    outcome = dbtRunner().invoke(["build", *OF_THE_PROJECT, "--log-level=none"])
    assert outcome.success, outcome.exception
    assert tables(clone / "data" / "by_hand" / "candidate.duckdb") == tables(built)
    assert warehouse.read_bytes() == before


def test_a_missing_warehouse_is_named_with_what_to_do(dbt, clone):
    outcome = dbtRunner(manifest=dbt.manifest).invoke(
        ["run", *places(clone / "dbt_project", clone / "target", target="by_hand")]
    )
    assert f"there is no warehouse at {clone}/data/warehouse.duckdb (load" in str(outcome.exception)
    assert not (clone / "data").exists()


def test_a_held_warehouse_is_waited_for(tmp_path):
    warehouse = tmp_path / "somebody's warehouse.duckdb"
    with subprocess.Popen(
        [sys.executable, "-c", HOLD, str(warehouse)], stdout=subprocess.PIPE
    ) as holder:
        assert holder.stdout is not None
        assert holder.stdout.readline() == b"held\n"
        with closing(duckdb.connect()) as connection:
            _plugin(warehouse).configure_connection(connection)
            databases = connection.execute("show databases").fetchall()
    assert ("warehouse",) in databases


def test_a_warehouse_that_is_no_database_is_told_at_once(tmp_path):
    warehouse = tmp_path / "warehouse.duckdb"
    warehouse.write_text("not a database" * 1000)
    with (
        closing(duckdb.connect()) as connection,
        pytest.raises(DbtRuntimeError, match=r"warehouse\.duckdb cannot be opened for reading"),
    ):
        _plugin(warehouse).configure_connection(connection)


def _plugin(warehouse: Path) -> Any:
    path = PROJECT / "plugins" / "attach_warehouse.py"
    spec = importlib.util.spec_from_file_location("attach_warehouse", path)
    assert spec is not None
    assert spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module.Plugin("attach_warehouse", {"warehouse": str(warehouse)})
