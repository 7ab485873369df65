"""Dagster's run queue, in which the runs of a backfill wait in the order that was asked for.

Named in `dagster.yaml`. Without it everything works as before, but waiting runs of one backfill
start in the order in which Dagster happened to create them.
"""

from __future__ import annotations

import dagster as dg

from customer_pipeline.orchestration.run_tags import (
    ORDER,
    PARTITION,
    PRIORITY,
    RANGE_START,
    beginning_of,
)


class OrderedRunQueue(dg.QueuedRunCoordinator):
    """`QueuedRunCoordinator` that gives each run of a backfill its place in the queue."""

    def submit_run(self, context: dg.SubmitRunContext) -> dg.DagsterRun:
        run = context.dagster_run
        place = place_in_queue(run)
        if place is not None:
            self._instance.add_run_tags(run.run_id, {PRIORITY: str(place)})
        return super().submit_run(context)


def place_in_queue(run: dg.DagsterRun) -> int | None:
    """The priority of a run of a backfill, below that of all other runs; None for other runs.

    It falls with the distance from the partition at which the backfill begins, so that two
    backfills take turns, and neither waits for the end of the other.
    """
    begin = beginning_of(run.tags.get(ORDER, ""))
    first = run.tags.get(RANGE_START) or run.tags.get(PARTITION)
    if begin is None or first is None:
        return None
    return -1 - abs(_number(first) - _number(begin))


def _number(key: str) -> int:
    """A number that grows with the key: the digits of a date, with or without an hour, in a row. Two
    hours of one name have one number, since what follows the time is left out."""
    return int("".join(filter(str.isdigit, key[: len("YYYY-MM-DD-HH:MM")])) or 0)
