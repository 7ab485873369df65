"""The place in the queue of the runs of a backfill. That runs start in that order is for the daemon
(`tests/doors/backfills`)."""

from __future__ import annotations

import dagster as dg

from customer_pipeline.orchestration.run_queue import place_in_queue
from customer_pipeline.orchestration.run_tags import ORDER, PARTITION, order


def places(*keys: str, begin: str, newest_first: bool = False) -> list[int]:
    tag = order(newest_first=newest_first, begin=begin)
    runs = [dg.DagsterRun("job", tags={PARTITION: key, ORDER: tag}) for key in keys]
    return [place for run in runs if (place := place_in_queue(run)) is not None]


def test_runs_have_the_higher_place_the_nearer_they_are_to_the_beginning() -> None:
    days = places("2026-03-01", "2026-03-02", "2026-04-01", begin="2026-03-01")
    assert days == sorted(days, reverse=True)
    back = places("2026-03-01", "2026-03-02", begin="2026-03-02", newest_first=True)
    assert back == sorted(back)


def test_an_hour_that_comes_twice_stands_between_its_neighbours() -> None:
    keys = ["2026-11-01-00:00", "2026-11-01-01:00", "2026-11-01-01:00-0500", "2026-11-01-02:00"]
    before, first, second, after = places(*keys, begin=keys[0])
    assert before > first == second > after
    assert places(keys[0], keys[3], begin=keys[2]) == [-101, -101]


def test_a_run_without_a_backfill_has_no_place() -> None:
    assert place_in_queue(dg.DagsterRun("job", tags={PARTITION: "2026-03-01"})) is None
