"""A process that is killed in the middle of a step: its day is as it was, and another run, by hand or
the daemon's own, finishes it (contract 2; cases A3, W12).
"""

from __future__ import annotations

import os
import signal
from pathlib import Path

import pytest
import yaml

from tests.doors.conftest import DAYS
from tests.support.dagster_processes import Home, kill, wait_for
from tests.support.runs import run_days
from tests.support.shop import Shop
from tests.support.warehouse import content_hashes, query

pytestmark = pytest.mark.slow

LOCATION = "tests.support.location_that_pauses"
DAY, OTHER = DAYS[1], DAYS[2]
# Where each step is killed: in the midst of its work, in a transaction if it has one.
POINTS = {
    "extract": "customer_pipeline.stages.landing:Landing.commit",
    "load": "customer_pipeline.stages.load:_record",
    "transform": "customer_pipeline.stages.transform:_note",
    "validate": "customer_pipeline.stages.validate:note_casualties",
    "publish": "customer_pipeline.stages.publish:record_published",
}


@pytest.fixture
def mark(home: Home, tmp_path: Path) -> Path:
    mark = tmp_path / "paused"
    home.environment["PAUSE_MARK"] = str(mark)
    return mark


@pytest.mark.parametrize("step", POINTS)
def test_a_killed_step_leaves_the_old_day_and_the_next_run_publishes_the_new_one(
    shop: Shop, home: Home, mark: Path, expected: dict[str, str], step: str
) -> None:
    shop.deliver_day(DAY, price="9.99")
    assert run_days(shop, home, DAY, OTHER).succeeded
    old = content_hashes(shop.settings.warehouse_path)
    shop.deliver_day(DAY, orders=DAYS.index(DAY) + 2)

    home.environment["PAUSE_AT"] = POINTS[step]
    process = home.start(
        *("dagster", "asset", "materialize", "--select", "*", "--partition", DAY),
        *("-m", LOCATION),
        log=home.folder / "run.log",
    )
    wait_for(lambda: mark.exists() or process.poll() is not None, seconds=120, what=step)
    assert process.poll() is None, home.output[-3000:]
    kill(process, signal.SIGKILL)

    assert content_hashes(shop.settings.warehouse_path) == old
    again = run_days(shop, home, DAY)
    assert again.succeeded, again.errors
    assert old[DAY] != expected[DAY]
    assert content_hashes(shop.settings.warehouse_path) == {
        DAY: expected[DAY],
        OTHER: expected[OTHER],
    }


@pytest.mark.parametrize("step", ["load", "publish"])
def test_the_daemon_notices_a_killed_worker_and_finishes_its_day(
    shop: Shop, home: Home, mark: Path, expected: dict[str, str], step: str
) -> None:
    instance = home.folder / "dagster.yaml"
    settings = yaml.safe_load(instance.read_text())
    # So that the test need not wait for the usual half minute.
    settings["run_monitoring"]["poll_interval_seconds"] = 2
    instance.write_text(yaml.safe_dump(settings))
    home.environment["PAUSE_AT"] = POINTS[step]
    with home.services(LOCATION) as api:
        (killed,) = api.launch_days("daily_customer_pipeline", [DAY])
        wait_for(mark.exists, seconds=120, what=f"{step} to begin")
        os.kill(int(mark.read_text()), signal.SIGKILL)
        runs = api.wait_for_runs(2)
    assert runs.pop(killed)["status"] == "FAILURE"
    ((again, run),) = runs.items()
    assert run["status"] == "SUCCESS"
    assert run["tags"]["dagster/parent_run_id"] == killed
    assert content_hashes(shop.settings.warehouse_path) == {DAY: expected[DAY]}
    assert query(shop.settings.warehouse_path, "select run_id, outcome from ops.attempts") == [
        (again, "published")
    ]
