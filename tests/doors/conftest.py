"""What the tests of the doors share: a shop with six days delivered, and a Dagster home."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import pytest

from tests.support.dagster_processes import Home, home_template
from tests.support.shop import Shop
from tests.support.stages import run_stages
from tests.support.warehouse import content_hashes

# The last two are empty by rule.
DAYS = [f"2026-03-{day:02}" for day in range(1, 9)]


@pytest.fixture
def shop(tmp_path: Path, dbt_cache: Path) -> Shop:
    shop = Shop(tmp_path / "shop", dbt_cache=dbt_cache)
    for n, day in enumerate(DAYS[:6]):
        shop.deliver_day(day, orders=n + 2)
    return shop


@pytest.fixture
def home(tmp_path: Path, session_folder: Path, shop: Shop) -> Home:
    return Home(tmp_path / "home", shop.environment, template=home_template(session_folder))


@pytest.fixture
def expected(tmp_path: Path, shop: Shop) -> dict[str, str]:
    """The content hashes that a quiet run of the stages alone leaves, in a warehouse of its own."""
    plain = shop.pipeline
    settings = plain.settings.model_copy(update={"data_dir": tmp_path / "plain"})
    pipeline = replace(plain, settings=settings)
    run_stages(pipeline, DAYS)
    return content_hashes(pipeline.warehouse.path)
