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

# A scheduled run waits while another one of the same pipeline is active (`dagster.yaml` limits the
# runs per value of this tag to one), and goes ahead of waiting backfill runs.
ACTIVE_RUN_TAG = "customer_pipeline/scheduled"
_AHEAD_OF_BACKFILLS = {"dagster/priority": "10"}


def daily_job(pipeline: Pipeline):
    """Extract, load, transform, validate and publish one or many days."""
    return dg.define_asset_job(
        "daily_customer_pipeline",
        selection=dg.AssetSelection.assets(
            *(landing_key(feed) for feed in pipeline.feeds),
            *(raw_key(feed) for feed in pipeline.feeds),
            *(candidate_key(model) for model in pipeline.marts),
            validation_key(pipeline.name),
            *(mart_key(mart) for mart in pipeline.marts),
        ),
        description="One day (or many) from its source to the published tables.",
    )


def daily_schedule(pipeline: Pipeline, job) -> dg.ScheduleDefinition:
    """At 03:00 in the source's zone, for the day that closed at the last midnight.

    Only the newest tick is ever run: what a daemon that was down has missed stays missing until
    somebody asks for it. The run key makes sure that moving the hour cannot run a day twice.
    """

    @dg.schedule(
        name="daily_customer_pipeline_schedule",
        cron_schedule="0 3 * * *",
        execution_timezone=pipeline.source.timezone,
        job=job,
        default_status=dg.DefaultScheduleStatus.STOPPED,
    )
    def _schedule(context: dg.ScheduleEvaluationContext) -> dg.RunRequest | dg.SkipReason:
        closed = pipeline.partitions.complete_keys(context.scheduled_execution_time)
        if not closed:
            return dg.SkipReason(f"no day of the source {pipeline.source.name} is over yet")
        today = context.scheduled_execution_time.astimezone(pipeline.partitions.zone).date()
        newest = pipeline.partitions.window(closed[-1])
        if newest.end.date() != today:
            return dg.SkipReason(f"the source's last day, {newest.key}, is past")
        return dg.RunRequest(
            run_key=newest.key,
            partition_key=newest.key,
            tags={ACTIVE_RUN_TAG: pipeline.name} | _AHEAD_OF_BACKFILLS,
        )

    return _schedule
