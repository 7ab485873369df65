"""What the tests of the reporting tables share: a shop."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.support.shop import Shop


@pytest.fixture
def shop(tmp_path: Path, dbt_cache: Path) -> Shop:
    return Shop(tmp_path / "shop", dbt_cache=dbt_cache)
