"""Jobs and their schedules."""

from __future__ import annotations

import dagster as dg

from customer_pipeline.orchestration.pipeline import Pipeline
from customer_pipeline.orchestration.run_tags import AHEAD_OF_BACKFILLS, PARTITION, SCHEDULED
from customer_pipeline.orchestration.specs import partitioned_keys
from customer_pipeline.reporting.refresh import REPORTING

DAILY_JOB = "daily_customer_pipeline"
DAILY_SCHEDULE = "daily_customer_pipeline_schedule"
REFRESH_JOB = "reporting_refresh"


def daily_job(pipeline: Pipeline):
    """Extract, load, transform, validate and publish one or many days."""
    return dg.define_asset_job(
        DAILY_JOB,
        selection=dg.AssetSelection.assets(*partitioned_keys(pipeline)),
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
            tags={SCHEDULED: pipeline.name} | AHEAD_OF_BACKFILLS,
        )

    return _schedule


def _run_asked_for(instance: dg.DagsterInstance, pipeline: str, key: str) -> str | None:
    """The run that an earlier tick has asked for. (A schedule's run key says nothing about earlier
    ticks.) One that did not get as far as the queue is left to Dagster, which submits it again."""
    statuses = [status for status in dg.DagsterRunStatus if status.value != "NOT_STARTED"]
    tags = {SCHEDULED: pipeline, PARTITION: key}
    runs = instance.get_runs(dg.RunsFilter(tags=tags, statuses=statuses), limit=1)
    return runs[0].run_id if runs else None
