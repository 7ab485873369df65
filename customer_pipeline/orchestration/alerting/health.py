"""What is wrong at the moment by the records alone: partitions that are overdue, and runs that are
stuck. For whoever asks from outside, while Dagster's daemon may be dead.

What does not belong here: telling it (`watch.py`), and alerts that are pending (`alerts/health.py`).
"""

from __future__ import annotations

from datetime import datetime, timedelta

import dagster as dg

from customer_pipeline.alerts.scene import RunPace
from customer_pipeline.orchestration.alerting.automation import on_since
from customer_pipeline.orchestration.alerting.due import due_partitions
from customer_pipeline.orchestration.alerting.runs import paces
from customer_pipeline.orchestration.jobs import DAILY_SCHEDULE
from customer_pipeline.orchestration.pipeline import Pipeline
from customer_pipeline.planning.known import Known

_SILENCE = timedelta(hours=1)


def overdue_partitions(
    instance: dg.DagsterInstance, pipeline: Pipeline, known: Known, now: datetime
) -> dict[str, datetime]:
    """The partitions that a schedule that is on should have published by now, each with when."""
    on = on_since(instance, DAILY_SCHEDULE)
    due = due_partitions(pipeline.partitions, pipeline.settings.due_by, on, now)
    done = known.published.keys() | known.waivers.keys()
    return {key: at for key, at in due.items() if key not in done}


def stuck_runs(instance: dg.DagsterInstance, pipeline: Pipeline, now: datetime) -> list[RunPace]:
    """The runs that count as running, and of which nothing was heard for an hour (or for twice the
    pause before a retry)."""
    pause = timedelta(seconds=2 * pipeline.settings.retry_delay)
    longest = max(_SILENCE, pause).total_seconds()
    return [run for run in paces(instance, pipeline, now) if run.silent >= longest]
