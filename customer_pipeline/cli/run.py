"""`customer-pipeline run`: days through the whole pipeline, in this process, without a daemon."""

from __future__ import annotations

import os
from collections.abc import Mapping
from datetime import UTC, datetime
from typing import TYPE_CHECKING, Annotated

import typer
from rich.console import Console

from customer_pipeline.cli.status import show_published
from customer_pipeline.errors import ConfigError
from customer_pipeline.settings import load_settings

if TYPE_CHECKING:
    from dagster import DagsterInstance, Definitions

    from customer_pipeline.orchestration.pipeline import Pipeline


def run(
    first: Annotated[
        str | None, typer.Option("--from", metavar="YYYY-MM-DD", help="first day")
    ] = None,
    last: Annotated[
        str | None, typer.Option("--to", metavar="YYYY-MM-DD", help="last day (default: --from)")
    ] = None,
    recent: Annotated[
        int | None, typer.Option("--last", min=1, help="instead: this many newest complete days")
    ] = None,
) -> None:
    """Run days through the whole pipeline in one run, here and now, and show what is published.

    The reporting tables are brought up to it too.
    """
    # Dagster takes a second to import: only for the command that needs it.
    import dagster as dg

    from customer_pipeline.orchestration.jobs import DAILY_JOB, REFRESH_JOB
    from customer_pipeline.orchestration.location import build_defs, build_pipeline

    console = Console()
    settings = load_settings()
    pipeline = build_pipeline(settings)
    keys = _keys(pipeline.partitions, first, last, recent)
    definitions = build_defs(settings)
    count = f"{len(keys)} day{'s' if len(keys) > 1 else ''}"
    console.print(f"{pipeline.source.name}: {keys[0]} to {keys[-1]}, {count} in one run")
    asked = {
        "dagster/asset_partition_range_start": keys[0],
        "dagster/asset_partition_range_end": keys[-1],
    }
    kept = "DAGSTER_HOME" in os.environ
    with dg.DagsterInstance.get() if kept else dg.DagsterInstance.ephemeral() as instance:
        succeeded = _execute(console, definitions, DAILY_JOB, instance, asked)
        if behind := _not_reported(pipeline):
            succeeded = _execute(console, definitions, REFRESH_JOB, instance) and succeeded
    show_published(console, pipeline, keys)
    if behind:
        console.print(_reporting_line(pipeline, behind))
    if not kept:
        console.print(
            "DAGSTER_HOME is not set: Dagster keeps no history of this run; the ledger does."
        )
    _next_steps(console, keys, succeeded=succeeded)
    raise typer.Exit(0 if succeeded else 1)


def _execute(
    console: Console,
    definitions: Definitions,
    job: str,
    instance: DagsterInstance,
    tags: Mapping[str, str] | None = None,
) -> bool:
    """Run a job in this process; returns whether it succeeded."""
    result = definitions.resolve_job_def(job).execute_in_process(
        instance=instance,
        tags=tags,
        # Dagster would tell each failure several times; the table tells it once.
        run_config={"loggers": {"console": {"config": {"log_level": "CRITICAL"}}}},
        raise_on_error=False,
    )
    for step in result.filter_events(lambda event: event.is_step_failure):
        failure = step.step_failure_data
        if failure.user_failure_data is None:
            # One that nobody foresaw, for which the place in the code matters.
            console.print(failure.error_display_string, markup=False)
        elif not tags:
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


def _reporting_line(pipeline: Pipeline, behind: tuple[str, ...]) -> str:
    days = f"{len(behind)} day{'s' if len(behind) > 1 else ''}"
    if _not_reported(pipeline):
        return f"[red]reporting.* does not hold {days} yet[/red]"
    return f"reporting.* is up to date: {days} taken in"


def _keys(partitions, first: str | None, last: str | None, recent: int | None) -> list[str]:
    complete = partitions.complete_keys(datetime.now(UTC))
    if not complete:
        raise ConfigError("no day of this source is over yet", where="source")
    if (first is None) == (recent is None) or (recent is not None and last is not None):
        raise ConfigError(
            "which days?", where="run", todo="give --from (and --to), or --last with a number"
        )
    if recent is not None:
        return complete[-recent:]
    asked = partitions.keys_between(first, last or first)
    if asked[-1] > complete[-1]:
        raise ConfigError(
            f"{asked[-1]} is not over yet",
            where="run",
            todo=f"the newest complete day is {complete[-1]}",
        )
    return asked


def _next_steps(console: Console, keys: list[str], *, succeeded: bool) -> None:
    if succeeded:
        console.print(
            "Next: run it again, and see that nothing changes; [bold]make dev[/bold] opens the UI"
            " on http://localhost:3000; README.md says how to point it at your own data."
        )
    else:
        console.print(
            "Mend what the table says, then run the failed days again:"
            f" [bold]customer-pipeline run --from {keys[0]} --to {keys[-1]}[/bold]"
        )
