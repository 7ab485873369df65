"""What the tests of the stages share: a shop, and its models without dbt's seconds."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest

from customer_pipeline.dbt_adapter import invocation
from customer_pipeline.reporting import refresh
from customer_pipeline.stages import transform
from tests.conftest import PROJECT
from tests.support.compiled_models import CompiledModels
from tests.support.shop import Shop


@pytest.fixture(scope="session")
def models(session_folder: Path) -> CompiledModels:
    """The project's models, compiled once."""
    return CompiledModels.of(PROJECT / "dbt_project", session_folder / "models")


@pytest.fixture(scope="module", autouse=True)
def _without_dbt(models: CompiledModels) -> Iterator[None]:
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(transform, "build", models.build)
        patch.setattr(refresh, "build", models.build)
        yield


@pytest.fixture
def real_dbt(monkeypatch: pytest.MonkeyPatch) -> None:
    """For tests in which dbt itself matters."""
    monkeypatch.setattr(transform, "build", invocation.build)


@pytest.fixture
def shop(tmp_path: Path, dbt_cache: Path) -> Shop:
    # A quote in a path is a character like any other.
    return Shop(tmp_path / "the shop's data", dbt_cache=dbt_cache)
