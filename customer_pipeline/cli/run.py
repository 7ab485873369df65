"""`customer-pipeline run`: partitions through the whole pipeline, in this process, without a daemon."""

from __future__ import annotations

from typing import TYPE_CHECKING, Annotated

import typer
from rich.console import Console

from customer_pipeline.cli.execution import run_ranges
from customer_pipeline.cli.keys import PipelineName, complete_keys, keys_between
from customer_pipeline.errors import ConfigError
from customer_pipeline.settings import DEMO_SOURCE, load_settings
from customer_pipeline.source.partitions import Partitions

if TYPE_CHECKING:
    from customer_pipeline.orchestration.pipeline import Pipeline

_NEXT_STEPS = (
    "Next: run it again and see that nothing changes; [bold]make dev[/bold] opens the UI"
    " on http://localhost:3000; README.md explains how to use your own data."
)


def run(
    name: PipelineName = None,
    first: Annotated[
        str | None, typer.Option("--from", metavar="YYYY-MM-DD", help="first one")
    ] = None,
    last: Annotated[
        str | None, typer.Option("--to", metavar="YYYY-MM-DD", help="last one (default: --from)")
    ] = None,
    recent: Annotated[
        int | None,
        typer.Option("--last", min=1, help="instead: this many of the newest complete ones"),
    ] = None,
) -> None:
    """Run days (months, ...) through the whole pipeline in one run, here and now, and show what is
    published.

    The reporting tables are refreshed too.
    """
    from customer_pipeline.orchestration.location import build_pipeline

    console, settings = Console(), load_settings()
    pipeline = build_pipeline(settings, name)
    keys = _keys(pipeline.partitions, first, last, recent)
    succeeded = run_ranges(console, settings, pipeline, [keys])
    if not succeeded:
        _say_how_to_try_again(console, pipeline, keys)
    elif recent is not None and settings.source_path == DEMO_SOURCE:
        # This is what `make run` does: a newcomer's first look.
        console.print(_NEXT_STEPS)
    raise typer.Exit(0 if succeeded else 1)


def _keys(
    partitions: Partitions, first: str | None, last: str | None, recent: int | None
) -> list[str]:
    if first is not None and recent is None:
        return keys_between(partitions, first, last or first)
    if recent is not None and first is None and last is None:
        return complete_keys(partitions)[-recent:]
    raise ConfigError(
        f"which {partitions.noun}s?",
        where="run",
        todo="give --from (and --to), or --last with a number",
    )


def _say_how_to_try_again(console: Console, pipeline: Pipeline, keys: list[str]) -> None:
    console.print(
        f"Fix what the table reports, then run the failed {pipeline.partitions.noun}s again:"
        f" [bold]customer-pipeline run{pipeline.option} --from {keys[0]} --to {keys[-1]}[/bold]",
        soft_wrap=True,
    )
