"""One look at ledger and Dagster, of which the rules of alerts note what there is to tell.

What belongs here: what is looked at, in which order, and how far the last look came. What does not: the
rules (`noting.py` hands them what was found), and single parts of Dagster (the modules beside this one).
"""

from __future__ import annotations

import json
from dataclasses import dataclass, replace
from datetime import UTC, datetime, timedelta

import dagster as dg

from customer_pipeline.alerts import runs as rules
from customer_pipeline.alerts.backfills import backfill_identity
from customer_pipeline.alerts.mutes import mutes
from customer_pipeline.alerts.outbox import is_noted
from customer_pipeline.alerts.scene import Scene
from customer_pipeline.alerts.store import Store, note_of, watching_since
from customer_pipeline.alerts.wording import Words
from customer_pipeline.errors import PipelineError, TransientError
from customer_pipeline.orchestration.alerting.automation import failing_automation, on_since
from customer_pipeline.orchestration.alerting.backfills import backfills
from customer_pipeline.orchestration.alerting.due import due_partitions
from customer_pipeline.orchestration.alerting.noting import Found, note_found
from customer_pipeline.orchestration.alerting.runs import recent_runs
from customer_pipeline.orchestration.pipeline import Pipeline
from customer_pipeline.planning.known import Known, read_known

# Seconds. A tick must be short; the next one looks again.
_LOCK_TIMEOUT = 5
# So far each look goes back behind the last one, for what was not settled then.
_OVERLAP = timedelta(hours=1)


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
            self.pipeline.partitions.noun,
            self.pipeline.settings.ui_url.rstrip("/"),
            {name: feed.owner for name, feed in self.pipeline.feeds.items() if feed.owner},
            source.owner,
        )

    def look(self, instance: dg.DagsterInstance, now: datetime | None = None) -> None:
        """Look once, and note all that there is to tell.

        Args:
            now: another moment than the present.

        Raises:
            PipelineError: the warehouse, or the file of alerts, cannot be used. What could be noted
                all the same is noted.
        """
        now = now or datetime.now(UTC)
        with self.store.transaction() as connection:
            began = watching_since(connection, now)
            last = datetime.fromtimestamp(float(note_of(connection, "looked_at") or 0), UTC)
            handled = json.loads(note_of(connection, "handled_runs") or "[]")
            muted = mutes(connection, now)
        # Dagster before the ledger: what has ended by now has told the ledger what it did.
        recent = recent_runs(instance, max(began, last - _OVERLAP), now)
        found = backfills(instance, self.pipeline, since=began, now=now, is_told=self._is_told)
        due = self._due(instance, began, now)
        known, broken = self._ledger()
        scene = Scene(
            now,
            began,
            self.words,
            self.pipeline.partitions.complete_keys(now),
            known,
            recent.unsettled | found.under_way,
            due,
            muted,
            {name: feed.alert_after for name, feed in self.pipeline.feeds.items()},
        )
        errors = note_found(
            self.store,
            Found(
                instance,
                self.pipeline,
                scene,
                recent,
                found,
                frozenset(handled),
                self.slow_after,
                self.hangs_after,
            ),
        )
        if broken or errors:
            raise broken or errors[0]

    def note_automation(self, instance: dg.DagsterInstance) -> None:
        """Note the sensors and schedules that keep failing, the one that looks among them."""
        now = datetime.now(UTC)
        with self.store.transaction() as connection:
            began = watching_since(connection, now)
        failing = list(failing_automation(instance, began))
        with self.store.transaction() as connection:
            scene = Scene(now, began, self.words, (), None)
            rules.note_automation(connection, scene, failing)

    def _ledger(self) -> tuple[Known | None, PipelineError | None]:
        """What the ledger says; or nothing, with the reason where waiting does not help."""
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
        on = on_since(instance, self.pipeline.spec.schedule)
        since = max(on, began) if on else None
        return due_partitions(self.pipeline.partitions, self.pipeline.due_after, since, now)

    def _is_told(self, name: str, parts: int) -> bool:
        with self.store.transaction() as connection:
            return is_noted(connection, backfill_identity(name, parts))
