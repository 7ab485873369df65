"""Going on where a run failed: "Re-execute from failure" in the UI, and the daemon's own retry of a
run whose worker died. What succeeded is not run again, and what was built is not built again.
"""

from __future__ import annotations

from pathlib import Path

import pytest

from customer_pipeline.orchestration import assets
from tests.support.dagster_processes import Home
from tests.support.runs import Ran, rerun_from_failure, run_days
from tests.support.shop import Shop
from tests.support.warehouse import query

pytestmark = pytest.mark.usefixtures("without_dbt")

DAYS = ["2026-03-03", "2026-03-04"]


@pytest.fixture
def shop(tmp_path: Path, dbt_cache: Path) -> Shop:
    shop = Shop(tmp_path / "shop", dbt_cache=dbt_cache)
    for n, day in enumerate(DAYS):
        shop.deliver_day(day, orders=n + 2)
    return shop


def fails_in(shop: Shop, home: Home, stage: str) -> Ran:
    """A run that fails in `stage`, for a reason that passes."""
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(assets, stage, _fail)
        failed = run_days(shop, home, *DAYS)
    assert not failed.succeeded
    return failed


def _fail(*_args: object, **_options: object) -> None:
    raise RuntimeError("the machine was switched off")


@pytest.mark.parametrize(
    ("stage", "again"),
    [
        ("extract", 9),
        ("load", 6),
        ("transform", 3),
        ("validate", 2),
        ("publish", 1),
    ],
)
def test_it_goes_on_in_the_stage_that_failed_and_publishes_every_day(
    shop: Shop, home: Home, stage: str, again: int
) -> None:
    failed = fails_in(shop, home, stage)
    ran = rerun_from_failure(home, failed)
    assert ran.succeeded, ran.errors
    assert len(ran.steps("STEP_START")) == again
    assert not set(ran.steps("STEP_START")) & set(failed.steps("STEP_SUCCESS"))
    assert ran.rows("marts/fct_orders") == dict(zip(DAYS, (2, 3), strict=True))
    attempts = query(
        shop.settings.warehouse_path,
        "select run_id, partition_key, outcome from ops.attempts order by finished_at, 2",
    )
    assert attempts == [
        *((failed.run_id, day, "failed") for day in DAYS),
        *((ran.run_id, day, "published") for day in DAYS),
    ]
    # The candidate went with the run that published it.
    assert list(shop.settings.runs_path.iterdir()) == []


def test_what_older_code_has_built_is_not_published_by_newer_code(
    shop: Shop, home: Home, monkeypatch: pytest.MonkeyPatch
) -> None:
    failed = fails_in(shop, home, "publish")
    monkeypatch.setattr(
        "customer_pipeline.orchestration.pipeline.code_version", lambda *_: "another version"
    )
    ran = rerun_from_failure(home, failed)
    assert not ran.succeeded
    assert "run all steps" in ran.error
    assert query(shop.settings.warehouse_path, "select count(*) from ops.partitions") == [(0,)]


def test_what_another_run_has_loaded_meanwhile_is_not_overwritten_by_what_was_built_before(
    shop: Shop, home: Home
) -> None:
    failed = fails_in(shop, home, "publish")
    shop.deliver_day(DAYS[0], orders=7)
    newer = run_days(shop, home, DAYS[0])
    assert newer.succeeded
    ran = rerun_from_failure(home, failed)
    assert not ran.succeeded
    assert f"{DAYS[0]} (publish): " in ran.error
    assert "another run has loaded a newer delivery" in ran.error
    published = query(
        shop.settings.warehouse_path,
        "select partition_key, run_id from ops.partitions order by 1",
    )
    assert published == [(DAYS[0], newer.run_id), (DAYS[1], ran.run_id)]
