"""What the tests of the Dagster layer share: a shop, and a Dagster home, in this process."""

from __future__ import annotations

from pathlib import Path

import pytest

from customer_pipeline.reporting import refresh
from customer_pipeline.stages import transform
from tests.conftest import PROJECT
from tests.support.compiled_models import CompiledModels
from tests.support.dagster_processes import Home, home_template
from tests.support.shop import Shop


@pytest.fixture
def shop(tmp_path: Path, dbt_cache: Path) -> Shop:
    return Shop(tmp_path / "shop", dbt_cache=dbt_cache)


@pytest.fixture
def home(tmp_path: Path, session_folder: Path, shop: Shop) -> Home:
    return Home(tmp_path / "home", shop.environment, template=home_template(session_folder))


@pytest.fixture
def terminal(shop: Shop, without_dbt: None, monkeypatch: pytest.MonkeyPatch) -> Shop:
    """A shop whose commands can be typed, in 80 columns and without a Dagster home."""
    for name, value in (shop.environment | {"COLUMNS": "80"}).items():
        monkeypatch.setenv(name, value)
    monkeypatch.delenv("DAGSTER_HOME", raising=False)
    return shop


@pytest.fixture
def without_dbt(session_folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """The real models without dbt's seconds, for tests in which dbt itself does not matter."""
    models = CompiledModels.of(PROJECT / "dbt_project", session_folder / "models")
    monkeypatch.setattr(transform, "build", models.build)
    monkeypatch.setattr(refresh, "build", models.build)
