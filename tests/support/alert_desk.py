"""A shop's ledger and a Dagster instance in which a test says what happened, and who looks at both and
tells what there is to tell.
"""

from __future__ import annotations

import time
from collections.abc import Mapping, Sequence
from datetime import UTC, datetime, timedelta
from uuid import uuid4

import dagster as dg
from dagster._core.execution.backfill import BulkActionStatus, PartitionBackfill
from dagster._core.remote_origin import (
    RemoteJobOrigin,
)
from dagster._core.test_utils import freeze_time
from dagster_shared.record import replace

from customer_pipeline.alerts.channels import parse_channels
from customer_pipeline.alerts.sending import deliver
from customer_pipeline.orchestration.alerting.sensors import WATCH
from customer_pipeline.orchestration.alerting.watch import Watch
from customer_pipeline.orchestration.location import build_defs, build_pipelines
from customer_pipeline.orchestration.pipeline import Pipeline
from customer_pipeline.outcomes import Casualty, Stage
from customer_pipeline.warehouse.ledger import Published, Run, record_failures, record_published
from customer_pipeline.warehouse.schema import ensure_ledger
from customer_pipeline.warehouse.sql import transaction
from tests.support.instance_traces import REPOSITORY
from tests.support.receiver import Received, Receiver
from tests.support.shop import Shop

DAILY, MONTHLY = "daily_customer_pipeline", "monthly_trips_pipeline"
REFRESH = "reporting_refresh"


class AlertDesk:
    """What happened, by the methods of that name; `told` is what the receiver was told since the last
    look. What a run says of partitions, it says of its job's pipeline, or else of the first."""

    def __init__(self, shop: Shop, instance: dg.DagsterInstance, receiver: Receiver) -> None:
        self.shop, self.instance, self.receiver = shop, instance, receiver
        self.repository = build_defs(shop.settings).get_repository_def()
        self.watch = Watch(tuple(build_pipelines(shop.settings)))
        self.channels = parse_channels(receiver.url("a"))
        self.ahead, self._read = timedelta(), 0
        self._models: dict[str, dg.DagsterRun] = {}
        self.told()

    @property
    def pipeline(self) -> Pipeline:
        return self.watch.pipelines[0]

    def told(self, *, after: timedelta = timedelta()) -> list[Received]:
        """Look, tell, and say what was told, some time later than before."""
        self.ahead += after
        self.watch.look(self.instance, self._now())
        self.watch.note_automation(self.instance)
        return self.deliver()

    def tick(self) -> None:
        """Look as the daemon does."""
        sensor = self.repository.get_sensor_def(WATCH)
        with dg.build_sensor_context(self.instance, repository_def=self.repository) as context:
            sensor.evaluate_tick(context)

    def deliver(self) -> list[Received]:
        """Tell, and say what was told."""
        deliver(self.watch.store, self.channels, lambda _: None, now=self._now)
        received = self.receiver.taken("a")
        new, self._read = received[self._read :], len(received)
        return new

    def run(
        self,
        *days: str,
        job: str = DAILY,
        status: dg.DagsterRunStatus = dg.DagsterRunStatus.STARTED,
        only: Sequence[str] = (),
        assets: frozenset[dg.AssetKey] = frozenset(),
        tags: Mapping[str, str] | None = None,
    ) -> dg.DagsterRun:
        """A run over these days (a range, when there are several).

        Args:
            assets: those that it was asked for, instead of a job's.
            only: the first parts of the keys of such assets.
        """
        of_days: dict[str, str] = {}
        if len(days) == 1:
            of_days = {"dagster/partition": days[0]}
        elif days:
            of_days = {
                "dagster/asset_partition_range_start": days[0],
                "dagster/asset_partition_range_end": days[-1],
            }
        # Unless a test says so, Dagster does not try again.
        tags = {"dagster/max_retries": "0"} | of_days | dict(tags or {})
        keys = self.repository.asset_graph.get_all_asset_keys()
        run = replace(
            self._model(job),
            run_id=str(uuid4()),
            status=status,
            tags=tags,
            # Empty, as it is in a run by the command line.
            asset_selection=assets | {key for key in keys if key.path[0] in only},
        )
        return self.instance.add_run(run)

    def _model(self, job: str) -> dg.DagsterRun:
        """A run of a job, of which the others are copies: planning each would take a while."""
        if job not in self._models:
            model = self.instance.create_run_for_job(
                self.repository.get_job(job),
                status=dg.DagsterRunStatus.CANCELED,
                remote_job_origin=RemoteJobOrigin(REPOSITORY, job),
            )
            self._models[job] = model
        return self._models[job]

    def succeed(self, run: dg.DagsterRun, *, after: timedelta = timedelta()) -> None:
        """The run begins now, and has succeeded some time later."""
        now = datetime.now(UTC)
        for kind, at in (("PIPELINE_START", now), ("PIPELINE_SUCCESS", now + after)):
            with freeze_time(at):
                self.instance.report_dagster_event(dg.DagsterEvent(kind, run.job_name), run.run_id)

    def fail(
        self,
        run: dg.DagsterRun,
        *days: str,
        why: str = "orders: cut off",
        stage: Stage = "extract",
        end: bool = True,
    ) -> None:
        """These days fail in a run, which ends then."""
        with self.pipeline.warehouse.write() as connection:
            ensure_ledger(connection)
            record_failures(connection, self._of(run), [Casualty(day, stage, why) for day in days])
        if end:
            self.instance.report_run_failed(run)

    def publish(self, run: dg.DagsterRun, *days: str) -> None:
        """These days are published by a run."""
        now, of_run = datetime.now(UTC), self._of(run)
        with self.pipeline.warehouse.write() as connection, transaction(connection):
            ensure_ledger(connection)
            record_published(
                connection,
                of_run,
                [
                    Published(
                        *(of_run.pipeline, day, "published", 10, 0, 10, 4, "f", "h", "v"),
                        run.run_id,
                        now,
                    )
                    for day in days
                ],
            )

    def failed(
        self, *days: str, why: str = "orders: cut off", job: str = DAILY, **tags: str
    ) -> dg.DagsterRun:
        """A run over these days in which all of them failed."""
        run = self.run(*days, job=job, tags=tags)
        self.fail(run, *days, why=why)
        return run

    def failed_each(self, days: Sequence[str], **tags: str) -> None:
        """A run for each of these days, which failed. (All at once, since there may be many.)"""
        runs = [self.run(day, status=dg.DagsterRunStatus.FAILURE, tags=tags) for day in days]
        with self.pipeline.warehouse.write() as connection:
            ensure_ledger(connection)
            for run, day in zip(runs, days, strict=True):
                why = f"orders: there is no delivery of {day}"
                record_failures(connection, self._of(run), [Casualty(day, "extract", why)])

    def published(self, *days: str, job: str = DAILY, **tags: str) -> dg.DagsterRun:
        run = self.run(*days, job=job, status=dg.DagsterRunStatus.SUCCESS, tags=tags)
        self.publish(run, *days)
        return run

    def backfill(
        self,
        name: str,
        *,
        status: str = "REQUESTED",
        assets: Sequence[dg.AssetKey] | None = None,
        tags: Mapping[str, str] | None = None,
    ) -> None:
        """A backfill of Dagster of that name, or what became of it.

        Args:
            assets: those that it was asked for, where Dagster has kept that.
        """
        if (known := self.instance.get_backfill(name)) is None:
            known = PartitionBackfill(
                backfill_id=name,
                status=BulkActionStatus.REQUESTED,
                from_failure=False,
                tags=dict(tags or {}),
                backfill_timestamp=time.time(),
                asset_selection=assets,
            )
            self.instance.add_backfill(known)
        ended = known.with_status(BulkActionStatus(status)).with_end_timestamp(time.time())
        self.instance.update_backfill(ended)

    def _of(self, run: dg.DagsterRun) -> Run:
        of_job = (one for one in self.watch.pipelines if one.spec.job == run.job_name)
        return next(of_job, self.pipeline).run(run, started_at=time.time())

    def _now(self) -> datetime:
        return datetime.now(UTC) + self.ahead
