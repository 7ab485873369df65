"""Installed from a wheel, away from its sources, it is all there (case P1)."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from pathlib import Path

import pytest

from tests.support.dagster_processes import PROJECT
from tests.support.shop import Shop
from tests.support.warehouse import query

pytestmark = pytest.mark.slow

DAY = "2026-03-03"


@pytest.fixture(scope="module")
def site(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A folder into which a wheel of the project is installed. Building it needs a package index."""
    folder = tmp_path_factory.mktemp("wheel")
    pip = [sys.executable, "-m", "pip", "--quiet", "--disable-pip-version-check"]
    _run([*pip, "wheel", "--no-deps", "--wheel-dir", folder, PROJECT], folder)
    (wheel,) = folder.glob("*.whl")
    _run([*pip, "install", "--no-deps", "--target", folder / "site", wheel], folder)
    return folder / "site"


def test_definitions_load_and_a_day_runs_from_another_folder(site: Path, tmp_path: Path) -> None:
    shop = Shop(tmp_path / "shop")
    shop.deliver_day(DAY)
    environment = shop.environment | {"PYTHONPATH": str(site), "PYTHONDONTWRITEBYTECODE": "1"}
    before = sorted(site.rglob("*"))
    code = """
import json, customer_pipeline
from customer_pipeline.definitions import defs
graph = defs().get_repository_def().asset_graph
print(json.dumps([customer_pipeline.__file__, sorted(
    key.to_user_string() for key in graph.get_all_asset_keys() if key.path[0] == "candidate"
)]))
"""
    loaded = _run([sys.executable, "-c", code], tmp_path, environment)
    where, models = json.loads(loaded.splitlines()[-1])
    assert Path(where).is_relative_to(site)
    assert models == [
        "candidate/daily_summary",
        "candidate/dim_customers",
        "candidate/fct_events",
        "candidate/fct_orders",
        "candidate/sales_summary",
    ]
    shown = _run([site / "bin" / "customer-pipeline", "run", "--from", DAY], tmp_path, environment)
    assert "published" in shown
    published = query(
        shop.settings.warehouse_path, "select partition_key, status from ops.partitions"
    )
    assert published == [(DAY, "published")]
    assert query(shop.settings.warehouse_path, "select orders from marts.daily_summary") == [(3,)]
    # The package may be installed where the pipeline cannot write.
    assert sorted(site.rglob("*")) == before


def test_the_demo_shop_delivers_from_another_folder(site: Path, tmp_path: Path) -> None:
    code = """
from customer_pipeline.settings import DEMO_SOURCE
from customer_pipeline.source.reading import read_delivery
from customer_pipeline.source.yaml.source_file import load_source
source = load_source(DEMO_SOURCE)
for name, feed in source.feeds.items():
    window = source.partitions(feed.partitions).window("2025-09-01")
    print(name, read_delivery(feed, window).row_count > 0)
"""
    environment = {"PYTHONPATH": str(site), "PYTHONDONTWRITEBYTECODE": "1"}
    delivered = _run([sys.executable, "-c", code], tmp_path, environment)
    assert delivered.split("\n") == [
        "customers True",
        "orders True",
        "events True",
        "trips True",
        "",
    ]


def _run(command: list, folder: Path, environment: dict[str, str] | None = None) -> str:
    # An instance, if there is one, is somebody else's.
    inherited = {name: value for name, value in os.environ.items() if name != "DAGSTER_HOME"}
    done = subprocess.run(
        command,
        cwd=folder,
        env=inherited | (environment or {}),
        stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT,
        text=True,
        timeout=240,
        check=False,
    )
    assert done.returncode == 0, done.stdout[-4000:]
    return done.stdout
