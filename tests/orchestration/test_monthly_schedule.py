"""The monthly pipeline's schedule and retries: at 06:00 on the 3rd for the month that closed, and
three more attempts six hours apart (cases T1, T2, T9).
"""

from __future__ import annotations

from datetime import UTC, datetime, timedelta
from pathlib import Path
from zoneinfo import ZoneInfo

import dagster as dg
import pytest
import yaml

from customer_pipeline.dbt_adapter.manifest import DbtProject
from customer_pipeline.orchestration.activity import stuck_runs
from customer_pipeline.orchestration.location import build_defs, build_pipelines
from customer_pipeline.orchestration.pipeline import Pipeline
from customer_pipeline.orchestration.run_tags import time_allowed
from customer_pipeline.pipelines import DAILY, MONTHLY
from customer_pipeline.settings import Settings
from tests.support.dagster_processes import PROJECT, Home
from tests.support.instance_traces import waits_for_another_attempt
from tests.support.months import ZONE, RideShop
from tests.support.schedules import tick

NAME = "monthly_trips_pipeline_schedule"
SPECS = (DAILY, MONTHLY)


class Schedule:
    """The schedule of the months of a source, which may end."""

    def __init__(self, root: Path, models: DbtProject, home: Home, *, end: str = "") -> None:
        shop = RideShop(root / "rides", models=models, specs=SPECS)
        text = shop.source_path.read_text()
        shop.source_path.write_text(text.replace("timezone:", f"{end}timezone:"))
        self.home = home
        self.repository = build_defs(shop.settings).get_repository_def()
        self.definition = self.repository.get_schedule_def(NAME)

    def tick(self, moment: str) -> list[dg.RunRequest] | str:
        """What a tick asks for, or why it asks for nothing."""
        at = datetime.fromisoformat(moment).replace(tzinfo=ZoneInfo(ZONE))
        return tick(self.home, self.repository, NAME, at)

    def asked(self, moment: str) -> list[str | None]:
        return [one.partition_key for one in self.tick(moment) if isinstance(one, dg.RunRequest)]


@pytest.fixture
def schedule(tmp_path: Path, rides: DbtProject, home: Home) -> Schedule:
    return Schedule(tmp_path, rides, home)


def test_it_runs_at_six_on_the_third_and_is_off_until_somebody_turns_it_on(
    schedule: Schedule,
) -> None:
    assert schedule.definition.cron_schedule == "0 6 3 * *"
    assert schedule.definition.execution_timezone == ZONE
    assert schedule.definition.default_status is dg.DefaultScheduleStatus.STOPPED


@pytest.mark.parametrize(
    ("moment", "month"),
    [
        ("2026-01-03T06:00", "2025-12-01"),
        ("2026-03-03T06:00", "2026-02-01"),
        # The clocks have changed in the month before.
        ("2026-04-03T06:00", "2026-03-01"),
        ("2025-11-03T06:00", "2025-10-01"),
    ],
)
def test_a_tick_asks_for_the_month_that_closed_and_no_other(
    schedule: Schedule, moment: str, month: str
) -> None:
    (request,) = schedule.tick(moment)
    assert isinstance(request, dg.RunRequest)
    assert (request.partition_key, request.run_key) == (month, month)
    assert request.tags["customer_pipeline/scheduled"] == "monthly_trips"
    assert request.tags["dagster/priority"] == "10"


def test_a_month_is_asked_for_once_also_when_the_day_of_the_schedule_is_moved(
    schedule: Schedule,
) -> None:
    (request,) = schedule.tick("2026-03-03T06:00")
    assert isinstance(request, dg.RunRequest)
    with schedule.home.instance() as instance:
        # It fails, since nothing is delivered: also then it is for a person to say what is next.
        schedule.repository.get_job("monthly_trips_pipeline").execute_in_process(
            instance=instance,
            partition_key=request.partition_key,
            tags=request.tags,
            raise_on_error=False,
        )
    assert "2026-02-01 has already been requested: run" in str(schedule.tick("2026-03-05T06:00"))
    assert schedule.asked("2026-04-03T06:00") == ["2026-03-01"]


def test_before_the_first_month_and_after_the_last_it_skips_and_says_why(
    tmp_path: Path, rides: DbtProject, home: Home
) -> None:
    # Of March, the source has only a part, which is no month.
    schedule = Schedule(tmp_path, rides, home, end="end: 2026-03-20\n")
    assert schedule.tick("2025-10-03T06:00") == "no month of the source rides is over yet"
    assert schedule.asked("2026-03-03T06:00") == ["2026-02-01"]
    assert schedule.tick("2026-04-03T06:00") == "the source ended with 2026-02-01"


def _pipelines(tmp_path: Path, rides: DbtProject, **changes: float) -> dict[str, Pipeline]:
    settings = RideShop(tmp_path / "rides", models=rides, specs=SPECS).settings
    unset = {"max_retries": Settings.model_fields["max_retries"].default, "retry_delay": None}
    built = build_pipelines(settings.model_copy(update=unset | changes))
    return {pipeline.name: pipeline for pipeline in built}


def _retries(pipeline: Pipeline) -> set[tuple[int, float | None]]:
    policies = [
        asset.op.retry_policy
        for asset in build_defs(pipeline.settings).assets or ()
        if isinstance(asset, dg.AssetsDefinition)
        and f"validation/{pipeline.name}" in {key.to_user_string() for key in asset.keys}
    ]
    return {(policy.max_retries, policy.delay) for policy in policies if policy}


def test_a_month_is_tried_three_more_times_six_hours_apart_and_a_day_five_minutes_apart(
    tmp_path: Path, rides: DbtProject
) -> None:
    found = _pipelines(tmp_path, rides)
    assert _retries(found["monthly_trips"]) == {(3, timedelta(hours=6).total_seconds())}
    assert _retries(found["daily_customers"]) == {(3, timedelta(minutes=5).total_seconds())}


def test_a_refresh_of_what_months_published_does_not_wait_as_long_as_for_a_delivery(
    tmp_path: Path, rides: DbtProject
) -> None:
    months = _pipelines(tmp_path, rides)["monthly_trips"]
    assert months.refresh_retry_delay == timedelta(minutes=5).total_seconds()
    assert _pipelines(tmp_path, rides, retry_delay=2)["monthly_trips"].refresh_retry_delay == 2


def test_what_the_environment_says_of_retries_holds_for_all(
    tmp_path: Path, rides: DbtProject
) -> None:
    for pipeline in _pipelines(tmp_path, rides, max_retries=1, retry_delay=2).values():
        assert _retries(pipeline) == {(1, 2)}


def test_a_run_that_waits_for_its_attempts_is_not_taken_for_one_that_hangs(
    tmp_path: Path, rides: DbtProject
) -> None:
    """`dagster.yaml` ends every run after half a day, unless a tag says otherwise."""
    settings = _pipelines(tmp_path, rides)["monthly_trips"].settings
    repository = build_defs(settings).get_repository_def()
    allowed = {
        spec.name: repository.get_job(spec.job).tags.get("dagster/max_runtime") for spec in SPECS
    }
    pauses = 3 * timedelta(hours=6)
    half_a_day = timedelta(hours=12)
    assert allowed == {
        "daily_customers": None,
        "monthly_trips": str(int((half_a_day + pauses).total_seconds())),
    }


@pytest.mark.parametrize(
    ("pipeline", "deadline", "hours"),
    [("daily_customers", "0 7 * * *", 7), ("monthly_trips", "0 7 4 * *", 3 * 24 + 7)],
)
def test_the_marts_are_fresh_while_each_partition_is_published_by_the_day_it_is_due(
    tmp_path: Path, rides: DbtProject, pipeline: str, deadline: str, hours: int
) -> None:
    found = _pipelines(tmp_path, rides)[pipeline]
    (policy,) = {
        spec.freshness_policy
        for asset in build_defs(found.settings).assets or ()
        if isinstance(asset, dg.AssetsDefinition)
        for spec in asset.specs
        if spec.key.path[0] == "marts" and spec.tags["pipeline"] == pipeline
    }
    assert policy == dg.FreshnessPolicy.cron(
        deadline_cron=deadline, lower_bound_delta=timedelta(hours=hours), timezone=ZONE
    )


@pytest.mark.parametrize(
    ("hours", "stuck"), [(2, {DAILY.job}), (6.5, {DAILY.job}), (8, {DAILY.job, MONTHLY.job})]
)
def test_a_run_that_waits_for_another_attempt_is_not_called_stuck_until_that_is_overdue(
    tmp_path: Path, rides: DbtProject, home: Home, hours: float, stuck: set[str]
) -> None:
    repository = build_defs(
        _pipelines(tmp_path, rides)["monthly_trips"].settings
    ).get_repository_def()
    with home.instance() as instance:
        runs = {
            spec.job: instance.create_run_for_job(
                repository.get_job(spec.job), status=dg.DagsterRunStatus.STARTED
            )
            for spec in SPECS
        }
        waits_for_another_attempt(instance, runs[MONTHLY.job], seconds=6 * 3600)
        found = stuck_runs(instance, datetime.now(UTC) + timedelta(hours=hours))
    assert {run.job_name for run in found} == stuck


def test_pauses_come_on_top_of_the_time_that_the_instance_gives_a_run() -> None:
    settings = yaml.safe_load((PROJECT / "dagster.yaml").read_text())
    limit = settings["run_monitoring"]["max_runtime_seconds"]
    assert time_allowed(limit) == {}
    assert time_allowed(limit + 1) == {"dagster/max_runtime": str(2 * limit + 1)}
