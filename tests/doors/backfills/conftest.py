"""What the tests of `customer-pipeline backfill` with a daemon share: the services, once for all of
them, over one shop in which each test has days of its own.
"""

from __future__ import annotations

import shutil
from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.conftest import PROJECT
from tests.support.backfills import Services
from tests.support.compiled_models import CompiledModels
from tests.support.dagster_processes import Home, home_template
from tests.support.gates import Gates
from tests.support.shop import Shop


@pytest.fixture(scope="package")
def services(
    tmp_path_factory: pytest.TempPathFactory, session_folder: Path, dbt_cache: Path
) -> Iterator[Services]:
    root = tmp_path_factory.mktemp("backfills")
    models, gates = session_folder / "models", root / "gates"
    CompiledModels.of(PROJECT / "dbt_project", models)
    gates.mkdir()
    shop = Shop(root / "shop", dbt_cache=dbt_cache)
    environment = shop.environment | {"TEST_GATES": str(gates), "TEST_MODELS": str(models)}
    home = Home(root / "home", environment, template=home_template(session_folder))
    with home.services("tests.support.location_with_gates", daemon=Services.daemon) as api:
        yield Services(shop, home, Gates(gates), api)
        # A test that failed may have left runs behind that wait.
        shutil.rmtree(gates)
