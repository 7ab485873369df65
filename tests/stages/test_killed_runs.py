"""A run that is killed (SIGKILL) leaves each day as it was or as it should be, and running again
mends the rest (contract 2; case W12).
"""

from __future__ import annotations

import signal
import subprocess
import sys
from pathlib import Path

import pytest

from customer_pipeline.stages.landing import Landing
from tests.conftest import PROJECT
from tests.support.compiled_models import CompiledModels
from tests.support.reference import MARTS, day_of, raw_table
from tests.support.shop import HEADERS, Shop
from tests.support.stages import run_stages
from tests.support.warehouse import contents

pytestmark = pytest.mark.slow

DAYS = ["2026-03-01", "2026-03-02", "2026-03-03"]
LANDING = "customer_pipeline.stages.landing"

# The point, and whether what the run delivers is published by then.
POINTS = {
    "before the first landing": ("call", f"{LANDING}:Landing.store", 1, False),
    "between data file and manifest": ("call", f"{LANDING}:Landing.commit", 2, False),
    "between manifest and clearing up": ("call", f"{LANDING}:_sync", 3, False),
    "between extract and load": ("call", "tests.support.stages:load", 1, False),
    "between delete and insert in raw": ("sql", 'insert into raw."customers"', 1, False),
    "before the first load is committed": ("sql", "^commit", 1, False),
    "between the two loads": ("call", "tests.support.stages:extract", 2, False),
    "before the second load is committed": ("sql", "^commit", 2, False),
    "between load and transform": ("call", "tests.support.stages:transform", 1, False),
    "in the middle of the snapshot": ("sql", 'create table raw."orders"', 1, False),
    "before the tests": ("sql", "create schema failures", 1, False),
    "between transform and validate": ("call", "tests.support.stages:validate", 1, False),
    "between validate and publish": ("call", "tests.support.stages:publish", 1, False),
    "between delete and insert in a mart": ("sql", 'insert into marts."fct_orders"', 1, False),
    "before the ledger is written": ("sql", "insert into ops.partitions", 1, False),
    "before publishing is committed": ("sql", "^commit", 3, False),
    "between publishing and clearing up": (
        "call",
        "customer_pipeline.stages.candidate:Candidate.remove",
        2,
        True,
    ),
}


@pytest.mark.parametrize(("kind", "point", "turn", "done"), POINTS.values(), ids=POINTS.keys())
def test_each_day_is_old_or_new_and_running_again_mends_the_rest(
    shop: Shop, models: CompiledModels, tmp_path: Path, kind: str, point: str, turn: int, done: bool
) -> None:
    for day in DAYS[:2]:
        shop.deliver_day(day)
    run_stages(shop.pipeline, DAYS[:2])
    before = contents(shop.settings.warehouse_path)
    for day in DAYS:
        shop.deliver_day(day, orders=2, price="3.10")

    models.write(tmp_path / "models.json")
    killed = subprocess.run(
        [
            *(
                sys.executable,
                "-m",
                "tests.support.killed_run",
                shop.root,
                tmp_path / "models.json",
            ),
            *(kind, point, str(turn), *DAYS),
        ],
        cwd=PROJECT,
        capture_output=True,
        timeout=120,
    )
    assert killed.returncode == -signal.SIGKILL, killed.stderr.decode()

    found = contents(shop.settings.warehouse_path)
    expected = {
        mart: sorted((row for day in DAYS for row in day_of(shop, day).marts[mart]), key=repr)
        for mart in MARTS
    }
    for mart in MARTS:
        assert found[f"marts.{mart}"] == (expected[mart] if done else before[f"marts.{mart}"])
    if not done:
        assert found["ops.partitions"] == before["ops.partitions"]
    for feed in HEADERS:
        rows = [row for day in DAYS for row in raw_table(day_of(shop, day).feeds[feed].rows)]
        assert found[f"raw.{feed}"] in (before[f"raw.{feed}"], sorted(rows, key=repr))
        for day in DAYS:
            assert_landed_whole(shop.pipeline.landing, feed, day)

    run_stages(shop.pipeline, DAYS)
    again = contents(shop.settings.warehouse_path)
    assert {mart: again[f"marts.{mart}"] for mart in MARTS} == expected
    assert len(again["ops.partitions"]) == len(DAYS)


def assert_landed_whole(landing: Landing, feed: str, day: str) -> None:
    """Whoever reads the manifest finds the files that it names."""
    manifest = landing.read(feed, day)
    if manifest is not None:
        path = landing.data_path(manifest)
        assert path is not None and path.exists()
