"""`customer-pipeline plan`: which days would run and why, which are left alone, how long it takes.

Launches nothing. Which days those are is decided in `planning/plan.py`.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Annotated

import typer
from rich.console import Console
from rich.text import Text

from customer_pipeline.cli.days import complete_days, counted, days_between
from customer_pipeline.cli.standing import Standing, standing, unknown_feeds
from customer_pipeline.cli.words import groups_table, seconds_text, show_source, span_text
from customer_pipeline.errors import ConfigError, PipelineError
from customer_pipeline.planning.estimate import estimate
from customer_pipeline.planning.groups import grouped
from customer_pipeline.planning.plan import Redo
from customer_pipeline.planning.plan import plan as planned
from customer_pipeline.settings import load_settings

if TYPE_CHECKING:
    from customer_pipeline.orchestration.pipeline import Pipeline

_COMPARES_SOURCE = ("stale", "all")


def plan(
    first: Annotated[
        str | None, typer.Option("--from", metavar="YYYY-MM-DD", help="default: the source's first")
    ] = None,
    last: Annotated[
        str | None,
        typer.Option("--to", metavar="YYYY-MM-DD", help="default: the newest that is over"),
    ] = None,
    redo: Annotated[
        Redo,
        typer.Option(
            help="missing: also failed days; stale: published by older code or from older"
            " deliveries; all: whatever their state"
        ),
    ] = "missing",
    feeds: Annotated[
        list[str] | None,
        typer.Option("--feed", help="with stale or all: compare only this feed's deliveries"),
    ] = None,
    hash_all: Annotated[
        bool,
        typer.Option("--hash-all", help="with stale or all: believe no file's size and time"),
    ] = False,
) -> None:
    """Show which days would run, and why; launch nothing."""
    from customer_pipeline.orchestration.location import build_pipeline

    console, pipeline = Console(), build_pipeline(load_settings())
    keys = _asked(pipeline, first, last, feeds or [])
    look_at = (feeds or list(pipeline.feeds)) if redo in _COMPARES_SOURCE else []
    with console.status(f"looking at {counted(len(keys))}"):
        found = standing(pipeline, keys, look_at=look_at, hash_all=hash_all)
    console.print(
        f"[bold]{pipeline.name}[/bold] from {pipeline.source.name}, {keys[0]} to {keys[-1]}"
        f" ({counted(len(keys))})"
    )
    if feeds and not look_at:
        console.print(f"--redo {redo} compares no deliveries, so --feed makes no difference")
    _show(console, keys, found, redo)


def _asked(pipeline: Pipeline, first: str | None, last: str | None, feeds: list[str]) -> list[str]:
    """The days asked for; everything that is wrong with what was typed is told at once."""
    complete, keys, wrong = complete_days(pipeline.partitions), [], []
    try:
        keys = days_between(pipeline.partitions, first or complete[0], last or complete[-1])
    except PipelineError as error:
        wrong.append(error)
    if unknown := unknown_feeds(pipeline, feeds, where="plan"):
        wrong.append(unknown)
    if len(wrong) > 1:
        raise ConfigError("; ".join(map(str, wrong)))
    if wrong:
        raise wrong[0]
    return keys


def _show(console: Console, keys: list[str], found: Standing, redo: Redo) -> None:
    decisions = planned(found.states, redo)
    runs = {one.partition_key: one.reason for one in decisions if one.runs}
    left = {one.partition_key: one.reason for one in decisions if not one.runs}
    wanted = f"with --redo {redo} would run"
    if runs:
        console.print(f"\n{wanted}: [bold]{counted(len(runs))}[/bold]")
        console.print(groups_table(grouped(keys, runs), header="why"))
    else:
        console.print(f"\n{wanted}: nothing")
    if left:
        console.print(f"\nleft alone: {counted(len(left))}")
        console.print(groups_table(grouped(keys, left), header="why"))
    show_source(console, keys, found.states)
    _show_runs_in_flight(console, keys, found)
    if runs:
        console.print(f"\n{_time(found, len(runs))}")
    console.print("Nothing was launched.")


def _show_runs_in_flight(console: Console, keys: list[str], found: Standing) -> None:
    if found.record is None:
        console.print("\nDAGSTER_HOME is not set: runs in flight are not known.")
        return
    running = {one.partition_key: one.running for one in found.states if one.running}
    if not running:
        console.print("\nin flight: no run that touches these days")
    for group in grouped(keys, running):
        spans = ", ".join(map(span_text, group.spans))
        console.print(Text(f"\nin flight: {group.words} touches {spans}"))


def _time(found: Standing, days: int) -> str:
    guess = estimate(found.known.run_times, days)
    if guess is None:
        return "estimate: no history yet"
    least, most = seconds_text(guess.least), seconds_text(guess.most)
    span = f"about {least}" if least == most else f"between {least} and {most}"
    earlier = f"{guess.runs} earlier run{'' if guess.runs == 1 else 's'}"
    return f"estimate: {span} in one run, going by {earlier}"
