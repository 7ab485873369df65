"""What is published is a function of what the sources hold, and of nothing else: neither of the host
nor of the order in which the days are run (contract 1; case W9).

Whole histories, with deliveries that change between the runs, are in `test_histories.py`.
"""

from __future__ import annotations

import os
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

from tests.conftest import PROJECT
from tests.support.compiled_models import CompiledModels
from tests.support.kept_open import kept_open
from tests.support.shop import SOURCE, Shop, customer, event, line
from tests.support.stages import refresh_reporting, run_stages
from tests.support.warehouse import contents

# The last two are empty by rule.
DAYS = [f"2026-03-{day:02}" for day in range(3, 9)]

SENSITIVE_SOURCE = SOURCE.replace(
    "updated_at: {type: timestamp,", "updated_at: {type: timestamp, expression: value::timestamptz,"
)


def test_the_hosts_time_zone_language_and_folders_make_no_difference(
    tmp_path: Path, dbt_cache: Path, models: CompiledModels
) -> None:
    """Not even for times without an offset, or where an expression leaves the zone to DuckDB."""
    models.write(tmp_path / "models.json")
    found = []
    for zone, language in (("Asia/Tokyo", "C"), ("America/New_York", "de_DE.UTF-8")):
        shop = Shop(tmp_path / zone, source=SENSITIVE_SOURCE, dbt_cache=dbt_cache)
        for day in DAYS[:-2]:
            shop.deliver(
                "orders", day, [line(day, n, ordered_at=f"{day} 23:30:00") for n in (1, 2)]
            )
            shop.deliver(
                "customers", day, [customer(day, n, updated_at=f"{day} 00:30:00") for n in (1, 2)]
            )
            messages = [event(DAYS[0], 1), event(day, 2)]
            shop.deliver("events", day, [one | {"occurred_at": f"{day} 23:45"} for one in messages])
        subprocess.run(
            [
                *(sys.executable, "-m", "tests.support.killed_run", shop.root),
                *(tmp_path / "models.json", "sql", "never", "0", *DAYS),
            ],
            env=os.environ | {"TZ": zone, "LC_ALL": language},
            cwd=PROJECT,
            check=True,
            timeout=120,
        )
        found.append(contents(shop.settings.warehouse_path))
    assert len(found[0]["ops.partitions"]) == len(DAYS)
    # Which rules a delivery was landed under (the eighth column) includes where it lay.
    declared = [found[n].pop("ops.deliveries") for n in (0, 1)]
    one, other = ([row[:7] + row[8:] for row in rows] for rows in declared)
    assert one == other
    assert found[0] == found[1]


@pytest.mark.parametrize(
    "runs",
    [
        pytest.param([[day] for day in DAYS], id="one by one", marks=pytest.mark.slow),
        pytest.param([[day] for day in reversed(DAYS)], id="backwards", marks=pytest.mark.slow),
        pytest.param(
            [DAYS[2:5], DAYS[:3], DAYS[4:]], id="overlapping ranges", marks=pytest.mark.slow
        ),
        pytest.param([DAYS[::2], DAYS[::-2], DAYS], id="days with gaps, and all again"),
    ],
)
def test_however_the_days_are_run_rows_and_hashes_are_the_same(
    shop: Shop, runs: list[list[str]]
) -> None:
    """Also where messages come again on later days, with the same content or another, and however
    often the reporting tables were refreshed in between."""
    for n, day in enumerate(DAYS[:-2]):
        shop.deliver_day(day, orders=n + 2)
        again = [event(DAYS[0], 1), event(DAYS[1], 2, payload=f"{n % 2}"), event(DAYS[2], n % 3)]
        shop.deliver("events", day, [event(day, 9), *again[: n + 1]])
    found = []
    for groups in ([DAYS], runs):
        pipeline = shop.pipeline
        for keys in groups:
            with kept_open():
                run_stages(pipeline, keys)
                refresh_reporting(pipeline)
        found.append(contents(pipeline.warehouse.path))
        shutil.move(pipeline.settings.landing_path, shop.root / "landing before")
        pipeline.warehouse.path.unlink()
    assert found[0] == found[1]
    assert len(found[0]["ops.partitions"]) == len(DAYS)
