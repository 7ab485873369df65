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
from tests.support.expected import COLUMNS, Expected, assert_same
from tests.support.lake import lake_rows_of
from tests.support.reference import day_of
from tests.support.reference_marts import COLUMNS as MARTS
from tests.support.shop import HEADERS, Shop, event
from tests.support.stages import run_stages
from tests.support.warehouse import rows_of

pytestmark = pytest.mark.slow

DAYS = ["2026-03-01", "2026-03-02", "2026-03-03"]
LANDING = "customer_pipeline.stages.landing"

# The point, and whether what the run delivers is published by then.
POINTS = {
    "before the first landing": ("call", f"{LANDING}:Landing.store", 1, False),
    "between data file and manifest": ("call", f"{LANDING}:Landing.commit", 2, False),
    "between manifest and clearing up": ("call", f"{LANDING}:sync", 3, False),
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
    "before publishing is committed": ("sql", "^commit", 4, False),
    "between publishing and clearing up": (
        "call",
        "customer_pipeline.stages.candidate:Candidate.remove",
        2,
        True,
    ),
    "between publishing and the lake": ("call", "tests.support.stages:follow", 1, True),
    "in the middle of the lake": (
        "call",
        "customer_pipeline.lake.table:LakeTable.replace",
        3,
        True,
    ),
}


@pytest.mark.parametrize(("kind", "point", "turn", "done"), POINTS.values(), ids=POINTS.keys())
def test_each_day_is_old_or_new_and_running_again_mends_the_rest(
    shop: Shop, models: CompiledModels, tmp_path: Path, kind: str, point: str, turn: int, done: bool
) -> None:
    for day in DAYS[:2]:
        shop.deliver_day(day)
        shop.deliver("events", day, [event(DAYS[0], 1), event(day, 2)])
    run_stages(shop.pipeline, DAYS[:2])
    before = rows_of(shop.settings.warehouse_path, COLUMNS)
    for day in DAYS:
        shop.deliver_day(day, orders=2, price="3.10")
        shop.deliver("events", day, [event(DAYS[1], 2), event(day, 3)])
    *_, after = Expected().after_each_transaction([day_of(shop, day) for day in DAYS])

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

    found = rows_of(shop.settings.warehouse_path, COLUMNS)
    for table, rows in after.tables.items():
        if table.startswith("raw."):
            assert found[table] in (before[table], rows)
        elif table != "ops.deliveries":
            assert found[table] == (rows if done else before[table])
    for feed in HEADERS:
        for day in DAYS:
            assert_landed_whole(shop.pipeline.landing, feed, day)

    run_stages(shop.pipeline, DAYS)
    assert_same(rows_of(shop.settings.warehouse_path, COLUMNS), after.tables)
    lake = lake_rows_of(shop.settings.lake_path, MARTS)
    assert_same(lake, {mart: after.tables[f"marts.{mart}"] for mart in MARTS})


def assert_landed_whole(landing: Landing, feed: str, day: str) -> None:
    """Whoever reads the manifest finds the files that it names."""
    manifest = landing.read(feed, day)
    if manifest is not None:
        path = landing.data_path(manifest)
        assert path is not None and path.exists()
