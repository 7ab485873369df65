"""What the tests of planning share: a shop whose models need no dbt to run."""

from __future__ import annotations

from pathlib import Path

import pytest

from customer_pipeline.stages import transform
from tests.conftest import PROJECT
from tests.support.compiled_models import CompiledModels
from tests.support.shop import Shop


@pytest.fixture
def shop(tmp_path: Path, dbt_cache: Path, session_folder: Path, monkeypatch) -> Shop:
    models = CompiledModels.of(PROJECT / "dbt_project", session_folder / "models")
    monkeypatch.setattr(transform, "build", models.build)
    return Shop(tmp_path / "shop", dbt_cache=dbt_cache)
