"""What is going on in a Dagster instance: who is about to publish, and who refreshes.

Dagster's word that a run is active is not enough. One whose process was killed from the command
line, or together with the daemon, looks active until a person says that it is not. So what has not
stirred for an hour is taken for dead; what waits for another attempt, an hour after that is due.

What belongs here: looking at runs and backfills. What does not: what follows from it
(`reporting_sensor.py`).
"""

from __future__ import annotations

from collections.abc import Iterator, Set
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta

import dagster as dg

from customer_pipeline.orchestration.jobs import REFRESH_JOB
from customer_pipeline.orchestration.pipeline import Pipeline
from customer_pipeline.orchestration.reporting import reporting_keys
from customer_pipeline.orchestration.run_tags import DAGSTER_BACKFILL, RETRIED_BY, WILL_RETRY
from customer_pipeline.orchestration.specs import mart_key

_SILENCE = timedelta(hours=1)
ACTIVE = (
    dg.DagsterRunStatus.QUEUED,
    dg.DagsterRunStatus.NOT_STARTED,
    dg.DagsterRunStatus.STARTING,
    dg.DagsterRunStatus.STARTED,
    dg.DagsterRunStatus.CANCELING,
)
_ACTIVE_BACKFILL = ("REQUESTED", "CANCELING", "FAILING")
_NEWEST_BACKFILLS = 50


@dataclass(frozen=True)
class Activity:
    """Runs and backfills that are alive, in words such as `run 0a1b…`.

    `publishing` are those that may publish more; they may refresh too, once they have published.
    `refreshing` only refresh.
    """

    publishing: tuple[str, ...]
    refreshing: tuple[str, ...]


def activity(instance: dg.DagsterInstance, pipeline: Pipeline, now: datetime) -> Activity:
    """What goes on at the moment `now`."""
    marts = _marts(pipeline)
    tables = set(reporting_keys(pipeline))
    silences = list(_silences(instance, now))
    publishing = [
        run for run, silence in silences if _is_alive(silence) and publishes(run, pipeline)
    ]
    refreshing = [
        run
        for run, silence in silences
        if _is_alive(silence) and run not in publishing and _selects(run, tables, REFRESH_JOB)
    ]
    return Activity(
        (
            *(f"run {run.run_id}" for run in publishing),
            *(
                f"backfill {backfill.backfill_id}"
                for backfill in _live_backfills(instance, marts, now - _SILENCE)
            ),
        ),
        tuple(f"run {run.run_id}" for run in refreshing),
    )


def publishing_runs(
    instance: dg.DagsterInstance, pipeline: Pipeline, now: datetime
) -> list[dg.DagsterRun]:
    """The live runs that may publish more."""
    return [run for run in live_runs(instance, now) if publishes(run, pipeline)]


def publishes(run: dg.DagsterRun, pipeline: Pipeline) -> bool:
    """Whether a run is one that publishes partitions of the pipeline."""
    return _selects(run, _marts(pipeline), pipeline.spec.job)


def publishing_runs_to_retry(
    instance: dg.DagsterInstance, pipeline: Pipeline, now: datetime
) -> list[dg.DagsterRun]:
    """The failed runs, of those that publish, in whose place Dagster is about to start another."""
    failed = instance.get_runs(
        dg.RunsFilter(
            statuses=[dg.DagsterRunStatus.FAILURE],
            tags={WILL_RETRY: "true"},
            updated_after=now - _SILENCE,
        )
    )
    return [run for run in failed if RETRIED_BY not in run.tags and publishes(run, pipeline)]


def publishing_backfills(instance: dg.DagsterInstance, pipeline: Pipeline, now: datetime) -> list:
    """The live backfills (Dagster's `PartitionBackfill`) that may publish more."""
    return list(_live_backfills(instance, _marts(pipeline), now - _SILENCE))


def stuck_runs(instance: dg.DagsterInstance, now: datetime) -> list[dg.DagsterRun]:
    """The runs, of whatever job, that look active and have not stirred for an hour, newest first."""
    return [run for run, silence in _silences(instance, now) if not _is_alive(silence)]


def _marts(pipeline: Pipeline) -> set[dg.AssetKey]:
    return {mart_key(mart) for mart in pipeline.marts}


def _selects(run: dg.DagsterRun, keys: Set[dg.AssetKey], job: str) -> bool:
    # A run in the process that asked for it has an empty one.
    if not run.asset_selection:
        return run.job_name == job
    return not keys.isdisjoint(run.asset_selection)


def live_runs(instance: dg.DagsterInstance, now: datetime) -> Iterator[dg.DagsterRun]:
    """The runs that are queued or under way, without those that look so and are dead."""
    for run, silence in _silences(instance, now):
        if _is_alive(silence):
            yield run


def _silences(
    instance: dg.DagsterInstance, now: datetime
) -> Iterator[tuple[dg.DagsterRun, timedelta]]:
    """The runs that look active, each with how long nothing was heard of it."""
    for record in instance.get_run_records(dg.RunsFilter(statuses=list(ACTIVE))):
        run = record.dagster_run
        # Nothing is heard of a run that waits for its turn, however long that takes.
        if run.status is dg.DagsterRunStatus.QUEUED:
            yield run, timedelta(0)
        else:
            yield run, now - max(record.update_timestamp, last_event(instance, run))


def _is_alive(silence: timedelta) -> bool:
    return silence <= _SILENCE


def last_event(instance: dg.DagsterInstance, run: dg.DagsterRun) -> datetime:
    """When something was heard of a run last; while a step of it waits for another attempt, when that
    begins."""
    found = instance.get_records_for_run(run.run_id, limit=1, ascending=False).records
    newest = found[0].timestamp if found else 0
    ends = (noted + seconds for noted, seconds in _pauses(instance, run))
    return datetime.fromtimestamp(max([newest, *ends]), UTC)


def seconds_paused(instance: dg.DagsterInstance, run: dg.DagsterRun) -> float:
    """For how long the steps of a run wait, or have waited, for another attempt."""
    return sum(seconds for _, seconds in _pauses(instance, run))


def _pauses(instance: dg.DagsterInstance, run: dg.DagsterRun) -> Iterator[tuple[float, float]]:
    """When each pause between two attempts began (seconds since the epoch), and its length."""
    retries = dg.DagsterEventType.STEP_UP_FOR_RETRY
    for record in instance.get_records_for_run(run.run_id, of_type=retries).records:
        event = record.event_log_entry.dagster_event
        if event:
            yield record.timestamp, event.step_retry_data.seconds_to_wait or 0


def _live_backfills(
    instance: dg.DagsterInstance, marts: Set[dg.AssetKey], since: datetime
) -> Iterator:
    for backfill in instance.get_backfills(limit=_NEWEST_BACKFILLS):
        if backfill.status.value not in _ACTIVE_BACKFILL:
            continue
        if marts.isdisjoint(backfill.asset_selection or marts):
            continue
        begun = datetime.fromtimestamp(backfill.backfill_timestamp, UTC)
        if max(begun, _last_change(instance, backfill.backfill_id)) >= since:
            yield backfill


def _last_change(instance: dg.DagsterInstance, backfill_id: str) -> datetime:
    """When a run of the backfill began or ended last."""
    of_backfill = dg.RunsFilter(tags={DAGSTER_BACKFILL: backfill_id})
    found = instance.get_run_records(of_backfill, limit=1, order_by="update_timestamp")
    return found[0].update_timestamp if found else datetime.fromtimestamp(0, UTC)
