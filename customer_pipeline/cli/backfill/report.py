"""What a backfill ends with: what was done, a line for every partition that was not, and what to do next.

What does not belong here: finding out (`flow.py`).
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import TYPE_CHECKING

from rich.console import Console
from rich.table import Table
from rich.text import Text

from customer_pipeline.cli.backfill.flow import Course
from customer_pipeline.cli.backfill.tally import Tally, read_tally
from customer_pipeline.cli.words import groups_table
from customer_pipeline.durations import seconds_text
from customer_pipeline.phrases import counted
from customer_pipeline.planning.groups import grouped

if TYPE_CHECKING:
    from customer_pipeline.orchestration.pipeline import Pipeline


def report(
    console: Console, pipeline: Pipeline, backfill_id: str, course: Course, seconds: float
) -> bool:
    """Print it; returns whether all is well."""
    keys, noun = sorted(course.keys), pipeline.partitions.noun
    tally = read_tally(pipeline, backfill_id, keys)
    words = dict(_words(keys, tally, course))
    not_done = f", [red]{counted(len(words), noun)} not[/red]" if words else ""
    rows = f", {tally.rows:,} source rows" if tally.rows else ""
    console.print(
        f"\nbackfill [bold]{backfill_id}[/bold]: {len(tally.done)} of {counted(len(keys), noun)} done in"
        f" {seconds_text(seconds)}{rows}{not_done}"
    )
    if words:
        console.print(groups_table(grouped(keys, words), noun=noun, header="why not"))
    if course.findings:
        console.print(_differences(course, noun))
    # Such as that of a code server which was started before the code changed.
    versions = [one.code_version for one in tally.published.values()]
    other_code = len(versions) - versions.count(pipeline.code_version)
    if other_code:
        console.print(
            f"[yellow]{counted(other_code, noun)} published by other code than this command's: reload the"
            " code location (in the UI under Deployment), and run with --redo stale[/yellow]"
        )
    well = not (words or course.findings or other_code)
    if not well:
        mending = bool(tally.failed or course.findings)
        say_how_to_go_on(console, backfill_id, after_mending=mending)
    return well


def _words(keys: Sequence[str], tally: Tally, course: Course) -> Iterator[tuple[str, str]]:
    """Why each partition that is not done is not."""
    for key in keys:
        if key in tally.done:
            continue
        if key in tally.failed:
            yield key, f"failed in {tally.failed[key].stage}: {tally.failed[key].reason}"
        elif key in course.unfinished:
            yield key, course.unfinished[key]
        elif course.held_back:
            yield key, f"not started: {course.held_back}"
        elif course.left:
            yield key, "stopped, or not begun"
        else:
            yield (
                key,
                "its run succeeded, but this warehouse has no word of it: the daemon seems to use"
                " other settings (CUSTOMER_PIPELINE_*) than this command",
            )


def _differences(course: Course, noun: str) -> Table:
    table = Table(noun, "where", "difference")
    for finding in course.findings:
        table.add_row(finding.partition_key, finding.place, Text(finding.what))
    return table


def say_how_to_go_on(console: Console, backfill_id: str, *, after_mending: bool = False) -> None:
    """Print the next command, on one line, so that it can be copied."""
    mend = "mend what the table says, then " if after_mending else ""
    console.print(
        f"Next: {mend}go on with exactly what is left:"
        f" [bold]customer-pipeline backfill --resume {backfill_id}[/bold]",
        highlight=False,
        soft_wrap=True,
    )
