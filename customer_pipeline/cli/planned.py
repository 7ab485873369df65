"""A plan in the terminal, for the commands that show or carry out one: what it is about, what would
run and why, what is left alone, and how long it takes.

What does not belong here: deciding (`planning/plan.py`).
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Annotated

import typer
from rich.console import Console
from rich.text import Text

from customer_pipeline.cli.keys import complete_keys, keys_between
from customer_pipeline.cli.standing import Standing, unknown_feeds
from customer_pipeline.cli.words import groups_table, show_source
from customer_pipeline.durations import seconds_text
from customer_pipeline.errors import ConfigError, PipelineError
from customer_pipeline.phrases import counted
from customer_pipeline.planning.estimate import estimate
from customer_pipeline.planning.groups import grouped
from customer_pipeline.planning.plan import Decision, Redo

if TYPE_CHECKING:
    from customer_pipeline.orchestration.pipeline import Pipeline

ComparedFeeds = Annotated[
    list[str] | None,
    typer.Option("--feed", help="with stale or all: compare only this feed's deliveries"),
]
_COMPARES_SOURCE = ("stale", "all")


def asked_keys(
    pipeline: Pipeline, first: str | None, last: str | None, feeds: Sequence[str], *, where: str
) -> list[str]:
    """The partitions asked for; everything that is wrong with what was typed is told at once.

    Raises:
        PipelineError: naming each mistake in the keys and the feeds.
    """
    complete, keys, wrong = complete_keys(pipeline.partitions), [], []
    try:
        keys = keys_between(pipeline.partitions, first or complete[0], last or complete[-1])
    except PipelineError as error:
        wrong.append(error)
    if unknown := unknown_feeds(pipeline.feeds, feeds, where=where):
        wrong.append(unknown)
    if len(wrong) > 1:
        raise ConfigError("; ".join(map(str, wrong)))
    if wrong:
        raise wrong[0]
    return keys


def compared_feeds(pipeline: Pipeline, redo: Redo, feeds: Sequence[str]) -> list[str]:
    """The feeds whose deliveries have to be compared with what is loaded."""
    return list(feeds or pipeline.feeds) if redo in _COMPARES_SOURCE else []


def show_plan(
    console: Console,
    pipeline: Pipeline,
    found: Standing,
    decisions: Sequence[Decision],
    heading: str,
) -> None:
    """Print it. `heading` goes before the number of partitions that run."""
    keys, noun = [one.partition_key for one in decisions], pipeline.partitions.noun
    console.print(
        f"[bold]{pipeline.name}[/bold] from {pipeline.source.name}, {keys[0]} to {keys[-1]}"
        f" ({counted(len(keys), noun)})"
    )
    runs = {one.partition_key: one.reason for one in decisions if one.runs}
    left = {one.partition_key: one.reason for one in decisions if not one.runs}
    if runs:
        console.print(f"\n{heading}: [bold]{counted(len(runs), noun)}[/bold]")
        console.print(groups_table(grouped(keys, runs), noun=noun, header="why"))
    else:
        console.print(f"\n{heading}: nothing")
    if left:
        console.print(f"\nleft alone: {counted(len(left), noun)}")
        console.print(groups_table(grouped(keys, left), noun=noun, header="why"))
    show_source(console, keys, found.states, noun=noun)
    _show_runs_in_flight(console, keys, found, noun)
    if runs:
        console.print(f"\n{_time(found, len(runs))}")


def _show_runs_in_flight(console: Console, keys: Sequence[str], found: Standing, noun: str) -> None:
    if not found.runs_are_known:
        console.print("\nDAGSTER_HOME is not set: runs in flight are not known.")
        return
    running = {one.partition_key: one.running for one in found.states if one.running}
    if not running:
        console.print(f"\nin flight: no run that touches these {noun}s")
    for group in grouped(keys, running):
        spans = ", ".join(span.words for span in group.spans)
        console.print(Text(f"\nin flight: {group.words} touches {spans}"))


def _time(found: Standing, partitions: int) -> str:
    guess = estimate(found.known.run_times, partitions)
    if guess is None:
        return "estimate: no history yet"
    least, most = seconds_text(guess.least), seconds_text(guess.most)
    time = f"about {least}" if least == most else f"between {least} and {most}"
    return f"estimate: {time} in one run, going by {counted(guess.runs, 'earlier run')}"
