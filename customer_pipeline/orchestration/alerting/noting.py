"""What a look has found, handed to the rules: each part in a transaction of its own, so that what goes
wrong with one keeps no other from being noted.

What belongs here: the parts and their order. What does not: the rules (`customer_pipeline/alerts/`),
and looking (`watch.py`).
"""

from __future__ import annotations

import json
import sqlite3
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass
from datetime import datetime, timedelta

import dagster as dg

from customer_pipeline.alerts import runs as rules
from customer_pipeline.alerts.backfills import note_backfill
from customer_pipeline.alerts.drift import watch_drift
from customer_pipeline.alerts.partitions import watch_partitions
from customer_pipeline.alerts.scene import Scene
from customer_pipeline.alerts.store import Store, note_of, set_note
from customer_pipeline.orchestration.alerting import runs as dagster_runs
from customer_pipeline.orchestration.alerting.backfills import Backfills
from customer_pipeline.orchestration.alerting.runs import RecentRuns
from customer_pipeline.orchestration.alerting.tellers import Tellers
from customer_pipeline.orchestration.pipeline import Pipeline
from customer_pipeline.orchestration.run_tags import DAGSTER_BACKFILL

# That long the ledger may be held before runs are told of without it.
_LONGEST_HELD = timedelta(minutes=10)


@dataclass(frozen=True)
class Look:
    """What a look has found of all pipelines. `handled` are the runs that earlier looks are done
    with."""

    instance: dg.DagsterInstance
    tellers: Tellers
    now: datetime
    recent: RecentRuns
    backfills: Backfills
    handled: frozenset[str]
    slow_after: timedelta
    hangs_after: timedelta


@dataclass(frozen=True)
class _Found:
    """What is one pipeline's to tell."""

    look: Look
    pipeline: Pipeline
    scene: Scene

    def own(self, runs: Iterable[dg.RunRecord]) -> list[dg.RunRecord]:
        of_run = self.look.tellers.of_run
        return [run for run in runs if of_run(run.dagster_run).name == self.pipeline.name]


def note_found(store: Store, look: Look, scenes: Mapping[str, Scene]) -> list[Exception]:
    """Note all that there is to tell; what went wrong with some part of it is returned.

    Args:
        scenes: what is known of each pipeline, by its name.
    """
    with store.transaction() as connection:
        tells_of_runs = _may_tell_of_runs(connection, scenes[look.tellers.first.name])
    parts = (_partitions, _drift, _paces, *([_runs] if tells_of_runs else []))
    errors = []
    for pipeline in look.tellers.pipelines:
        found = _Found(look, pipeline, scenes[pipeline.name])
        for part in parts:
            try:
                part(store, found)
            except Exception as error:
                errors.append(error)
    if tells_of_runs and not errors:
        _note_looked(store, look)
    return errors


def _partitions(store: Store, found: _Found) -> None:
    with store.transaction() as connection:
        # First the notices of backfills: what failed in one is told there.
        for backfill in found.look.backfills.ended:
            if backfill.pipeline == found.pipeline.name:
                note_backfill(connection, found.scene, backfill)
        watch_partitions(connection, found.scene)


def _drift(store: Store, found: _Found) -> None:
    with store.transaction() as connection:
        watch_drift(connection, found.scene)


def _paces(store: Store, found: _Found) -> None:
    look = found.look
    paces = list(dagster_runs.paces(look.instance, look.tellers, found.pipeline, look.now))
    with store.transaction() as connection:
        for pace in paces:
            rules.note_pace(
                connection, found.scene, pace, hangs=look.hangs_after, least=look.slow_after
            )


def _runs(store: Store, found: _Found) -> None:
    look, succeeded = found.look, found.own(found.look.recent.succeeded)
    settled = [run for run in found.own(look.recent.failed) if not _is_unsettled(run, look)]
    # Read before it is noted, so that nobody waits for it who has something to write.
    checks = {
        run.dagster_run.run_id: dagster_runs.checks_of(look.instance, run)
        for run in _new(succeeded, found)
    }
    with store.transaction() as connection:
        for run in _new(succeeded, found):
            started = dagster_runs.started_at(run)
            for job in look.tellers.jobs_of(run.dagster_run):
                rules.note_job_success(connection, found.scene, job, started)
            failed, passed = checks[run.dagster_run.run_id]
            rules.note_checks(connection, found.scene, failed, passed)
        for run in _new(settled, found):
            if not _is_told_by_backfill(run, look):
                _note_failed_run(connection, found, run)
        done = {run.dagster_run.run_id for run in (*succeeded, *settled)}
        _note_handled(connection, handled_runs(connection) | done)


def _new(runs: Iterable[dg.RunRecord], found: _Found) -> Iterator[dg.RunRecord]:
    """Those that no earlier look was done with, and that ended since anybody looks."""
    for run in runs:
        ended = dagster_runs.ended_at(run)
        if run.dagster_run.run_id not in found.look.handled and ended >= found.scene.watching_since:
            yield run


def _note_failed_run(connection: sqlite3.Connection, found: _Found, run: dg.RunRecord) -> None:
    failed = dagster_runs.failed_run(run, found.look.tellers)
    rules.note_failed_run(
        connection,
        found.scene,
        failed,
        lambda: dagster_runs.why_it_failed(found.look.instance, failed.run_id),
    )


def _note_looked(store: Store, look: Look) -> None:
    """How far the look came. What it has not seen any more, no later one will."""
    seen = {run.dagster_run.run_id for run in (*look.recent.succeeded, *look.recent.failed)}
    with store.transaction() as connection:
        _note_handled(connection, handled_runs(connection) & seen)
        set_note(connection, "looked_at", str(look.now.timestamp()))


def handled_runs(connection: sqlite3.Connection) -> set[str]:
    """The runs that looks are done with, of those that the next one may still see."""
    return set(json.loads(note_of(connection, "handled_runs") or "[]"))


def _note_handled(connection: sqlite3.Connection, run_ids: set[str]) -> None:
    set_note(connection, "handled_runs", json.dumps(sorted(run_ids)))


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


def _is_unsettled(run: dg.RunRecord, look: Look) -> bool:
    tags = run.dagster_run.tags
    return (
        run.dagster_run.run_id in look.recent.unsettled
        or tags.get(DAGSTER_BACKFILL) in look.backfills.under_way
    )


def _is_told_by_backfill(run: dg.RunRecord, look: Look) -> bool:
    until = look.backfills.runs_until.get(run.dagster_run.tags.get(DAGSTER_BACKFILL, ""))
    return until is not None and dagster_runs.ended_at(run) <= until
