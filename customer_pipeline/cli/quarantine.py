"""`customer-pipeline quarantine`: rows that are not used: look at them, take them out, try again."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated, Literal

import typer
from rich.console import Console
from rich.table import Table
from rich.text import Text

from customer_pipeline.cli.execution import run_ranges
from customer_pipeline.cli.keys import PipelineName, nothing_loaded
from customer_pipeline.cli.standing import unknown_feeds
from customer_pipeline.phrases import counted
from customer_pipeline.planning.pieces import pieces
from customer_pipeline.settings import load_settings
from customer_pipeline.warehouse.quarantine import (
    FORMATS,
    Choice,
    Group,
    Row,
    export,
    groups,
    partitions,
    rows,
)
from customer_pipeline.warehouse.schema import has_ledger


def quarantine(
    name: PipelineName = None,
    feed: Annotated[str | None, typer.Option(help="only this feed")] = None,
    first: Annotated[str | None, typer.Option("--from", metavar="YYYY-MM-DD")] = None,
    last: Annotated[str | None, typer.Option("--to", metavar="YYYY-MM-DD")] = None,
    kind: Annotated[
        Literal["unreadable", "refused", "conflict"] | None, typer.Option(help="only this kind")
    ] = None,
    reason: Annotated[str | None, typer.Option(help="only reasons with this text in it")] = None,
    show: Annotated[
        int, typer.Option("--rows", min=0, help="also show this many rows as delivered")
    ] = 0,
    file: Annotated[
        Path | None,
        typer.Option("--export", help=f"write the rows to a file ({', '.join(FORMATS)})"),
    ] = None,
    retry: Annotated[
        bool,
        typer.Option("--retry", help="run their partitions again, after the rules were mended"),
    ] = False,
) -> None:
    """Show the rows that could not be used, by partition and reason."""
    from customer_pipeline.orchestration.location import build_pipeline

    console, settings = Console(), load_settings()
    pipeline = build_pipeline(settings, name)
    if unknown := unknown_feeds(pipeline.feeds, [feed] if feed else [], where="quarantine"):
        raise unknown
    for key in (first, last):
        if key is not None:
            pipeline.partitions.window(key)
    choice = Choice([feed] if feed else list(pipeline.feeds), kind, first, last, reason)
    with pipeline.warehouse.read() as connection:
        if not has_ledger(connection):
            raise nothing_loaded(pipeline.partitions, where="quarantine")
        found = groups(connection, choice)
        examples = rows(connection, choice, most=show) if show else []
        keys = partitions(connection, choice)
        written = export(connection, choice, file) if file else 0
    if not found:
        console.print("nothing is in quarantine")
        return
    console.print(_table_of(found, pipeline.partitions.noun))
    for row in examples:
        console.print(_row(row), soft_wrap=True)
    if file:
        console.print(f"{written:,} rows written to {file}", markup=False)
    if retry:
        ranges = pieces(pipeline.partitions.keys_between(keys[0], keys[-1]), keys)
        succeeded = run_ranges(console, settings, pipeline, ranges)
        raise typer.Exit(0 if succeeded else 1)


def _table_of(found: list[Group], noun: str) -> Table:
    table = Table(noun, "feed", "kind", title_justify="left")
    table.add_column("rows", justify="right")
    table.add_column("reason (of the first)")
    for group in found:
        table.add_row(
            group.partition_key, group.feed, group.kind, f"{group.rows:,}", Text(group.example)
        )
    total = sum(group.rows for group in found)
    them = counted(len({group.partition_key for group in found}), noun)
    table.caption = f"{counted(total, 'row')} of {them}"
    return table


def _row(row: Row) -> Text:
    """The place, the reason, and what was delivered, none of it taken for markup."""
    place = f"{row.feed} {row.partition_key} line {row.line}"
    return Text.assemble((place, "bold"), f" {row.reason}\n  ", (row.raw or "", "dim"))
