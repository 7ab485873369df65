"""`customer-pipeline backfill`: partitions done again, a few first and verified, and then the rest.

What belongs here: the command, from what was typed to the exit code. What does not: the course of a
backfill (`flow.py`), and backfills that were begun already (`control.py`, `earlier.py`).
"""

from __future__ import annotations

import secrets
import sys
import time
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import replace
from datetime import UTC, datetime
from typing import TYPE_CHECKING, Annotated

import typer
from rich.console import Console

from customer_pipeline.cli.backfill.asked import Asked
from customer_pipeline.cli.backfill.claim import Claim
from customer_pipeline.cli.backfill.control import cancel_backfill, change_limit
from customer_pipeline.cli.backfill.earlier import earlier, resumed
from customer_pipeline.cli.backfill.flow import Course, Flow
from customer_pipeline.cli.backfill.report import report, say_how_to_go_on
from customer_pipeline.cli.backfill.workers import (
    ByTheDaemon,
    DaemonIsSilentError,
    InProcess,
    Worker,
)
from customer_pipeline.cli.execution import in_this_process
from customer_pipeline.cli.instance import kept_instance
from customer_pipeline.cli.keys import FirstKey, LastKey, PipelineName, counted
from customer_pipeline.cli.person import who
from customer_pipeline.cli.planned import ComparedFeeds, asked_keys, compared_feeds, show_plan
from customer_pipeline.cli.standing import standing
from customer_pipeline.errors import ConfigError, PipelineError
from customer_pipeline.planning.plan import Redo
from customer_pipeline.settings import Settings, load_settings

if TYPE_CHECKING:
    from customer_pipeline.orchestration.pipeline import Pipeline

_INTERRUPTED = 130


def backfill(
    name: PipelineName = None,
    first: FirstKey = None,
    last: LastKey = None,
    redo: Annotated[
        Redo, typer.Option(help="as for plan: missing includes failed ones")
    ] = "missing",
    feeds: ComparedFeeds = None,
    verify_first: Annotated[
        int,
        typer.Option(min=0, help="run and verify this many first"),
    ] = 1,
    longest_run: Annotated[
        int | None,
        typer.Option(
            "--partitions-per-run",
            "--days-per-run",
            min=1,
            help="default: one run for each stretch without gaps",
        ),
    ] = None,
    max_active_runs: Annotated[
        int | None, typer.Option(min=1, help="default: what Dagster's instance allows")
    ] = None,
    newest_first: Annotated[
        bool, typer.Option("--newest-first", help="run the newest first, not the oldest")
    ] = False,
    reason: Annotated[str, typer.Option(help="kept in the ledger and on the runs")] = "",
    yes: Annotated[bool, typer.Option("--yes", "-y", help="do not ask for confirmation")] = False,
    no_wait: Annotated[
        bool, typer.Option("--no-wait", help="return once everything is launched")
    ] = False,
    local: Annotated[
        bool, typer.Option("--local", help="in this process, one run at a time, without a daemon")
    ] = False,
    resume: Annotated[
        str | None, typer.Option(metavar="ID", help="instead: run what is left of a backfill")
    ] = None,
    change: Annotated[
        str | None,
        typer.Option(metavar="ID", help="change --max-active-runs of a running backfill"),
    ] = None,
    cancel: Annotated[
        str | None, typer.Option(metavar="ID", help="stop a running backfill")
    ] = None,
) -> None:
    """Run days (months, ...) through the whole pipeline, with Dagster's backfills, or here with --local.

    The first ones run alone and are verified before any other starts.
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
            "--local does one run at a time and waits for it",
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
    code = _carry_out(console, settings, pipeline, asked, yes=yes, wait=not no_wait, local=local)
    raise typer.Exit(code)


def _carry_out(
    console: Console,
    settings: Settings,
    pipeline: Pipeline,
    asked: Asked,
    *,
    yes: bool,
    wait: bool,
    local: bool,
) -> int:
    """Do it, after the plan was shown and agreed to; returns the exit code."""
    backfill_id, noun = secrets.token_hex(4), pipeline.partitions.noun
    with _worker(console, settings, pipeline, asked, backfill_id, local=local) as worker:
        with console.status(f"looking at {counted(len(asked.keys), noun)}"):
            found = standing(pipeline, asked.keys, look_at=asked.look_at)
        decisions = asked.decide(found.states)
        show_plan(console, pipeline, found, decisions, "would run")
        planned = [one.partition_key for one in decisions if one.runs]
        if not planned:
            console.print("Nothing to launch.")
            return 0
        _agree(counted(len(planned), noun), yes=yes)
        flow = Flow(
            console=console,
            pipeline=pipeline,
            asked=asked,
            planned=planned,
            backfill_id=backfill_id,
            launched_by=who(),
            run_times=found.known.run_times,
            worker=worker,
            claim=Claim.on(settings.data_path),
        )
        return _see_through(flow, wait=wait)


def _see_through(flow: Flow, *, wait: bool) -> int:
    """See a backfill to its end, or to where somebody interrupts it; returns the exit code."""
    course, begun, code = Course(), time.monotonic(), 0
    try:
        flow.go(course, wait=wait)
    except KeyboardInterrupt:
        flow.stop(course)
        code = _INTERRUPTED
    except DaemonIsSilentError as error:
        _say(flow.console, error)
        silent = dict.fromkeys(course.keys, "not done when the daemon stopped responding")
        course.unfinished, course.left, code = silent | course.unfinished, True, 1
    except PipelineError as error:
        if not course.keys:
            raise
        # Such as a warehouse that somebody holds: what is done cannot be looked at now.
        _say(flow.console, error)
        say_how_to_go_on(flow.console, flow.backfill_id)
        return 1
    if not course.keys:
        flow.console.print("Nothing to launch: another run has already started it.")
        return code
    if course.left and not code:
        flow.console.print(
            f"backfill [bold]{flow.backfill_id}[/bold] continues by itself: see customer-pipeline"
            f" status{flow.pipeline.option}, or the UI under Runs, Backfills"
        )
        return 0
    seconds = time.monotonic() - begun
    well = report(flow.console, flow.pipeline, flow.backfill_id, course, seconds)
    return code or (0 if well else 1)


def _say(console: Console, error: PipelineError) -> None:
    console.print(f"error: {error}", style="red", markup=False, soft_wrap=True)


@contextmanager
def _worker(
    console: Console,
    settings: Settings,
    pipeline: Pipeline,
    asked: Asked,
    backfill_id: str,
    *,
    local: bool,
) -> Iterator[Worker]:
    """Who is to do the work, ready to begin.

    Raises:
        ConfigError: no daemon is there to do it, or Dagster's instance cannot do what is asked.
    """
    from customer_pipeline.orchestration.backfills import Launch
    from customer_pipeline.orchestration.daemon import HOW_TO_START, daemon_state
    from customer_pipeline.orchestration.run_limits import checked_limit

    launch = Launch(
        backfill_id, asked.reason, asked.newest_first, begin=asked.in_order(asked.keys)[0]
    )
    if local:
        with in_this_process(console, settings, pipeline) as here:
            yield InProcess(here, launch)
            here.refresh()
        return
    with kept_instance() as instance:
        if instance is None:
            raise ConfigError(
                "DAGSTER_HOME is not set, so there is no daemon to run it",
                where="backfill",
                todo="export DAGSTER_HOME=$PWD/.dagster_home, or run it here with --local",
            )
        state = daemon_state(instance, datetime.now(UTC))
        if not state.alive:
            raise ConfigError(
                state.words, where="backfill", todo=f"{HOW_TO_START}; or run it here with --local"
            )
        limit = checked_limit(instance, asked.max_active_runs)
        calendar = pipeline.partitions.complete_keys(datetime.now(UTC))
        yield ByTheDaemon(instance, pipeline, replace(launch, max_active_runs=limit), calendar)


def _agree(what: str, *, yes: bool) -> None:
    """Ask whether to go on.

    Raises:
        ConfigError: there is nobody to ask.
    """
    if yes:
        return
    if not sys.stdin.isatty():
        raise ConfigError(
            "cannot ask for confirmation: no terminal", where="backfill", todo="give --yes"
        )
    typer.confirm(f"Run {what}?", abort=True)
