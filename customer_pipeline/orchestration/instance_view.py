"""What Dagster's instance says of partitions: which runs are on their way to them, and its record.

Both are opinions to set beside the ledger, never in its place: the instance may have been set up
after the warehouse, hold a run that was killed, or be missing.

What belongs here: reading an instance. What does not: which runs are alive (`activity.py`).
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime

import dagster as dg

from customer_pipeline.orchestration.activity import (
    publishing_backfills,
    publishing_runs,
    publishing_runs_to_retry,
)
from customer_pipeline.orchestration.partitions import asked_of, partitions_of
from customer_pipeline.orchestration.pipeline import Pipeline
from customer_pipeline.orchestration.run_tags import DAGSTER_BACKFILL
from customer_pipeline.orchestration.specs import mart_key
from customer_pipeline.phrases import short
from customer_pipeline.planning.state import State


@dataclass(frozen=True)
class Disagreement:
    """A partition of which the ledger and Dagster's record say different things."""

    partition_key: str
    ledger: str
    dagster: str


@dataclass(frozen=True)
class Record:
    """Dagster's record beside the ledger. Of `unknown` published partitions it has none."""

    disagreements: tuple[Disagreement, ...]
    unknown: int


def partitions_in_flight(
    instance: dg.DagsterInstance, pipeline: Pipeline, now: datetime
) -> dict[str, str]:
    """The partitions that live runs will publish, each with its run in words, and those that are
    still to get one: from a live backfill, or because theirs has died and is started again."""
    waiting = {
        key: f"backfill {backfill.backfill_id}"
        for backfill in publishing_backfills(instance, pipeline, now)
        for key in partitions_without_run(instance, pipeline, backfill)
    }
    to_retry = {
        key: f"run {short(run.run_id)}, which Dagster starts again,"
        for run in publishing_runs_to_retry(instance, pipeline, now)
        for key in partitions_of(run, pipeline.partitions)
    }
    at_work = {
        key: f"run {short(run.run_id)}"
        for run in publishing_runs(instance, pipeline, now)
        for key in partitions_of(run, pipeline.partitions)
    }
    return waiting | to_retry | at_work


def partitions_without_run(
    instance: dg.DagsterInstance, pipeline: Pipeline, backfill
) -> Iterator[str]:
    """The partitions that a live backfill (Dagster's) was asked for, and has made no run for yet."""
    if backfill.status.value != "REQUESTED":
        return
    of_backfill = dg.RunsFilter(tags={DAGSTER_BACKFILL: backfill.backfill_id})
    begun = {
        key
        for run in instance.get_runs(of_backfill)
        for key in partitions_of(run, pipeline.partitions)
    }
    for key in sorted(asked_of(backfill, [mart_key(mart) for mart in pipeline.marts])):
        if key not in begun:
            yield key


def compare_record(
    instance: dg.DagsterInstance, pipeline: Pipeline, states: Sequence[State]
) -> Record:
    """Dagster's record of the marts' partitions, compared with the ledger's states."""
    keys = [state.partition_key for state in states]
    by_mart = [
        instance.get_status_by_partition(mart_key(mart), keys, pipeline.partitions_def) or {}
        for mart in pipeline.marts
    ]
    disagreements, unknown = [], 0
    for state in states:
        recorded = _recorded(by_mart, state.partition_key)
        if recorded == "no record":
            unknown += state.published is not None
        elif ledger := _contradicted(state, recorded):
            disagreements.append(Disagreement(state.partition_key, ledger, recorded))
    return Record(tuple(disagreements), unknown)


def _recorded(by_mart: Sequence[Mapping[str, object]], key: str) -> str:
    found = {
        getattr(status, "value", None) for statuses in by_mart for status in [statuses.get(key)]
    }
    for status, words in (("FAILED", "failed"), ("IN_PROGRESS", "in progress")):
        if status in found:
            return words
    return "materialized" if found == {"MATERIALIZED"} else "no record"


def _contradicted(state: State, recorded: str) -> str | None:
    """What the ledger says, where Dagster's record cannot be the same story."""
    if state.running:
        return None
    if recorded == "in progress":
        return f"{state.kind}; no run that works on it is alive"
    if recorded == "failed" and state.published and not state.failure:
        return state.kind
    if recorded == "materialized" and not state.published:
        return state.kind
    return None
