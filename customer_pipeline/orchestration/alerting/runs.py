"""Runs as the rules of alerts want to know them, read from a Dagster instance.

What belongs here: which runs ended since the last look, how each ended, and how those under way are
doing. What does not: what is told of that (`customer_pipeline/alerts/runs.py`).
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta
from typing import Any

import dagster as dg

from customer_pipeline.alerts.scene import FailedCheck, FailedRun, RunPace, Why
from customer_pipeline.orchestration.activity import (
    last_event,
    live_runs,
    publishes,
    seconds_paused,
)
from customer_pipeline.orchestration.alerting.tellers import Tellers
from customer_pipeline.orchestration.causes import first_error, first_line
from customer_pipeline.orchestration.partitions import partitions_of
from customer_pipeline.orchestration.pipeline import Pipeline
from customer_pipeline.orchestration.run_tags import RETRIED_BY, WILL_RETRY
from customer_pipeline.planning.estimate import estimate
from customer_pipeline.stages.delivery_checks import COLUMNS_ARE_AS_DECLARED
from customer_pipeline.warehouse.attempts import RunTime

# What Dagster needs at most to start a retry that it has announced.
_RETRY_STARTS = timedelta(minutes=10)
_EARLIER_RUNS = 10
# What Dagster says when it ends a run that hangs.
_OVERTIME = "exceeding maximum runtime"
_OUTSIDE = "marked as failed from outside"


@dataclass(frozen=True)
class RecentRuns:
    """The runs that have ended since the last look.

    `failed` have failed for good, `succeeded` have not; `unsettled` has the ids of the runs that are
    under way, of those that they continue, and of those that Dagster is about to try again.
    """

    failed: tuple[dg.RunRecord, ...]
    succeeded: tuple[dg.RunRecord, ...]
    unsettled: frozenset[str]


def recent_runs(instance: dg.DagsterInstance, since: datetime, now: datetime) -> RecentRuns:
    """What has ended between `since` and `now`, of whichever pipeline."""
    # First, so that a run that ends meanwhile is under way, or has ended, and never neither.
    alive = list(live_runs(instance, now))
    ended = instance.get_run_records(
        dg.RunsFilter(
            statuses=[dg.DagsterRunStatus.FAILURE, dg.DagsterRunStatus.SUCCESS],
            updated_after=since,
        )
    )
    failed = [one for one in ended if one.dagster_run.status is dg.DagsterRunStatus.FAILURE]
    waiting = [one.dagster_run.run_id for one in failed if _is_about_to_be_retried(one, now)]
    continued = (
        run_id
        for run in alive
        for run_id in (run.run_id, run.parent_run_id, run.root_run_id)
        if run_id
    )
    return RecentRuns(
        tuple(one for one in failed if RETRIED_BY not in one.dagster_run.tags),
        tuple(one for one in ended if one.dagster_run.status is dg.DagsterRunStatus.SUCCESS),
        frozenset([*continued, *waiting]),
    )


def _is_about_to_be_retried(record: dg.RunRecord, now: datetime) -> bool:
    tags = record.dagster_run.tags
    return (
        tags.get(WILL_RETRY) == "true"
        and RETRIED_BY not in tags
        and now - ended_at(record) < _RETRY_STARTS
    )


def failed_run(record: dg.RunRecord, tellers: Tellers) -> FailedRun:
    """A run that has failed for good, as the value that rules decide on."""
    run = record.dagster_run
    pipeline = tellers.of_run(run)
    return FailedRun(
        run.run_id,
        tellers.job_of(run, pipeline),
        tuple(partitions_of(run, pipeline.partitions)),
        publishes(run, pipeline),
        recurring=not run.job_name.startswith("__"),
        started=started_at(record),
        ended=ended_at(record),
    )


def started_at(record: dg.RunRecord) -> datetime:
    if record.start_time is None:
        return record.create_timestamp
    return datetime.fromtimestamp(record.start_time, UTC)


def ended_at(record: dg.RunRecord) -> datetime:
    if record.end_time is None:
        return record.update_timestamp
    return datetime.fromtimestamp(record.end_time, UTC)


def why_it_failed(instance: dg.DagsterInstance, run_id: str) -> Why:
    """The first error of a run, or what Dagster says of a run that has none of its own."""
    kinds = {
        dg.DagsterEventType.STEP_FAILURE,
        dg.DagsterEventType.ENGINE_EVENT,
        dg.DagsterEventType.RUN_CANCELING,
        dg.DagsterEventType.RUN_FAILURE,
    }
    noticed, overtime = "", ""
    for record in instance.get_records_for_run(run_id, of_type=kinds).records:
        event = record.event_log_entry.dagster_event
        if event is None:
            continue
        if event.event_type is dg.DagsterEventType.STEP_FAILURE:
            data = event.step_failure_data
            if overtime:
                # The step was interrupted, which it cannot know the reason of.
                return Why(event.step_key or "", first_line(overtime))
            told = data.user_failure_data.description if data.user_failure_data else None
            return Why(event.step_key or "", first_line(told or first_error(data.error)))
        if event.event_type is dg.DagsterEventType.RUN_FAILURE:
            said = event.message or ""
            # Who noticed that a process is gone has said so just before.
            return Why("", first_line(noticed if _OUTSIDE in said and noticed else said))
        noticed = event.message or noticed
        overtime = noticed if _OVERTIME in noticed else overtime
    return Why("", "the run failed, and its log does not say why")


def checks_of(
    instance: dg.DagsterInstance, record: dg.RunRecord
) -> tuple[list[FailedCheck], list[tuple[str, str, str]]]:
    """The checks that failed in a run, and those that passed (asset, check and partition of each).

    That columns are not as declared is told by the ledger, once for all partitions (`alerts/drift.py`).
    """
    run_id, failed, passed = record.dagster_run.run_id, {}, []
    kind = dg.DagsterEventType.ASSET_CHECK_EVALUATION
    for found in instance.get_records_for_run(run_id, of_type=kind).records:
        event = found.event_log_entry.dagster_event
        if event is None:
            continue
        data: Any = event.event_specific_data
        asset, key = data.asset_key.to_user_string(), getattr(data, "partition", None) or ""
        if data.passed:
            passed.append((asset, data.check_name, key))
        elif data.check_name != COLUMNS_ARE_AS_DECLARED:
            failed[asset, data.check_name, key] = FailedCheck(
                run_id, asset, data.check_name, key, data.severity.value, data.description or ""
            )
    # In a range run, the last word on a check is about no partition, and the worst of all.
    of_partitions = {(asset, check) for asset, check, key in failed if key}
    return [
        found
        for (asset, check, key), found in failed.items()
        if key or (asset, check) not in of_partitions
    ], passed


def paces(
    instance: dg.DagsterInstance, tellers: Tellers, pipeline: Pipeline, now: datetime
) -> Iterable[RunPace]:
    """How the pipeline's runs that are under way are doing, beside those of the same job that
    succeeded."""
    under_way = dg.RunsFilter(statuses=[dg.DagsterRunStatus.STARTED])
    for record in instance.get_run_records(under_way):
        run = record.dagster_run
        if tellers.of_run(run).name != pipeline.name:
            continue
        keys = tuple(partitions_of(run, pipeline.partitions))
        usual = estimate(_history(instance, pipeline, run), max(len(keys), 1))
        yield RunPace(
            run.run_id,
            tellers.job_of(run, pipeline),
            keys,
            (now - started_at(record)).total_seconds() - seconds_paused(instance, run),
            usual.most if usual else None,
            (now - max(last_event(instance, run), started_at(record))).total_seconds(),
        )


def _history(
    instance: dg.DagsterInstance, pipeline: Pipeline, run: dg.DagsterRun
) -> Sequence[RunTime]:
    earlier = instance.get_run_records(
        dg.RunsFilter(job_name=run.job_name, statuses=[dg.DagsterRunStatus.SUCCESS]),
        limit=_EARLIER_RUNS,
    )
    return [
        RunTime(
            max(len(partitions_of(one.dagster_run, pipeline.partitions)), 1),
            (ended_at(one) - started_at(one)).total_seconds(),
        )
        for one in earlier
        if one.dagster_run.asset_selection == run.asset_selection
    ]
