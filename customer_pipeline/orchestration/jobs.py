"""Jobs and their schedules."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

import dagster as dg

from customer_pipeline.orchestration.pipeline import Pipeline
from customer_pipeline.orchestration.run_tags import (
    AHEAD_OF_BACKFILLS,
    PARTITION,
    SCHEDULED,
    time_allowed,
)
from customer_pipeline.orchestration.specs import partitioned_keys
from customer_pipeline.reporting.refresh import REPORTING

REFRESH_JOB = "reporting_refresh"


def pipeline_job(pipeline: Pipeline):
    """Extract, load, transform, validate and publish one or many partitions."""
    noun, one = pipeline.partitions.noun, pipeline.partitions.one.capitalize()
    return dg.define_asset_job(
        pipeline.spec.job,
        selection=dg.AssetSelection.assets(*partitioned_keys(pipeline)),
        description=f"{one} (or many {noun}s) from the source to the published tables.",
        owners=pipeline.owners or None,
        tags=time_allowed(pipeline.longest_pause),
    )


def refresh_job(pipelines: Sequence[Pipeline]):
    """Bring the reporting tables up to what is published."""
    return dg.define_asset_job(
        REFRESH_JOB,
        selection=dg.AssetSelection.groups(REPORTING),
        description="Brings the reporting tables up to date with what is published.",
        owners=pipelines[0].owners or None,
    )


def pipeline_schedule(pipeline: Pipeline, job) -> dg.ScheduleDefinition:
    """At the hour of the pipeline, in the source's zone, for the partition that closed last.

    Only the newest tick is ever run: what a daemon that was down has missed stays missing until
    somebody asks for it. A partition is asked for once, also when the hour is moved.
    """
    # As if the source went on: what closes after its last partition is none of its.
    endless = replace(pipeline.partitions, last=None)
    noun = pipeline.partitions.noun

    @dg.schedule(
        name=pipeline.spec.schedule,
        cron_schedule=pipeline.spec.cron,
        execution_timezone=pipeline.source.timezone,
        job=job,
        default_status=dg.DefaultScheduleStatus.STOPPED,
        owners=pipeline.owners or None,
    )
    def _schedule(context: dg.ScheduleEvaluationContext) -> dg.RunRequest | dg.SkipReason:
        closed = pipeline.partitions.complete_keys(context.scheduled_execution_time)
        if not closed:
            return dg.SkipReason(f"no {noun} of the source {pipeline.source.name} is over yet")
        newest = closed[-1]
        if endless.complete_keys(context.scheduled_execution_time)[-1] != newest:
            return dg.SkipReason(f"the source ended with {newest}")
        if asked := _run_asked_for(context.instance, pipeline.name, newest):
            return dg.SkipReason(f"{newest} has already been requested: run {asked}")
        return dg.RunRequest(
            run_key=newest,
            partition_key=newest,
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
