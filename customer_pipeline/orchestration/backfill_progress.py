"""How far Dagster has come with backfills: their runs, and whether more is to be expected of them.

Dagster's own word that a backfill has ended comes up to half a minute late, and says nothing about
partitions. So here it has ended when its runs have.

What belongs here: reading the instance. What does not: what became of each partition, which the
ledger knows (`warehouse/backfills.py`).
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from datetime import UTC, datetime
from typing import Literal

import dagster as dg

from customer_pipeline.orchestration.partitions import partitions_of
from customer_pipeline.orchestration.pipeline import Pipeline
from customer_pipeline.orchestration.run_tags import (
    BACKFILL,
    DAGSTER_BACKFILL,
    RETRIED_BY,
    WILL_RETRY,
)

RunState = Literal["waiting", "running", "succeeded", "failed", "cancelled"]

_ENDED_BACKFILLS = ("COMPLETED", "COMPLETED_SUCCESS", "COMPLETED_FAILED", "FAILED", "CANCELED")
_STATES: dict[dg.DagsterRunStatus, RunState] = {
    dg.DagsterRunStatus.STARTING: "running",
    dg.DagsterRunStatus.STARTED: "running",
    dg.DagsterRunStatus.CANCELING: "running",
    dg.DagsterRunStatus.SUCCESS: "succeeded",
    dg.DagsterRunStatus.FAILURE: "failed",
    dg.DagsterRunStatus.CANCELED: "cancelled",
}
_NEWEST = 200


@dataclass(frozen=True)
class RunProgress:
    """A run of a backfill. `step` is what it works on, and `begun` since when it runs, if it does.
    `retried`: another run takes its place, or is going to."""

    run_id: str
    keys: tuple[str, ...]
    state: RunState
    retried: bool
    begun: datetime | None = None
    step: str | None = None

    @property
    def ended(self) -> bool:
        return self.state not in ("waiting", "running")


@dataclass(frozen=True)
class Progress:
    """All runs so far, in the order in which they were created. `ended`: nothing more will come.
    `error` is what Dagster says went wrong with a backfill itself."""

    runs: tuple[RunProgress, ...]
    ended: bool
    error: str | None


def active_backfills(instance: dg.DagsterInstance, backfill_id: str) -> list:
    """Dagster's backfills that have not ended, of one of ours."""
    return [
        backfill
        for backfill in instance.get_backfills(limit=_NEWEST)
        if backfill.tags.get(BACKFILL) == backfill_id
        and backfill.status.value not in _ENDED_BACKFILLS
    ]


def progress(
    instance: dg.DagsterInstance,
    pipeline: Pipeline,
    dagster_ids: Sequence[str],
    asked: Sequence[str],
) -> Progress:
    """How far the Dagster backfills `dagster_ids`, together asked for the partitions `asked`, are."""
    backfills = [found for one in dagster_ids if (found := instance.get_backfill(one))]
    records = [
        record
        for one in dagster_ids
        for record in instance.get_run_records(dg.RunsFilter(tags={DAGSTER_BACKFILL: one}))
    ]
    runs = tuple(
        _run(instance, pipeline, record)
        for record in sorted(records, key=lambda record: record.create_timestamp)
    )
    settled = {key for run in runs if run.ended and not run.retried for key in run.keys}
    over = all(backfill.status.value in _ENDED_BACKFILLS for backfill in backfills)
    active = any(not run.ended for run in runs)
    return Progress(
        runs,
        ended=not active and (over or settled.issuperset(asked)),
        error=next((_words(backfill.error) for backfill in backfills if backfill.error), None),
    )


def _run(instance: dg.DagsterInstance, pipeline: Pipeline, record: dg.RunRecord) -> RunProgress:
    run = record.dagster_run
    state = _STATES.get(run.status, "waiting")
    return RunProgress(
        run.run_id,
        tuple(partitions_of(run, pipeline.partitions)),
        state,
        # A run that Dagster retries stays as failed as it was.
        retried=RETRIED_BY in run.tags or run.tags.get(WILL_RETRY) == "true",
        begun=_instant(record.start_time) if state == "running" else None,
        step=_step(instance, run.run_id) if state == "running" else None,
    )


def _step(instance: dg.DagsterInstance, run_id: str) -> str | None:
    found = instance.get_records_for_run(
        run_id, of_type=dg.DagsterEventType.STEP_START, limit=1, ascending=False
    ).records
    event = found[0].event_log_entry.dagster_event if found else None
    return event.step_key if event else None


def _instant(seconds: float | None) -> datetime | None:
    return datetime.fromtimestamp(seconds, UTC) if seconds else None


def _words(error) -> str:
    """The first line of what Dagster has noted as an error, without its trace."""
    return error.message.strip().splitlines()[0]
