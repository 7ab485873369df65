"""What the dbt tests share: the project, parsed once, and a made-up shop's days, built once."""

from __future__ import annotations

import os
import shutil
from pathlib import Path
from unittest.mock import patch

import pytest
from dbt.cli.main import dbtRunner
from dbt.contracts.graph.manifest import Manifest
from dbt_call import PROJECT, Dbt, places
from duckdb_files import write_candidate, write_warehouse
from expected_tables import expected_marts
from probe_models import add_probe_models
from shop_days import LEDGER, Rows, shop_days

from customer_pipeline.warehouse.connection import Warehouse


@pytest.fixture(scope="session")
def dbt(tmp_path_factory: pytest.TempPathFactory) -> Dbt:
    folder = tmp_path_factory.mktemp("dbt")
    project = folder / "dbt_project"
    shutil.copytree(PROJECT, project, ignore=shutil.ignore_patterns("target", "logs"))
    add_probe_models(project / "models")
    with patch.dict(os.environ, CUSTOMER_PIPELINE_CANDIDATE=str(folder / "candidate.duckdb")):
        outcome = dbtRunner().invoke(["parse", *places(project, folder)])
    assert outcome.success, outcome.exception
    assert isinstance(outcome.result, Manifest)
    return Dbt(project, outcome.result.to_msgpack())


@pytest.fixture(scope="session")
def shop() -> Rows:
    return shop_days(seed=7)


@pytest.fixture(scope="session")
def built(dbt: Dbt, shop: Rows, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A candidate file with three days of the shop, built. Only to be read."""
    candidate = write_candidate(tmp_path_factory.mktemp("built"), shop)
    dbt.run(candidate)
    return candidate


@pytest.fixture
def candidate(built: Path, tmp_path: Path) -> Path:
    """A copy of `built`, to be changed."""
    return Path(shutil.copy(built, tmp_path))


@pytest.fixture(scope="session")
def warehouse(shop: Rows, tmp_path_factory: pytest.TempPathFactory) -> Warehouse:
    """A warehouse in which the shop's days are published. Only to be read."""
    path = tmp_path_factory.mktemp("published") / "warehouse.duckdb"
    return write_warehouse(path, shop, expected_marts(shop), LEDGER)
