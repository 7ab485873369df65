"""`customer-pipeline status`: what is published, day by day, out of the ledger."""

from __future__ import annotations

from collections.abc import Sequence
from datetime import UTC, datetime
from typing import TYPE_CHECKING, Annotated

import typer
from rich.console import Console
from rich.table import Table
from rich.text import Text

from customer_pipeline.settings import load_settings
from customer_pipeline.warehouse.ledger import Published, newest_failures, published_partitions

if TYPE_CHECKING:
    from customer_pipeline.orchestration.pipeline import Pipeline

_STYLES = {
    "published": "green",
    "empty": "cyan",
    "waived": "cyan",
    "failed": "red",
    "missing": "yellow",
}


def status(
    first: Annotated[str | None, typer.Option("--from", metavar="YYYY-MM-DD")] = None,
    last: Annotated[str | None, typer.Option("--to", metavar="YYYY-MM-DD")] = None,
) -> None:
    """Show what is published (default: the last 14 complete days)."""
    from customer_pipeline.orchestration.location import build_pipeline

    pipeline = build_pipeline(load_settings())
    complete = pipeline.partitions.complete_keys(datetime.now(UTC))
    keys = complete[-14:]
    if first or last:
        keys = pipeline.partitions.keys_between(first or complete[0], last or complete[-1])
    show_published(Console(), pipeline, keys)


def show_published(console: Console, pipeline: Pipeline, keys: Sequence[str]) -> None:
    """A table with a row per day, out of the ledger, and below it what needs attention and why."""
    published, failures = {}, {}
    if pipeline.warehouse.exists:
        with pipeline.warehouse.read() as connection:
            published = published_partitions(connection, pipeline.name)
            failures = newest_failures(connection, pipeline.name)
    table = Table(title=f"{pipeline.name} from {pipeline.source.name}", title_justify="left")
    table.add_column("day", no_wrap=True)
    for name in ("source rows", "quarantined", "loaded", "mart rows"):
        table.add_column(name, justify="right")
    table.add_column("verdict")
    for key in keys:
        row = published.get(key)
        counts = [row.source_rows, row.quarantined_rows, row.raw_rows, row.mart_rows] if row else []
        table.add_row(
            key,
            *(f"{count:,}" for count in counts or []),
            *([""] * (4 - len(counts))),
            _verdict(row, failed=key in failures),
        )
    console.print(table)
    for key in keys:
        if key in failures:
            console.print(Text.assemble((key, "bold red"), f" {failures[key]}"), soft_wrap=True)


def _verdict(row: Published | None, *, failed: bool) -> Text:
    word = row.status if row else "failed" if failed else "missing"
    text = Text(word, style=_STYLES[word])
    if row and failed:
        text.append(", a later attempt failed", style=_STYLES["failed"])
    return text
