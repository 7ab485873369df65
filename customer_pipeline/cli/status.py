"""`customer-pipeline status`: how partitions stand, by the ledger and the data, whatever Dagster thinks.

What belongs here: the command, and the page about many partitions. What does not: the calendar
(`calendar.py`), the page about one (`partition_page.py`), and JSON (`status_json.py`).
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Annotated

import typer
from rich.console import Console
from rich.table import Table

from customer_pipeline.cli.calendar import calendar, legend
from customer_pipeline.cli.keys import (
    LastKey,
    PipelineName,
    complete_keys,
    keys_between,
)
from customer_pipeline.cli.partition_page import show_partition
from customer_pipeline.cli.standing import Standing, standing
from customer_pipeline.cli.status_json import status_json
from customer_pipeline.cli.words import groups_table, show_source
from customer_pipeline.errors import ConfigError
from customer_pipeline.phrases import counted
from customer_pipeline.planning.detail import read_detail
from customer_pipeline.planning.groups import grouped
from customer_pipeline.planning.state import State
from customer_pipeline.settings import load_settings
from customer_pipeline.source.partitions import Partitions

if TYPE_CHECKING:
    from customer_pipeline.orchestration.instance_view import Record
    from customer_pipeline.orchestration.pipeline import Pipeline

_NEWEST = 12 * 7
_DISAGREEMENTS_SHOWN = 10


def status(
    name: PipelineName = None,
    first: Annotated[
        str | None,
        typer.Option("--from", metavar="YYYY-MM-DD", help=f"default: the newest {_NEWEST}"),
    ] = None,
    last: LastKey = None,
    one: Annotated[
        str | None,
        typer.Option("--day", "--partition", metavar="YYYY-MM-DD", help="instead: all about one"),
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
    """Show how days (months, ...) stand: published, empty, failed, stale, missing, running or waived.

    Exit code 1 when one failed, is stale or is missing.
    """
    from customer_pipeline.orchestration.location import build_pipeline

    pipeline = build_pipeline(load_settings(), name)
    keys = _keys(pipeline.partitions, first, last, one)
    look_at = list(pipeline.feeds) if source else ()
    found = standing(pipeline, keys, look_at=look_at, hash_all=hash_all, compare=True)
    detail = None
    if one is not None:
        detail = read_detail(
            pipeline.warehouse,
            pipeline.name,
            one,
            feeds=pipeline.feeds,
            marts=pipeline.marts,
            column=pipeline.partitions.column,
        )
    if as_json:
        typer.echo(status_json(pipeline, found, detail))
    else:
        console = Console()
        if detail is not None:
            show_partition(console, found.states[0], detail, pipeline.partitions.window(keys[0]))
        else:
            _show_calendar(console, pipeline, keys, found)
        if found.record is not None:
            _show_record(console, found.record, pipeline.partitions.noun)
    raise typer.Exit(1 if any(state.needs_attention for state in found.states) else 0)


def _keys(
    partitions: Partitions, first: str | None, last: str | None, one: str | None
) -> list[str]:
    if one is not None:
        if first is not None or last is not None:
            raise ConfigError(
                f"--day is about one {partitions.noun}",
                where="status",
                todo="leave --from and --to out",
            )
        return keys_between(partitions, one, one)
    complete = complete_keys(partitions)
    if first is None and last is None:
        return complete[-_NEWEST:]
    return keys_between(partitions, first or complete[0], last or complete[-1])


def _show_calendar(console: Console, pipeline: Pipeline, keys: list[str], found: Standing) -> None:
    noun = pipeline.partitions.noun
    console.print(
        f"[bold]{pipeline.name}[/bold] from {pipeline.source.name}, {keys[0]} to {keys[-1]}"
        f" ({counted(len(keys), noun)})\n"
    )
    console.print(calendar(pipeline.partitions, found.states), no_wrap=True)
    console.print()
    console.print(legend(found.states))
    words = {state.partition_key: _words(state) for state in found.states if state.needs_attention}
    if words:
        console.print(f"\n[bold]{counted(len(words), noun)}[/bold] to look at")
        console.print(groups_table(grouped(keys, words), noun=noun, header="state, and why"))
    else:
        console.print("\nnothing to look at", style="green")
    show_source(console, keys, found.states, noun=noun)


def _words(state: State) -> str:
    why = "; ".join(state.reasons)
    # The reason of a failed one begins with that word anyway.
    return why if state.kind == "failed" else f"{state.kind}: {why}"


def _show_record(console: Console, record: Record, noun: str) -> None:
    """Where Dagster's own record tells another story; the ledger's is the one that counts."""
    if record.disagreements:
        console.print(f"\nDagster's record differs on {counted(len(record.disagreements), noun)}")
        table = Table(noun, "by ledger and data", "by Dagster")
        for one in record.disagreements[:_DISAGREEMENTS_SHOWN]:
            table.add_row(one.partition_key, one.ledger, one.dagster)
        console.print(table)
        if (more := len(record.disagreements) - _DISAGREEMENTS_SHOWN) > 0:
            console.print(f"… and {more} more")
    if record.unknown:
        console.print(
            f"\nDagster has no record of {counted(record.unknown, noun)} published: they were run"
            " without this DAGSTER_HOME"
        )
