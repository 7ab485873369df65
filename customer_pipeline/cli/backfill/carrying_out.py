"""Carrying out a backfill, from the plan that is shown and agreed to, to the exit code.

What belongs here: who does the work, and how an interruption or a failure on the way is told. What
does not: what was typed (`command.py`), and the course of a backfill (`flow.py`).
"""

from __future__ import annotations

import secrets
import sys
import time
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import replace
from datetime import UTC, datetime
from typing import TYPE_CHECKING

import typer
from rich.console import Console

from customer_pipeline.cli.backfill.asked import Asked
from customer_pipeline.cli.backfill.claim import Claim
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
from customer_pipeline.cli.person import who
from customer_pipeline.cli.planned import show_plan
from customer_pipeline.cli.standing import standing
from customer_pipeline.errors import ConfigError, PipelineError
from customer_pipeline.phrases import counted
from customer_pipeline.settings import Settings

if TYPE_CHECKING:
    from customer_pipeline.orchestration.pipeline import Pipeline

_INTERRUPTED = 130


def carry_out(
    console: Console,
    settings: Settings,
    pipeline: Pipeline,
    asked: Asked,
    *,
    yes: bool,
    wait: bool,
    local: bool,
) -> int:
    """Do it, after the plan was shown and agreed to; returns the exit code.

    Raises:
        ConfigError: nobody is there to agree, or no daemon to do it.
        PipelineError: what keeps it from beginning, such as a warehouse that is held.
    """
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
        silent = dict.fromkeys(course.keys, "not done when the daemon fell silent")
        course.unfinished, course.left, code = silent | course.unfinished, True, 1
    except PipelineError as error:
        if not course.keys:
            raise
        # Such as a warehouse that somebody holds: what is done cannot be looked at now.
        _say(flow.console, error)
        say_how_to_go_on(flow.console, flow.backfill_id)
        return 1
    if not course.keys:
        flow.console.print("Nothing to launch: others have begun it meanwhile.")
        return code
    if course.left and not code:
        flow.console.print(
            f"backfill [bold]{flow.backfill_id}[/bold] goes on by itself: see customer-pipeline"
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
                "DAGSTER_HOME is not set, so no daemon can be asked",
                where="backfill",
                todo="export DAGSTER_HOME=$PWD/.dagster_home, or do it here with --local",
            )
        state = daemon_state(instance, datetime.now(UTC))
        if not state.alive:
            raise ConfigError(
                state.words, where="backfill", todo=f"{HOW_TO_START}; or do it here with --local"
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
        raise ConfigError("nobody is there to agree to it", where="backfill", todo="say --yes")
    typer.confirm(f"Run {what}?", abort=True)
