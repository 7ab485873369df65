"""One look at ledger and Dagster, of which the rules of alerts note what there is to tell.

What belongs here: in which order is looked, and how far the last look came. What does not: the rules
(`customer_pipeline/alerts/`), and single parts of Dagster (the modules beside this one).
"""

from __future__ import annotations

import json
import sqlite3
from dataclasses import dataclass, replace
from datetime import UTC, datetime, timedelta

import dagster as dg

from customer_pipeline.alerts import runs as rules
from customer_pipeline.alerts.backfills import backfill_identity, note_backfill
from customer_pipeline.alerts.mutes import mutes
from customer_pipeline.alerts.outbox import is_noted
from customer_pipeline.alerts.partitions import watch_partitions
from customer_pipeline.alerts.scene import Scene
from customer_pipeline.alerts.store import Store, note_of, set_note, watching_since
from customer_pipeline.alerts.wording import Words
from customer_pipeline.errors import PipelineError, TransientError
from customer_pipeline.orchestration.alerting import runs as dagster_runs
from customer_pipeline.orchestration.alerting.automation import failing_automation, on_since
from customer_pipeline.orchestration.alerting.backfills import OF_DAGSTER, Backfills, backfills
from customer_pipeline.orchestration.alerting.due import due_partitions
from customer_pipeline.orchestration.jobs import DAILY_SCHEDULE
from customer_pipeline.orchestration.pipeline import Pipeline
from customer_pipeline.planning.known import Known, read_known

# Seconds. A tick must be short; the next one looks again.
_LOCK_TIMEOUT = 5
# So far each look goes back behind the last one, for what was not settled then.
_OVERLAP = timedelta(hours=1)
# That long the ledger may be held before runs are told of without it.
_LONGEST_HELD = timedelta(minutes=10)


@dataclass(frozen=True)
class Watch:
    """Who looks: over which pipeline, and where alerts are kept.

    `slow_after` is what a run is given at least before it is called slow; after `hangs_after` without
    a word from it, a run hangs.
    """

    pipeline: Pipeline
    slow_after: timedelta = timedelta(minutes=5)
    hangs_after: timedelta = timedelta(hours=1)

    @property
    def store(self) -> Store:
        return Store(self.pipeline.settings.alerts_path)

    @property
    def words(self) -> Words:
        source = self.pipeline.source
        return Words(
            self.pipeline.name,
            self.pipeline.partitions.unit,
            self.pipeline.settings.ui_url.rstrip("/"),
            {name: feed.owner for name, feed in source.feeds.items() if feed.owner},
            source.owner,
        )

    def look(self, instance: dg.DagsterInstance, now: datetime | None = None) -> None:
        """Look once, and note all that there is to tell.

        Args:
            now: another moment than the present.

        Raises:
            ConfigError: the warehouse, or the file of alerts, cannot be used. What could be noted all
                the same is noted.
        """
        now = now or datetime.now(UTC)
        with self.store.transaction() as connection:
            began = watching_since(connection, now)
            last = datetime.fromtimestamp(float(note_of(connection, "looked_at") or 0), UTC)
            handled = set(json.loads(note_of(connection, "handled_runs") or "[]"))
        since = max(began, last - _OVERLAP)
        # Dagster before the ledger: what has ended by now has told the ledger what it did.
        recent = dagster_runs.recent_runs(instance, since, now)
        found = backfills(instance, self.pipeline, since=began, now=now, is_told=self._is_told)
        known, broken = self._ledger()
        with self.store.transaction() as connection:
            scene = Scene(
                now,
                began,
                self.words,
                self.pipeline.partitions.complete_keys(now),
                known,
                recent.unsettled | found.under_way,
                self._due(instance, began, now),
                mutes(connection, now),
                {name: feed.alert_after for name, feed in self.pipeline.feeds.items()},
            )
            self._note(connection, instance, scene, recent, found, handled)
            set_note(connection, "looked_at", str(now.timestamp()))
        if broken:
            raise broken

    def note_automation(self, instance: dg.DagsterInstance) -> None:
        """Note the sensors and schedules that keep failing, this one's neighbour among them."""
        now = datetime.now(UTC)
        with self.store.transaction() as connection:
            began = watching_since(connection, now)
        failing = list(failing_automation(instance, began))
        with self.store.transaction() as connection:
            scene = Scene(now, began, self.words, (), None)
            rules.note_automation(connection, scene, failing)

    def _ledger(self) -> tuple[Known | None, PipelineError | None]:
        """What the ledger says, or why it says nothing."""
        warehouse = replace(self.pipeline.warehouse, lock_timeout=_LOCK_TIMEOUT)
        try:
            return read_known(warehouse, self.pipeline.name, self.pipeline.feeds), None
        except TransientError:
            return None, None
        except PipelineError as error:
            return None, error

    def _due(
        self, instance: dg.DagsterInstance, began: datetime, now: datetime
    ) -> dict[str, datetime]:
        on = on_since(instance, DAILY_SCHEDULE)
        since = max(on, began) if on else None
        by = self.pipeline.settings.due_by
        return due_partitions(self.pipeline.partitions, by, since, now)

    def _is_told(self, name: str, parts: int) -> bool:
        with self.store.transaction() as connection:
            return is_noted(connection, backfill_identity(name, parts))

    def _note(
        self,
        connection: sqlite3.Connection,
        instance: dg.DagsterInstance,
        scene: Scene,
        recent: dagster_runs.RecentRuns,
        found: Backfills,
        handled: set[str],
    ) -> None:
        # First the notices of backfills: what failed in one is told there.
        for backfill in found.ended:
            note_backfill(connection, scene, backfill)
        watch_partitions(connection, scene)
        for pace in dagster_runs.paces(instance, self.pipeline, scene.now):
            rules.note_pace(connection, scene, pace, hangs=self._silence, least=self.slow_after)
        if not self._may_tell_of_runs(connection, scene):
            return
        for record in recent.succeeded:
            if record.dagster_run.run_id not in handled:
                self._note_success(connection, instance, scene, record)
        settled = [record for record in recent.failed if not _is_unsettled(record, scene, found)]
        for record in settled:
            run_id = record.dagster_run.run_id
            of_backfill = _is_told_by_backfill(record, found)
            if run_id not in handled and not of_backfill and _ended_since(record, scene):
                rules.note_failed_run(
                    connection,
                    scene,
                    dagster_runs.failed_run(record, self.pipeline),
                    lambda run_id=run_id: dagster_runs.why_it_failed(instance, run_id),
                )
        done = [record.dagster_run.run_id for record in (*recent.succeeded, *settled)]
        set_note(connection, "handled_runs", json.dumps(done))

    def _note_success(
        self,
        connection: sqlite3.Connection,
        instance: dg.DagsterInstance,
        scene: Scene,
        record: dg.RunRecord,
    ) -> None:
        if not _ended_since(record, scene):
            return
        run = record.dagster_run
        rules.note_job_success(connection, scene, run.job_name, dagster_runs.started_at(record))
        failed, passed = dagster_runs.checks_of(instance, record)
        rules.note_checks(connection, scene, failed, passed)

    @property
    def _silence(self) -> timedelta:
        """A step that waits for its next attempt says nothing meanwhile."""
        return max(self.hangs_after, timedelta(seconds=2 * self.pipeline.settings.retry_delay))

    def _may_tell_of_runs(self, connection: sqlite3.Connection, scene: Scene) -> bool:
        """Whether the ledger says what became of their partitions, or could not be read for so long
        that they are told of without it."""
        unread_since = note_of(connection, "ledger_unread_since")
        if scene.known is not None:
            set_note(connection, "ledger_unread_since", "")
            return True
        if not unread_since:
            set_note(connection, "ledger_unread_since", str(scene.now.timestamp()))
            return False
        return scene.now.timestamp() - float(unread_since) >= _LONGEST_HELD.total_seconds()


def _is_unsettled(record: dg.RunRecord, scene: Scene, found: Backfills) -> bool:
    run = record.dagster_run
    return run.run_id in scene.unsettled or run.tags.get(OF_DAGSTER) in found.under_way


def _is_told_by_backfill(record: dg.RunRecord, found: Backfills) -> bool:
    until = found.runs_until.get(record.dagster_run.tags.get(OF_DAGSTER, ""))
    return until is not None and dagster_runs.ended_at(record) <= until


def _ended_since(record: dg.RunRecord, scene: Scene) -> bool:
    return dagster_runs.ended_at(record) >= scene.watching_since
