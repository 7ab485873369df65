"""The table of partitions that a run ends with: the counts at each stage, and what failed of what.

What does not belong here: how partitions stand in general (`status.py`).
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

from rich.console import Console
from rich.table import Table
from rich.text import Text

from customer_pipeline.cli.words import STYLES, state_text
from customer_pipeline.warehouse.attempts import failures_of
from customer_pipeline.warehouse.ledger import Published, published_partitions

if TYPE_CHECKING:
    from customer_pipeline.orchestration.pipeline import Pipeline


def show_published(console: Console, pipeline: Pipeline, keys: Sequence[str]) -> None:
    """A table with a row per partition, out of the ledger, and below it what needs attention and why."""
    published, failures = {}, {}
    if pipeline.warehouse.exists:
        with pipeline.warehouse.read() as connection:
            published = published_partitions(connection, pipeline.name)
            failures = failures_of(connection, pipeline.name)
    table = Table(title=f"{pipeline.name} from {pipeline.source.name}", title_justify="left")
    table.add_column(pipeline.partitions.noun, no_wrap=True)
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
            console.print(
                Text.assemble((key, "bold red"), f" {failures[key].reason}"), soft_wrap=True
            )


def _verdict(row: Published | None, *, failed: bool) -> Text:
    text = state_text(row.status if row else "failed" if failed else "missing")
    if row and failed:
        text.append(", a later attempt failed", style=STYLES["failed"])
    return text
