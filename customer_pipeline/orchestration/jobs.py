"""Jobs and their schedules."""

from __future__ import annotations

import dagster as dg

from customer_pipeline.orchestration.pipeline import Pipeline
from customer_pipeline.orchestration.specs import (
    candidate_key,
    landing_key,
    mart_key,
    raw_key,
    validation_key,
)
from customer_pipeline.reporting.refresh import REPORTING

DAILY_JOB = "daily_customer_pipeline"
DAILY_SCHEDULE = "daily_customer_pipeline_schedule"
REFRESH_JOB = "reporting_refresh"
# A scheduled run waits while another one of the same pipeline is active (`dagster.yaml` limits the
# runs per value of this tag to one), and goes ahead of waiting backfill runs.
ACTIVE_RUN_TAG = "customer_pipeline/scheduled"
AHEAD_OF_BACKFILLS = {"dagster/priority": "10"}


def daily_job(pipeline: Pipeline):
    """Extract, load, transform, validate and publish one or many days."""
    return dg.define_asset_job(
        DAILY_JOB,
        selection=dg.AssetSelection.assets(
            *(landing_key(feed) for feed in pipeline.feeds),
            *(raw_key(feed) for feed in pipeline.feeds),
            *(candidate_key(model) for model in pipeline.marts),
            validation_key(pipeline.name),
            *(mart_key(mart) for mart in pipeline.marts),
        ),
        description="One day (or many) from its source to the published tables.",
        owners=pipeline.owners or None,
    )


def refresh_job(pipeline: Pipeline):
    """Bring the reporting tables up to what is published."""
    return dg.define_asset_job(
        REFRESH_JOB,
        selection=dg.AssetSelection.groups(REPORTING),
        description="The reporting tables, brought up to what is published.",
        owners=pipeline.owners or None,
    )


def daily_schedule(pipeline: Pipeline, job) -> dg.ScheduleDefinition:
    """At 03:00 in the source's zone, for the day that closed at the last midnight.

    Only the newest tick is ever run: what a daemon that was down has missed stays missing until
    somebody asks for it. A day is asked for once, also when the hour is moved.
    """

    @dg.schedule(
        name=DAILY_SCHEDULE,
        cron_schedule="0 3 * * *",
        execution_timezone=pipeline.source.timezone,
        job=job,
        default_status=dg.DefaultScheduleStatus.STOPPED,
        owners=pipeline.owners or None,
    )
    def _schedule(context: dg.ScheduleEvaluationContext) -> dg.RunRequest | dg.SkipReason:
        closed = pipeline.partitions.complete_keys(context.scheduled_execution_time)
        if not closed:
            return dg.SkipReason(f"no day of the source {pipeline.source.name} is over yet")
        today = context.scheduled_execution_time.astimezone(pipeline.partitions.zone).date()
        newest = pipeline.partitions.window(closed[-1])
        if newest.end.date() != today:
            return dg.SkipReason(f"the source's last day, {newest.key}, is past")
        if asked := _run_asked_for(context.instance, pipeline.name, newest.key):
            return dg.SkipReason(f"{newest.key} has been asked for already: run {asked}")
        return dg.RunRequest(
            run_key=newest.key,
            partition_key=newest.key,
            tags={ACTIVE_RUN_TAG: pipeline.name} | AHEAD_OF_BACKFILLS,
        )

    return _schedule


def _run_asked_for(instance: dg.DagsterInstance, pipeline: str, key: str) -> str | None:
    """The run that an earlier tick has asked for. (A schedule's run key says nothing about earlier
    ticks.) One that did not get as far as the queue is left to Dagster, which submits it again."""
    statuses = [status for status in dg.DagsterRunStatus if status.value != "NOT_STARTED"]
    tags = {ACTIVE_RUN_TAG: pipeline, "dagster/partition": key}
    runs = instance.get_runs(dg.RunsFilter(tags=tags, statuses=statuses), limit=1)
    return runs[0].run_id if runs else None
