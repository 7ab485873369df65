"""Running days in this process, without a daemon, and telling a person how it went.

What does not belong here: which days (`days.py`), and the table of them (`published.py`).
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING

from rich.console import Console

from customer_pipeline.cli.days import counted
from customer_pipeline.cli.instance import dagster_home, working_instance
from customer_pipeline.cli.published import show_published
from customer_pipeline.settings import Settings

if TYPE_CHECKING:
    from dagster import DagsterInstance, Definitions

    from customer_pipeline.orchestration.pipeline import Pipeline


def run_days(
    console: Console, settings: Settings, pipeline: Pipeline, ranges: Sequence[Sequence[str]]
) -> bool:
    """Run each range of days in one run, then bring the reporting tables up to date.

    Returns whether everything succeeded; what was published and what was not is printed.
    """
    # Dagster takes a second to import: only for a command that runs something.
    from customer_pipeline.orchestration.jobs import DAILY_JOB, REFRESH_JOB
    from customer_pipeline.orchestration.location import build_defs
    from customer_pipeline.orchestration.run_tags import RANGE_END, RANGE_START

    definitions, succeeded = build_defs(settings), True
    with working_instance() as instance:
        for keys in ranges:
            console.print(
                f"{pipeline.source.name}: {keys[0]} to {keys[-1]}, {counted(len(keys))} in one run"
            )
            days = {
                RANGE_START: keys[0],
                RANGE_END: keys[-1],
            }
            succeeded &= _execute(console, definitions, DAILY_JOB, instance, days)
        if behind := _not_reported(pipeline):
            succeeded &= _execute(console, definitions, REFRESH_JOB, instance)
    show_published(console, pipeline, [key for keys in ranges for key in keys])
    if behind:
        console.print(_reporting_line(pipeline, behind))
    if dagster_home() is None:
        console.print(
            "DAGSTER_HOME is not set: Dagster keeps no history of this run; the ledger does."
        )
    return succeeded


def _execute(
    console: Console,
    definitions: Definitions,
    job: str,
    instance: DagsterInstance,
    days: Mapping[str, str] | None = None,
) -> bool:
    """Run a job in this process; returns whether it succeeded."""
    result = definitions.resolve_job_def(job).execute_in_process(
        instance=instance,
        tags=days,
        # Dagster would tell each failure several times; the table tells it once.
        run_config={"loggers": {"console": {"config": {"log_level": "CRITICAL"}}}},
        raise_on_error=False,
    )
    for step in result.filter_events(lambda event: event.is_step_failure):
        failure = step.step_failure_data
        if failure.user_failure_data is None:
            # One that nobody foresaw, for which the place in the code matters.
            console.print(failure.error_display_string, markup=False)
        elif not days:
            # What a day failed of stands in the table; this job has no days.
            console.print(
                f"{job}: {failure.user_failure_data.description}", style="red", markup=False
            )
    return result.success


def _not_reported(pipeline: Pipeline) -> tuple[str, ...]:
    """The published days that the reporting tables do not hold yet."""
    if not pipeline.warehouse.exists:
        return ()
    with pipeline.warehouse.read() as connection:
        return pipeline.reporting.standing(connection).partitions


def _reporting_line(pipeline: Pipeline, behind: Sequence[str]) -> str:
    days = counted(len(behind))
    if _not_reported(pipeline):
        return f"[red]reporting.* does not hold {days} yet[/red]"
    return f"reporting.* is up to date: {days} taken in"
