"""`customer-pipeline backfill`: partitions done again, a few first and verified, and then the rest.

What belongs here: the command, and what was typed. What does not: doing it (`carrying_out.py`), and
backfills that were begun already (`control.py`, `earlier.py`).
"""

from __future__ import annotations

from typing import Annotated

import typer
from rich.console import Console

from customer_pipeline.cli.backfill.asked import Asked
from customer_pipeline.cli.backfill.carrying_out import carry_out
from customer_pipeline.cli.backfill.control import cancel_backfill, change_limit
from customer_pipeline.cli.backfill.earlier import earlier, resumed
from customer_pipeline.cli.keys import FirstKey, LastKey, PipelineName
from customer_pipeline.cli.planned import ComparedFeeds, asked_keys, compared_feeds
from customer_pipeline.errors import ConfigError
from customer_pipeline.planning.plan import Redo
from customer_pipeline.settings import load_settings


def backfill(
    name: PipelineName = None,
    first: FirstKey = None,
    last: LastKey = None,
    redo: Annotated[
        Redo, typer.Option(help="as for plan: missing also takes failed ones")
    ] = "missing",
    feeds: ComparedFeeds = None,
    verify_first: Annotated[
        int,
        typer.Option(min=0, help="so many run alone and are verified, before the rest starts"),
    ] = 1,
    longest_run: Annotated[
        int | None,
        typer.Option(
            "--partitions-per-run",
            "--days-per-run",
            min=1,
            help="default: all without a gap in one run",
        ),
    ] = None,
    max_active_runs: Annotated[
        int | None, typer.Option(min=1, help="default: what Dagster's instance allows")
    ] = None,
    newest_first: Annotated[bool, typer.Option("--newest-first", help="not oldest first")] = False,
    reason: Annotated[str, typer.Option(help="kept in the ledger, and on the runs")] = "",
    yes: Annotated[bool, typer.Option("--yes", "-y", help="do not ask")] = False,
    no_wait: Annotated[
        bool, typer.Option("--no-wait", help="leave when the last of it is launched")
    ] = False,
    local: Annotated[
        bool, typer.Option("--local", help="in this process, one run at a time, without a daemon")
    ] = False,
    resume: Annotated[
        str | None, typer.Option(metavar="ID", help="instead: what is left of a backfill")
    ] = None,
    change: Annotated[
        str | None,
        typer.Option(metavar="ID", help="give one that runs another --max-active-runs"),
    ] = None,
    cancel: Annotated[str | None, typer.Option(metavar="ID", help="stop one that runs")] = None,
) -> None:
    """Run days (months, ...) through the whole pipeline, with Dagster's backfills, or here with --local.

    The first ones run alone, and are verified before any other starts.
    Exit code 0 only when all are done and verified.
    """
    from customer_pipeline.orchestration.location import build_pipeline

    console, settings = Console(), load_settings()
    if cancel is not None:
        return cancel_backfill(console, *earlier(settings, cancel, name))
    if change is not None:
        if max_active_runs is None:
            raise ConfigError("--change needs --max-active-runs", where="backfill")
        return change_limit(console, *earlier(settings, change, name), max_active_runs)
    begun = None
    if resume is not None:
        pipeline, begun = earlier(settings, resume, name)
    else:
        pipeline = build_pipeline(settings, name)
    if local and (no_wait or max_active_runs):
        raise ConfigError(
            "--local does one run at a time, and waits for it",
            where="backfill",
            todo="leave out --no-wait and --max-active-runs",
        )
    asked = Asked(
        keys=tuple(asked_keys(pipeline, first, last, feeds or [], where="backfill")),
        redo=redo,
        look_at=tuple(compared_feeds(pipeline, redo, feeds or [])),
        verify_first=verify_first,
        longest_run=longest_run,
        max_active_runs=max_active_runs,
        newest_first=newest_first,
        reason=" ".join(reason.split()),
    )
    if begun is not None:
        asked = resumed(begun, asked, named=bool(first or last))
    code = carry_out(console, settings, pipeline, asked, yes=yes, wait=not no_wait, local=local)
    raise typer.Exit(code)
