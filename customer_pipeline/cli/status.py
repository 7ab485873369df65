"""`customer-pipeline status`: how days stand, by the ledger and the data, whatever Dagster thinks.

What belongs here: the command, and the page about many days. What does not: the calendar
(`calendar.py`), the page about one day (`day_page.py`), and JSON (`status_json.py`).
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Annotated

import typer
from rich.console import Console
from rich.table import Table

from customer_pipeline.cli.calendar import calendar, legend
from customer_pipeline.cli.day_page import show_day
from customer_pipeline.cli.days import LastDay, complete_days, counted, days_between
from customer_pipeline.cli.standing import Standing, standing
from customer_pipeline.cli.status_json import status_json
from customer_pipeline.cli.words import groups_table, show_source
from customer_pipeline.errors import ConfigError
from customer_pipeline.planning.detail import read_detail
from customer_pipeline.planning.groups import grouped
from customer_pipeline.planning.state import State
from customer_pipeline.settings import load_settings

if TYPE_CHECKING:
    from customer_pipeline.orchestration.instance_view import Record
    from customer_pipeline.orchestration.pipeline import Pipeline

_NEWEST = 12 * 7
_DISAGREEMENTS_SHOWN = 10


def status(
    first: Annotated[
        str | None, typer.Option("--from", metavar="YYYY-MM-DD", help="default: twelve weeks ago")
    ] = None,
    last: LastDay = None,
    one_day: Annotated[
        str | None, typer.Option("--day", metavar="YYYY-MM-DD", help="instead: all about one day")
    ] = None,
    source: Annotated[
        bool,
        typer.Option("--source", help="also compare the source's deliveries with what is loaded"),
    ] = False,
    hash_all: Annotated[
        bool, typer.Option("--hash-all", help="with --source: believe no file's size and time")
    ] = False,
    as_json: Annotated[bool, typer.Option("--json", help="for scripts")] = False,
) -> None:
    """Show how days stand: published, empty, failed, stale, missing, running or waived.

    Exit code 1 when some day failed, is stale or is missing.
    """
    from customer_pipeline.orchestration.location import build_pipeline

    pipeline = build_pipeline(load_settings())
    keys = _keys(pipeline, first, last, one_day)
    look_at = list(pipeline.feeds) if source else ()
    found = standing(pipeline, keys, look_at=look_at, hash_all=hash_all, compare=True)
    day = None
    if one_day is not None:
        day = read_detail(
            pipeline.warehouse,
            pipeline.name,
            one_day,
            feeds=pipeline.feeds,
            marts=pipeline.marts,
            column=pipeline.partitions.column,
        )
    if as_json:
        typer.echo(status_json(pipeline, found, day))
    else:
        console = Console()
        if day is not None:
            show_day(console, found.states[0], day, pipeline.partitions.window(keys[0]))
        else:
            _show_days(console, pipeline, keys, found)
        if found.record is not None:
            _show_record(console, found.record)
    raise typer.Exit(1 if any(state.needs_attention for state in found.states) else 0)


def _keys(
    pipeline: Pipeline, first: str | None, last: str | None, one_day: str | None
) -> list[str]:
    if one_day is not None:
        if first is not None or last is not None:
            raise ConfigError(
                "--day is about one day", where="status", todo="leave --from and --to out"
            )
        return days_between(pipeline.partitions, one_day, one_day)
    complete = complete_days(pipeline.partitions)
    if first is None and last is None:
        return complete[-_NEWEST:]
    return days_between(pipeline.partitions, first or complete[0], last or complete[-1])


def _show_days(console: Console, pipeline: Pipeline, keys: list[str], found: Standing) -> None:
    console.print(
        f"[bold]{pipeline.name}[/bold] from {pipeline.source.name}, {keys[0]} to {keys[-1]}"
        f" ({counted(len(keys))})\n"
    )
    console.print(calendar(found.states), no_wrap=True)
    console.print()
    console.print(legend(found.states))
    words = {state.partition_key: _words(state) for state in found.states if state.needs_attention}
    if words:
        console.print(f"\n[bold]{counted(len(words))}[/bold] to look at")
        console.print(groups_table(grouped(keys, words), header="state, and why"))
    else:
        console.print("\nnothing to look at", style="green")
    show_source(console, keys, found.states)


def _words(state: State) -> str:
    why = "; ".join(state.reasons)
    # The reason of a failed day begins with that word anyway.
    return why if state.kind == "failed" else f"{state.kind}: {why}"


def _show_record(console: Console, record: Record) -> None:
    """Where Dagster's own record tells another story; the ledger's is the one that counts."""
    if record.disagreements:
        console.print(f"\nDagster's record differs on {counted(len(record.disagreements))}")
        table = Table("day", "by ledger and data", "by Dagster")
        for one in record.disagreements[:_DISAGREEMENTS_SHOWN]:
            table.add_row(one.partition_key, one.ledger, one.dagster)
        console.print(table)
        if (more := len(record.disagreements) - _DISAGREEMENTS_SHOWN) > 0:
            console.print(f"… and {more} more")
    if record.unknown:
        console.print(
            f"\nDagster has no record of {counted(record.unknown)} published: they were run"
            " without this DAGSTER_HOME"
        )
