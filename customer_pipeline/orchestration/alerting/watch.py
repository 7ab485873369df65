"""One look at ledger and Dagster, of which the rules of alerts note what there is to tell.

What belongs here: what is looked at, in which order, and how far the last look came. What does not: the
rules (`noting.py` hands them what was found), and single parts of Dagster (the modules beside this one).
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta

import dagster as dg

from customer_pipeline.alerts import runs as rules
from customer_pipeline.alerts.backfills import backfill_identity
from customer_pipeline.alerts.mutes import mutes
from customer_pipeline.alerts.outbox import is_noted
from customer_pipeline.alerts.scene import Scene
from customer_pipeline.alerts.store import Store, note_of, watching_since
from customer_pipeline.orchestration.alerting.automation import failing_automation, on_since
from customer_pipeline.orchestration.alerting.backfills import backfills
from customer_pipeline.orchestration.alerting.due import due_partitions
from customer_pipeline.orchestration.alerting.ledger import read_ledger
from customer_pipeline.orchestration.alerting.noting import Look, handled_runs, note_found
from customer_pipeline.orchestration.alerting.runs import recent_runs
from customer_pipeline.orchestration.alerting.scenes import words_of
from customer_pipeline.orchestration.alerting.tellers import Tellers
from customer_pipeline.orchestration.pipeline import Pipeline

# So far each look goes back behind the last one, for what was not settled then.
_OVERLAP = timedelta(hours=1)


@dataclass(frozen=True)
class Watch:
    """Who looks: over which pipelines, of which the first tells what belongs to none.

    `slow_after` is what a run is given at least before it is called slow; after `hangs_after` without
    a word from it, a run hangs.
    """

    pipelines: Sequence[Pipeline]
    slow_after: timedelta = timedelta(minutes=5)
    hangs_after: timedelta = timedelta(hours=1)

    @property
    def store(self) -> Store:
        return Store(self.pipelines[0].settings.alerts_path)

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
            handled = handled_runs(connection)
            muted = mutes(connection, now)
        # Dagster before the ledger: what has ended by now has told the ledger what it did.
        tellers = Tellers(self.pipelines)
        recent = recent_runs(instance, max(began, last - _OVERLAP), now)
        found = backfills(instance, tellers, since=began, now=now, is_told=self._is_told)
        due = {one.name: self._due(instance, one, began, now) for one in self.pipelines}
        ledger, broken = read_ledger(self.pipelines)
        look = Look(
            instance,
            tellers,
            now,
            recent,
            found,
            frozenset(handled),
            self.slow_after,
            self.hangs_after,
        )
        scenes = {
            pipeline.name: Scene(
                now,
                began,
                words_of(pipeline),
                pipeline.partitions.complete_keys(now),
                ledger[pipeline.name].known if ledger else None,
                recent.unsettled | found.under_way,
                due[pipeline.name],
                muted,
                {name: feed.alert_after for name, feed in pipeline.feeds.items()},
                ledger[pipeline.name].drift if ledger else (),
            )
            for pipeline in self.pipelines
        }
        errors = note_found(self.store, look, scenes)
        if broken or errors:
            raise broken or errors[0]

    def note_automation(self, instance: dg.DagsterInstance) -> None:
        """Note the sensors and schedules that keep failing, the one that looks among them."""
        now = datetime.now(UTC)
        with self.store.transaction() as connection:
            began = watching_since(connection, now)
        failing = list(failing_automation(instance, began))
        with self.store.transaction() as connection:
            scene = Scene(now, began, words_of(self.pipelines[0]), (), None)
            rules.note_automation(connection, scene, failing)

    def _due(
        self, instance: dg.DagsterInstance, pipeline: Pipeline, began: datetime, now: datetime
    ) -> dict[str, datetime]:
        on = on_since(instance, pipeline.spec.schedule)
        since = max(on, began) if on else None
        return due_partitions(pipeline.partitions, pipeline.due_after, since, now)

    def _is_told(self, name: str, parts: int) -> bool:
        with self.store.transaction() as connection:
            return is_noted(connection, backfill_identity(name, parts))
