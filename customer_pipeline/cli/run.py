"""`customer-pipeline run`: days through the whole pipeline, in this process, without a daemon."""

from __future__ import annotations

from typing import Annotated

import typer
from rich.console import Console

from customer_pipeline.cli.days import complete_days, days_between
from customer_pipeline.cli.execution import run_days
from customer_pipeline.errors import ConfigError
from customer_pipeline.settings import load_settings
from customer_pipeline.source.partitions import Partitions


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
    from customer_pipeline.orchestration.location import build_pipeline

    console, settings = Console(), load_settings()
    pipeline = build_pipeline(settings)
    keys = _keys(pipeline.partitions, first, last, recent)
    succeeded = run_days(console, settings, pipeline, [keys])
    _next_steps(console, keys, succeeded=succeeded)
    raise typer.Exit(0 if succeeded else 1)


def _keys(
    partitions: Partitions, first: str | None, last: str | None, recent: int | None
) -> list[str]:
    if first is not None and recent is None:
        return days_between(partitions, first, last or first)
    if recent is not None and first is None and last is None:
        return complete_days(partitions)[-recent:]
    raise ConfigError(
        "which days?", where="run", todo="give --from (and --to), or --last with a number"
    )


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
