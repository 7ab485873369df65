"""What a look has found, handed to the rules: each part in a transaction of its own, so that what goes
wrong with one keeps no other from being noted.

What belongs here: the parts and their order. What does not: the rules (`customer_pipeline/alerts/`),
and looking (`watch.py`).
"""

from __future__ import annotations

import json
import sqlite3
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from datetime import timedelta

import dagster as dg

from customer_pipeline.alerts import runs as rules
from customer_pipeline.alerts.backfills import note_backfill
from customer_pipeline.alerts.partitions import watch_partitions
from customer_pipeline.alerts.scene import Scene
from customer_pipeline.alerts.store import Store, note_of, set_note
from customer_pipeline.orchestration.alerting import runs as dagster_runs
from customer_pipeline.orchestration.alerting.backfills import Backfills
from customer_pipeline.orchestration.alerting.runs import RecentRuns
from customer_pipeline.orchestration.pipeline import Pipeline
from customer_pipeline.orchestration.run_tags import DAGSTER_BACKFILL

# That long the ledger may be held before runs are told of without it.
_LONGEST_HELD = timedelta(minutes=10)


@dataclass(frozen=True)
class Found:
    """What a look has found. `handled` are the runs that earlier looks are done with."""

    instance: dg.DagsterInstance
    pipeline: Pipeline
    scene: Scene
    recent: RecentRuns
    backfills: Backfills
    handled: frozenset[str]
    slow_after: timedelta
    hangs_after: timedelta


def note_found(store: Store, found: Found) -> list[Exception]:
    """Note all that there is to tell; what went wrong with some part of it is returned."""
    errors = []
    parts: tuple[Callable[[Store, Found], None], ...] = (_partitions, _paces, _runs)
    for part in parts:
        try:
            part(store, found)
        except Exception as error:
            errors.append(error)
    return errors


def _partitions(store: Store, found: Found) -> None:
    with store.transaction() as connection:
        # First the notices of backfills: what failed in one is told there.
        for backfill in found.backfills.ended:
            note_backfill(connection, found.scene, backfill)
        watch_partitions(connection, found.scene)


def _paces(store: Store, found: Found) -> None:
    # A step that waits for its next attempt says nothing meanwhile.
    pause = timedelta(seconds=2 * found.pipeline.retry_delay)
    hangs = max(found.hangs_after, pause)
    paces = list(dagster_runs.paces(found.instance, found.pipeline, found.scene.now))
    with store.transaction() as connection:
        for pace in paces:
            rules.note_pace(connection, found.scene, pace, hangs=hangs, least=found.slow_after)


def _runs(store: Store, found: Found) -> None:
    with store.transaction() as connection:
        if not _may_tell_of_runs(connection, found.scene):
            return
    settled = [run for run in found.recent.failed if not _is_unsettled(run, found)]
    # Read before it is noted, so that nobody waits for it who has something to write.
    checks = {
        run.dagster_run.run_id: dagster_runs.checks_of(found.instance, run)
        for run in _new(found.recent.succeeded, found)
    }
    with store.transaction() as connection:
        for run in _new(found.recent.succeeded, found):
            job, started = run.dagster_run.job_name, dagster_runs.started_at(run)
            rules.note_job_success(connection, found.scene, job, started)
            failed, passed = checks[run.dagster_run.run_id]
            rules.note_checks(connection, found.scene, failed, passed)
        for run in _new(settled, found):
            if not _is_told_by_backfill(run, found):
                _note_failed_run(connection, found, run)
        done = [run.dagster_run.run_id for run in (*found.recent.succeeded, *settled)]
        set_note(connection, "handled_runs", json.dumps(done))
        set_note(connection, "looked_at", str(found.scene.now.timestamp()))


def _new(
    runs: tuple[dg.RunRecord, ...] | list[dg.RunRecord], found: Found
) -> Iterator[dg.RunRecord]:
    """Those that no earlier look was done with, and that ended since anybody looks."""
    for run in runs:
        ended = dagster_runs.ended_at(run)
        if run.dagster_run.run_id not in found.handled and ended >= found.scene.watching_since:
            yield run


def _note_failed_run(connection: sqlite3.Connection, found: Found, run: dg.RunRecord) -> None:
    failed = dagster_runs.failed_run(run, found.pipeline)
    rules.note_failed_run(
        connection,
        found.scene,
        failed,
        lambda: dagster_runs.why_it_failed(found.instance, failed.run_id),
    )


def _may_tell_of_runs(connection: sqlite3.Connection, scene: Scene) -> bool:
    """Whether the ledger says what became of their partitions, or could not be read for so long that
    they are told of without it."""
    unread_since = note_of(connection, "ledger_unread_since")
    if scene.known is not None:
        set_note(connection, "ledger_unread_since", "")
        return True
    if not unread_since:
        set_note(connection, "ledger_unread_since", str(scene.now.timestamp()))
        return False
    return scene.now.timestamp() - float(unread_since) >= _LONGEST_HELD.total_seconds()


def _is_unsettled(run: dg.RunRecord, found: Found) -> bool:
    tags = run.dagster_run.tags
    return (
        run.dagster_run.run_id in found.scene.unsettled
        or tags.get(DAGSTER_BACKFILL) in found.backfills.under_way
    )


def _is_told_by_backfill(run: dg.RunRecord, found: Found) -> bool:
    until = found.backfills.runs_until.get(run.dagster_run.tags.get(DAGSTER_BACKFILL, ""))
    return until is not None and dagster_runs.ended_at(run) <= until
