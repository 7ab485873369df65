"""Several runs at the same moment, as processes: the same result, and no lock errors (contract 7; case
L6).
"""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import pytest

from tests.conftest import PROJECT
from tests.support.compiled_models import CompiledModels
from tests.support.reference import MARTS, day_of
from tests.support.shop import Shop
from tests.support.stages import run_stages
from tests.support.warehouse import contents, query

pytestmark = pytest.mark.slow

DAYS = [f"2026-03-{day:02}" for day in range(1, 7)]


@pytest.mark.parametrize("first", [True, False], ids=["into nothing", "over published days"])
def test_runs_over_overlapping_days_all_succeed_and_leave_what_one_run_leaves(
    shop: Shop, models: CompiledModels, tmp_path: Path, first: bool
) -> None:
    models.write(tmp_path / "models.json")
    for day in DAYS:
        shop.deliver_day(day)
    if not first:
        run_stages(shop.pipeline, DAYS)
        for day in DAYS:
            shop.deliver_day(day, orders=4, price="3.10")
    runs = [
        subprocess.Popen(
            [
                *(sys.executable, "-m", "tests.support.killed_run", shop.root),
                *(tmp_path / "models.json", "sql", "never", "0", *days),
            ],
            cwd=PROJECT,
            stderr=subprocess.PIPE,
            text=True,
        )
        for days in (DAYS, DAYS[:4], DAYS[2:], DAYS)
    ]
    for run in runs:
        _, errors = run.communicate(timeout=120)
        assert run.returncode == 0, errors
    found = contents(shop.settings.warehouse_path)
    for mart in MARTS:
        rows = [row for day in DAYS for row in day_of(shop, day).marts[mart]]
        assert found[f"marts.{mart}"] == sorted(rows, key=repr)
    attempts = query(
        shop.settings.warehouse_path,
        "select outcome, count(*) from ops.attempts where run_id in (select run_id from"
        " (select run_id, min(started_at) from ops.attempts group by 1 order by 2 desc limit 4))"
        " group by 1",
    )
    assert attempts == [("published", 6 + 4 + 4 + 6)]
