"""One partition in a terminal, from its delivery to its published rows, and every attempt at it.

What belongs here: showing it. What does not: gathering it (`planning/detail.py`).
"""

from __future__ import annotations

from collections.abc import Mapping

from rich.console import Console
from rich.table import Table
from rich.text import Text

from customer_pipeline.cli.words import state_text
from customer_pipeline.durations import seconds_text
from customer_pipeline.phrases import counted, short
from customer_pipeline.planning.detail import Detail
from customer_pipeline.planning.state import State
from customer_pipeline.source.drift import now_called
from customer_pipeline.source.partitions import Window
from customer_pipeline.warehouse.attempts import Attempt
from customer_pipeline.warehouse.ledger import Published


def show_partition(console: Console, state: State, detail: Detail, window: Window) -> None:
    """Print all of it; what comes from outside is never taken for markup."""
    console.print(Text.assemble((state.partition_key, "bold"), ": ", state_text(state.kind)))
    console.print(
        f"  from {window.start:%Y-%m-%d %H:%M} to {window.end:%Y-%m-%d %H:%M} in"
        f" {window.start.tzinfo}, {counted(window.hours, 'hour')}",
        highlight=False,
    )
    for reason in (*state.reasons, *state.source):
        console.print(Text(f"  {reason}"), soft_wrap=True)
    if detail.feeds:
        console.print(_feeds(detail))
    if detail.drift:
        console.print(_drift(detail))
    if state.published:
        console.print(_published(state.published, detail))
    if detail.quarantine:
        console.print(_quarantine(detail))
    console.print(
        Text("attempts" if detail.attempts else "no run has tried it", style="table.title")
    )
    for attempt in detail.attempts:
        console.print(_attempt(attempt, detail.requests), soft_wrap=True)


def _feeds(detail: Detail) -> Table:
    table = Table("feed", title="loaded", title_justify="left")
    for name in ("source rows", "quarantined", "raw rows"):
        table.add_column(name, justify="right")
    table.add_column("delivery")
    table.add_column("run")
    for feed in detail.feeds:
        table.add_row(
            feed.feed,
            *(f"{rows:,}" for rows in (feed.source_rows, feed.quarantined_rows, feed.raw_rows)),
            short(feed.fingerprint),
            short(feed.run_id),
        )
    return table


def _drift(detail: Detail) -> Table:
    table = Table("feed", "column", "is", title="columns not as declared", title_justify="left")
    table.add_column("since")
    for one in detail.drift:
        ended = "" if one.is_ongoing else f" to {one.last_partition}"
        table.add_row(
            one.feed,
            Text(one.column_name, overflow="fold"),
            Text(f"{one.kind}{now_called(one.delivered_as)}{'; refused' if one.refuses else ''}"),
            f"{one.first_partition}{ended}",
        )
    return table


def _published(row: Published, detail: Detail) -> Table:
    table = Table(title="published", title_justify="left", show_header=False)
    for mart in detail.marts:
        table.add_row(f"rows in {mart.mart}", f"{mart.rows:,}")
    table.add_section()
    for name, value in (
        ("content hash", row.content_hash),
        ("code version", row.code_version),
        ("run", row.run_id),
        ("at", f"{row.published_at:%Y-%m-%d %H:%M:%S} UTC"),
    ):
        table.add_row(name, Text(value, overflow="fold"))
    return table


def _quarantine(detail: Detail) -> Table:
    table = Table("feed", "kind", title="quarantine", title_justify="left")
    table.add_column("rows", justify="right")
    table.add_column("reason (of the first)", overflow="fold")
    for group in detail.quarantine:
        table.add_row(group.feed, group.kind, f"{group.rows:,}", Text(group.example))
    return table


def _attempt(attempt: Attempt, requests: Mapping[str, str]) -> Text:
    """When and how it ended, by which run and what for, and below it why it failed."""
    took = seconds_text((attempt.finished_at - attempt.started_at).total_seconds())
    by = f", {attempt.launched_by}" if attempt.launched_by else ""
    if request := requests.get(attempt.backfill_id or ""):
        by += f": {request}"
    text = Text.assemble(
        f"  {attempt.finished_at:%Y-%m-%d %H:%M} UTC ",
        state_text(attempt.outcome),
        f" in {attempt.stage} after {took}: run {short(attempt.run_id)}{by}",
    )
    return text.append(f"\n    {attempt.reason}") if attempt.reason else text
