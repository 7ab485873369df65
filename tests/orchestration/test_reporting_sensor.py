"""The sensor that asks for refreshes: when it does, under which key, and what it waits for (cases
S1, S4, S5, S7, S8). The same with the daemon: `tests/doors/test_reporting_trigger.py`.
"""

from __future__ import annotations

import time
from collections.abc import Iterator, Mapping, Sequence
from datetime import UTC, datetime, timedelta
from typing import Any

import dagster as dg
import duckdb
import pytest
from dagster._core.execution.backfill import BulkActionStatus, PartitionBackfill
from dagster._core.remote_origin import (
    RemoteJobOrigin,
)
from dagster._core.test_utils import freeze_time

from customer_pipeline.errors import ConfigError
from customer_pipeline.orchestration import reporting_sensor
from customer_pipeline.orchestration.location import build_defs
from customer_pipeline.orchestration.run_tags import REFRESH
from customer_pipeline.warehouse.publications import Mark, record_mark, record_publication
from customer_pipeline.warehouse.schema import ensure_ledger
from tests.support.dagster_processes import Home
from tests.support.instance_traces import REPOSITORY
from tests.support.shop import Shop
from tests.support.stages import new_run, run_stages
from tests.support.warehouse import query
from tests.warehouse.test_connection import held

DAYS = [f"2026-03-{day:02}" for day in range(1, 7)]
NOTHING = "the reporting tables hold everything that is published"
HOUR = timedelta(hours=1)
STARTED, QUEUED = dg.DagsterRunStatus.STARTED, dg.DagsterRunStatus.QUEUED


class Clock(datetime):
    """The sensor's clock, which a test sets forward."""

    ahead = timedelta()

    @classmethod
    def now(cls, tz=None) -> datetime:
        return datetime.now(tz) + cls.ahead


class Desk:
    """A shop, the sensor over it, and the instance that the sensor looks at."""

    def __init__(self, shop: Shop, instance: dg.DagsterInstance) -> None:
        self.shop, self.instance = shop, instance
        self.path = shop.settings.warehouse_path
        self.repository = build_defs(shop.settings).get_repository_def()

    def publish(self, *days: str) -> None:
        """What publishing these days together leaves in the ledger, for the sensor."""
        run = new_run(self.shop.pipeline)
        with self.shop.pipeline.warehouse.write() as connection:
            ensure_ledger(connection)
            record_publication(connection, run, dict.fromkeys(days, "a hash"))

    def tick(self) -> dg.RunRequest | str:
        """What a tick asks for, or why it asks for nothing."""
        sensor = self.repository.get_sensor_def("reporting_on_publish")
        with dg.build_sensor_context(self.instance, repository_def=self.repository) as context:
            evaluated = sensor.evaluate_tick(context)
        if not evaluated.run_requests:
            return evaluated.skip_message or ""
        (request,) = evaluated.run_requests
        assert isinstance(request, dg.RunRequest)
        return request

    def asked(self) -> dg.RunRequest:
        request = self.tick()
        assert isinstance(request, dg.RunRequest), request
        return request

    def run(
        self,
        job: str,
        *,
        only: Sequence[str] = (),
        status: dg.DagsterRunStatus = STARTED,
        tags: Mapping[str, str] | None = None,
    ) -> dg.DagsterRun:
        """A run that has come as far as `status`.

        Args:
            only: the first parts of the keys of the assets that are selected; without, all of the
                job's are.
        """
        keys = {
            key for key in self.repository.asset_graph.get_all_asset_keys() if key.path[0] in only
        }
        return self.instance.create_run_for_job(
            self.repository.get_job(job),
            status=status,
            asset_selection=keys or None,
            tags=tags,
            remote_job_origin=RemoteJobOrigin(REPOSITORY, job),
        )

    def launched(self, request: dg.RunRequest) -> dg.DagsterRun:
        """The run that the daemon makes of a request."""
        tags = dict(request.tags) | {"dagster/run_key": request.run_key or ""}
        return self.run("reporting_refresh", tags=tags)

    def refreshed(self) -> None:
        """What a refresh leaves in the ledger."""
        with self.shop.pipeline.warehouse.write() as connection:
            standing = self.shop.pipeline.reporting.standing(connection)
            version = self.shop.pipeline.reporting._version(connection)
            record_mark(
                connection,
                "daily_customers_reporting",
                Mark(standing.publication, version),
                run_id="r",
            )

    def change(self, sql: str) -> None:
        with duckdb.connect(str(self.path)) as connection:
            connection.execute(sql)


@pytest.fixture
def clock(monkeypatch: pytest.MonkeyPatch) -> Iterator[type[Clock]]:
    monkeypatch.setattr(reporting_sensor, "datetime", Clock)
    yield Clock
    Clock.ahead = timedelta()


@pytest.fixture
def desk(shop: Shop, home: Home) -> Iterator[Desk]:
    with home.instance() as instance:
        yield Desk(shop, instance)


def test_without_a_warehouse_there_is_nothing_to_refresh(desk: Desk) -> None:
    assert desk.tick() == NOTHING
    assert not desk.path.exists()


def test_a_publication_is_asked_for_under_a_key_that_names_it(desk: Desk) -> None:
    desk.publish(DAYS[0])
    request = desk.asked()
    ((warehouse,),) = query(desk.path, "select id from ops.warehouse")
    version = desk.shop.pipeline.reporting.version
    assert request.run_key == f"{warehouse} 1 {version} 1"
    assert request.tags[REFRESH] == f"{warehouse} 1 {version}"
    assert request.tags["customer_pipeline/publication"] == "1"
    assert request.tags["customer_pipeline/published"] == DAYS[0]
    # It is not held up by runs of a backfill that wait in the queue.
    assert request.tags["dagster/priority"] == "10"
    assert desk.asked().run_key == request.run_key


def test_days_that_were_published_between_two_ticks_are_one_refresh(desk: Desk) -> None:
    for day in DAYS[:4]:
        desk.publish(day)
    assert desk.asked().tags["customer_pipeline/published"] == ", ".join(DAYS[:4])
    desk.publish(*DAYS)
    assert desk.asked().tags["customer_pipeline/published"] == (
        f"{DAYS[0]} ... {DAYS[-1]} (6 partitions)"
    )


def test_what_is_refreshed_is_not_asked_for_again_until_more_is_published(desk: Desk) -> None:
    desk.publish(DAYS[1])
    first = desk.asked()
    desk.refreshed()
    assert desk.tick() == NOTHING
    # An old day, a day that is corrected, and one that is run again without any change.
    for day in (DAYS[0], DAYS[1], DAYS[1]):
        desk.publish(day)
        request = desk.asked()
        assert request.tags["customer_pipeline/published"] == day
        assert request.run_key != first.run_key
        desk.refreshed()


def test_what_is_published_during_a_refresh_is_asked_for_after_it(desk: Desk) -> None:
    desk.publish(DAYS[0])
    run = desk.launched(desk.asked())
    desk.refreshed()
    desk.publish(DAYS[1])
    desk.publish(DAYS[2])
    assert desk.tick() == f"waiting for the end of run {run.run_id}"
    desk.instance.report_run_canceled(run)
    assert desk.asked().tags["customer_pipeline/published"] == f"{DAYS[1]}, {DAYS[2]}"


@pytest.mark.usefixtures("without_dbt")
def test_a_day_that_failed_starts_nothing_and_one_refresh_when_it_is_repaired(desk: Desk) -> None:
    desk.shop.deliver_day(DAYS[0])
    desk.shop.withdraw("customers", DAYS[0])
    run_stages(desk.shop.pipeline, [DAYS[0]])
    assert query(desk.path, "select outcome from ops.attempts") == [("failed",)]
    assert desk.tick() == NOTHING
    desk.shop.deliver_day(DAYS[0])
    run_stages(desk.shop.pipeline, [DAYS[0]])
    assert desk.asked().tags["customer_pipeline/published"] == DAYS[0]


@pytest.mark.parametrize("status", [STARTED, QUEUED])
@pytest.mark.parametrize(
    ("job", "only"),
    [
        ("daily_customer_pipeline", []),
        ("__ASSET_JOB", ["marts", "reporting"]),
        ("reporting_refresh", []),
        ("__ASSET_JOB", ["reporting"]),
    ],
)
def test_it_waits_for_runs_that_publish_or_refresh(
    desk: Desk, job: str, only: list[str], status: dg.DagsterRunStatus
) -> None:
    desk.publish(DAYS[0])
    run = desk.run(job, only=only, status=status)
    assert desk.tick() == f"waiting for the end of run {run.run_id}"
    desk.instance.report_run_failed(run)
    assert desk.asked()


def test_it_names_one_of_many_runs_that_it_waits_for(desk: Desk) -> None:
    desk.publish(DAYS[0])
    runs = [desk.run("daily_customer_pipeline") for _ in range(3)]
    told = [f"waiting for the end of run {run.run_id} and 2 more" for run in runs]
    assert desk.tick() in told


def test_a_refresh_that_ends_during_the_tick_is_not_asked_for_again(
    desk: Desk, monkeypatch: pytest.MonkeyPatch
) -> None:
    desk.publish(DAYS[0])
    run = desk.run("reporting_refresh")
    look = reporting_sensor._look

    def ends_after_the_look(*args: Any) -> Any:
        looked = look(*args)
        desk.refreshed()
        desk.instance.report_run_canceled(run)
        return looked

    monkeypatch.setattr(reporting_sensor, "_look", ends_after_the_look)
    assert desk.tick() == f"waiting for the end of run {run.run_id}"


def test_it_does_not_wait_for_runs_that_change_nothing_it_reads(desk: Desk) -> None:
    desk.publish(DAYS[0])
    desk.run("__ASSET_JOB", only=["landing", "raw"])
    desk.run("daily_customer_pipeline", only=["landing"])
    _add_backfill(desk, {"landing/orders"})
    assert desk.asked()


@pytest.mark.parametrize("selection", [{"marts/dim_customers"}, None])
def test_it_waits_for_backfills_also_between_their_runs(
    desk: Desk, selection: set[str] | None
) -> None:
    desk.publish(DAYS[0])
    backfill = _add_backfill(desk, selection)
    assert desk.tick() == f"waiting for the end of backfill {backfill.backfill_id}"
    desk.instance.update_backfill(backfill.with_status(BulkActionStatus.COMPLETED_FAILED))
    assert desk.asked()


def test_what_was_published_an_hour_ago_waits_for_nobody_but_a_refresh(
    desk: Desk, clock: type[Clock]
) -> None:
    desk.publish(DAYS[0])
    desk.refreshed()
    desk.publish(DAYS[1])
    waiting = desk.run("daily_customer_pipeline", status=QUEUED)
    clock.ahead = HOUR - timedelta(minutes=1)
    assert desk.tick() == f"waiting for the end of run {waiting.run_id}"
    clock.ahead = HOUR
    assert desk.asked()
    refresh = desk.run("reporting_refresh", status=QUEUED)
    clock.ahead = 24 * HOUR
    assert desk.tick() == f"waiting for the end of run {refresh.run_id}"


def test_other_code_is_asked_for_and_waits_for_runs_like_a_publication(
    desk: Desk, clock: type[Clock]
) -> None:
    desk.publish(DAYS[0])
    desk.refreshed()
    desk.change("update ops.followers set version = 'of yesterday'")
    assert desk.asked().tags["customer_pipeline/published"] == DAYS[0]
    clock.ahead = 24 * HOUR
    waiting = desk.run("daily_customer_pipeline", status=QUEUED)
    assert desk.tick() == f"waiting for the end of run {waiting.run_id}"


def test_what_has_not_stirred_for_an_hour_is_taken_for_dead(desk: Desk, clock: type[Clock]) -> None:
    desk.publish(DAYS[0])
    for job in ("daily_customer_pipeline", "reporting_refresh"):
        desk.run(job)
    _add_backfill(desk, {"marts/dim_customers"})
    clock.ahead = HOUR + timedelta(minutes=1)
    # What is published just now would wait for an hour.
    desk.change("update ops.publications set published_at = published_at + interval 1 hour")
    assert desk.asked()


@pytest.mark.parametrize("job", ["daily_customer_pipeline", "reporting_refresh"])
def test_a_run_that_says_something_is_alive_however_long_ago_it_began(
    desk: Desk, clock: type[Clock], job: str
) -> None:
    desk.publish(DAYS[0])
    run = desk.run(job)
    clock.ahead = 2 * HOUR
    desk.change("update ops.publications set published_at = published_at + interval 2 hours")
    assert desk.asked()
    with freeze_time(datetime.now(UTC) + 1.5 * HOUR):
        desk.instance.report_engine_event("still at it", run)
    assert desk.tick() == f"waiting for the end of run {run.run_id}"


def test_a_backfill_is_alive_while_its_runs_begin_and_end(desk: Desk) -> None:
    desk.publish(DAYS[0])
    backfill = _add_backfill(desk, {"marts/dim_customers"}, age=5 * HOUR)
    assert desk.asked()
    tags = {"dagster/backfill": backfill.backfill_id}
    ended = desk.run("daily_customer_pipeline", tags=tags)
    desk.instance.report_run_failed(ended)
    assert desk.tick() == f"waiting for the end of backfill {backfill.backfill_id}"


@pytest.mark.parametrize("end", ["report_run_failed", "report_run_canceled"])
def test_a_refresh_in_vain_is_asked_for_again_after_a_pause_that_doubles(
    desk: Desk, clock: type[Clock], end: str
) -> None:
    desk.publish(DAYS[0])
    minute, keys, asked_at = timedelta(minutes=1), set(), []
    for attempt in range(1, 5):
        request = desk.asked()
        keys.add(request.run_key)
        asked_at.append(clock.ahead // minute)
        run = desk.launched(request)
        with freeze_time(clock.now(UTC)):
            getattr(desk.instance, end)(run)
        told = desk.tick()
        assert isinstance(told, str) and told.startswith(
            f"run {run.run_id} did not bring the tables up to date (attempt {attempt})"
        )
        pause = max(clock.ahead, 5 * minute)
        clock.ahead += pause - minute
        assert desk.tick() == told
        clock.ahead += 2 * minute
    assert asked_at == [0, 6, 13, 27]
    assert len(keys) == 4


def test_a_refresh_that_succeeded_in_vain_is_not_asked_for_for_ever(
    desk: Desk, clock: type[Clock]
) -> None:
    """Such as one by newer code than the sensor's, whose location nobody has reloaded."""
    desk.publish(DAYS[0])
    desk.run("reporting_refresh", status=dg.DagsterRunStatus.SUCCESS, tags=dict(desk.asked().tags))
    assert isinstance(desk.tick(), str)
    clock.ahead = timedelta(minutes=6)
    assert desk.asked()


def test_the_pause_is_at_most_a_day(desk: Desk, clock: type[Clock]) -> None:
    desk.publish(DAYS[0])
    for days in (0, 30):
        clock.ahead = timedelta(days=days)
        run = desk.launched(desk.asked())
        with freeze_time(clock.now(UTC)):
            desk.instance.report_run_failed(run)
    clock.ahead += 23 * HOUR
    assert isinstance(desk.tick(), str)
    clock.ahead += HOUR
    assert desk.asked()


def test_a_refresh_that_failed_is_asked_for_at_once_when_more_is_published(desk: Desk) -> None:
    desk.publish(DAYS[0])
    desk.instance.report_run_failed(desk.launched(desk.asked()))
    assert isinstance(desk.tick(), str)
    desk.publish(DAYS[1])
    assert desk.asked().tags["customer_pipeline/published"] == f"{DAYS[0]}, {DAYS[1]}"


def test_a_refresh_that_failed_is_asked_for_at_once_when_the_code_changes(
    desk: Desk, monkeypatch: pytest.MonkeyPatch
) -> None:
    desk.publish(DAYS[0])
    desk.instance.report_run_failed(desk.launched(desk.asked()))
    assert isinstance(desk.tick(), str)
    monkeypatch.setattr(
        "customer_pipeline.orchestration.pipeline.reporting_version", lambda *_: "repaired"
    )
    assert Desk(desk.shop, desk.instance).asked()


def test_a_warehouse_that_was_made_anew_begins_with_keys_of_its_own(desk: Desk) -> None:
    desk.publish(DAYS[0])
    first = desk.asked()
    desk.instance.report_run_failed(desk.launched(first))
    desk.path.unlink()
    assert desk.tick() == NOTHING
    desk.publish(DAYS[0])
    assert desk.asked().run_key != first.run_key


def test_a_held_warehouse_is_looked_at_by_the_next_tick(
    desk: Desk, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("customer_pipeline.orchestration.pipeline._TICK_LOCK_TIMEOUT", 0.3)
    desk.publish(DAYS[0])
    with held(desk.path, seconds=60) as process:
        told = desk.tick()
        assert isinstance(told, str)
        assert told.startswith("the warehouse is busy") and f"process {process}" in told
    assert desk.asked()


def test_a_tick_that_breaks_loses_nothing(desk: Desk) -> None:
    desk.publish(DAYS[0])
    good = desk.path.read_bytes()
    desk.path.write_text("not a database")
    with pytest.raises(ConfigError, match="cannot be opened as a DuckDB file"):
        desk.tick()
    desk.path.write_bytes(good)
    assert desk.asked()


def _add_backfill(
    desk: Desk, selection: set[str] | None, *, age: timedelta = timedelta()
) -> PartitionBackfill:
    keys = [dg.AssetKey.from_user_string(key) for key in selection or ()]
    backfill = PartitionBackfill(
        backfill_id="abcdefgh",
        status=BulkActionStatus.REQUESTED,
        from_failure=False,
        tags={},
        backfill_timestamp=time.time() - age.total_seconds(),
        asset_selection=keys or None,
    )
    desk.instance.add_backfill(backfill)
    return backfill
