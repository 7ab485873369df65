"""What Dagster's instance is told and asked of a backfill's runs: limits, places, who is at work."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from datetime import UTC, datetime

import dagster as dg
import pytest
from rich.console import Console

from customer_pipeline.cli.backfill import control
from customer_pipeline.orchestration import instance_view
from customer_pipeline.orchestration.instance_view import partitions_in_flight
from customer_pipeline.orchestration.location import build_defs
from customer_pipeline.orchestration.run_limits import limit_in_force, limit_runs
from customer_pipeline.warehouse.backfills import Backfill
from tests.support.dagster_processes import Home
from tests.support.shop import Shop

OURS, OTHERS = "0a1b2c3d", "ffffffff"
DAY = "2026-03-09"
THREE = {"customer_pipeline/max_active_runs_3": OURS}


@pytest.fixture
def instance(home: Home) -> Iterator[dg.DagsterInstance]:
    with home.instance() as instance:
        yield instance


def run_of(
    instance: dg.DagsterInstance,
    shop: Shop,
    backfill_id: str = OURS,
    *,
    status: dg.DagsterRunStatus = dg.DagsterRunStatus.NOT_STARTED,
    tags: Mapping[str, str] | None = None,
) -> str:
    job = build_defs(shop.settings).resolve_job_def("daily_customer_pipeline")
    run = instance.create_run_for_job(
        job,
        status=status,
        tags={"customer_pipeline/backfill": backfill_id, "dagster/partition": DAY, **(tags or {})},
    )
    return run.run_id


def limits_of(instance: dg.DagsterInstance, run_id: str) -> dict[str, str]:
    run = instance.get_run_by_id(run_id)
    assert run is not None
    return {tag: value for tag, value in run.tags.items() if "max_active_runs" in tag}


def test_another_limit_takes_the_place_of_the_one_before_on_all_runs_that_have_not_ended(
    instance: dg.DagsterInstance, shop: Shop
) -> None:
    at_work = run_of(instance, shop, status=dg.DagsterRunStatus.STARTED, tags=THREE)
    waits = run_of(instance, shop, tags=THREE)
    ended = run_of(instance, shop, status=dg.DagsterRunStatus.SUCCESS, tags=THREE)
    of_another = run_of(instance, shop, OTHERS)
    assert limit_in_force(instance, OURS) == 3
    assert limit_runs(instance, OURS, 5) == 2
    for run_id in (at_work, waits):
        assert limits_of(instance, run_id) == {
            "customer_pipeline/max_active_runs_5": OURS,
            "customer_pipeline/max_active_runs_3": run_id,
        }
    assert limits_of(instance, ended) == {"customer_pipeline/max_active_runs_3": OURS}
    assert limits_of(instance, of_another) == {}
    limit_runs(instance, OURS, None)
    assert OURS not in limits_of(instance, waits).values()


def test_while_the_limit_changes_no_later_run_is_let_in_before_an_earlier_one(
    instance: dg.DagsterInstance, shop: Shop, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Raised, it is first raised for the first that waits; lowered, it is first lowered for the
    last. What is at work counts from the beginning."""
    waiting = [
        run_of(instance, shop, tags=THREE | {"dagster/priority": str(place)})
        for place in (-2, -3, -10)
    ]
    at_work = run_of(instance, shop, status=dg.DagsterRunStatus.STARTED, tags=THREE)
    changed: list[str] = []
    add_run_tags = instance.add_run_tags

    def note(run_id: str, tags: Mapping[str, str]) -> None:
        changed.append(run_id)
        add_run_tags(run_id, tags)

    monkeypatch.setattr(instance, "add_run_tags", note)
    limit_runs(instance, OURS, 5)
    assert changed == [at_work, *waiting]
    changed.clear()
    limit_runs(instance, OURS, 2)
    assert changed == [at_work, *reversed(waiting)]
    changed.clear()
    limit_runs(instance, OURS, None)
    assert changed == [at_work, *waiting]


def test_the_newest_run_tells_which_limit_is_in_force(
    instance: dg.DagsterInstance, shop: Shop
) -> None:
    assert limit_in_force(instance, OURS) is None
    run_of(instance, shop, tags=THREE)
    assert limit_in_force(instance, OURS) == 3
    limit_runs(instance, OURS, 2)
    assert limit_in_force(instance, OURS) == 2
    limit_runs(instance, OURS, None)
    assert limit_in_force(instance, OURS) is None


def test_a_run_that_is_made_while_the_limit_changes_keeps_to_the_new_one_too(
    home: Home, shop: Shop, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The daemon makes the last of the runs just when it is asked whether there are more to come."""
    for name, value in home.environment.items():
        monkeypatch.setenv(name, value)
    monkeypatch.setattr(control, "_PATIENCE", 20)
    made: list[str] = []

    recorded = Backfill(OURS, "daily_customers", (), "all", "", "ann", datetime.now(UTC))

    with home.instance() as instance:
        first = run_of(instance, shop)

        def makes_the_last(*_: object) -> Iterator[str]:
            if not made:
                made.append(run_of(instance, shop))
            return iter(())

        monkeypatch.setattr(instance_view, "partitions_without_run", makes_the_last)
        monkeypatch.setattr(
            "customer_pipeline.orchestration.backfill_progress.active_backfills",
            lambda *_: ["one of Dagster's"],
        )
        control.change_limit(Console(quiet=True), shop.pipeline, recorded, 3)
        for run_id in (first, *made):
            assert limits_of(instance, run_id) == {"customer_pipeline/max_active_runs_3": OURS}


def test_a_day_whose_run_died_and_is_to_be_started_again_is_in_flight(
    instance: dg.DagsterInstance, shop: Shop
) -> None:
    def in_flight() -> dict[str, str]:
        return partitions_in_flight(instance, shop.pipeline, datetime.now(UTC))

    failed = dg.DagsterRunStatus.FAILURE
    run_of(instance, shop, status=failed, tags={"dagster/will_retry": "false"})
    assert in_flight() == {}
    died = run_of(instance, shop, status=failed, tags={"dagster/will_retry": "true"})
    assert in_flight() == {DAY: f"run {died[:8]} (to be retried by Dagster)"}
    # The other run has taken its place; how that one does is its own affair.
    instance.add_run_tags(died, {"dagster/auto_retry_run_id": "another"})
    assert in_flight() == {}
