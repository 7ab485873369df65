"""`customer-pipeline plan`: which partitions would run and why, which are left alone, how long it takes.

Launches nothing. Which partitions those are is decided in `planning/plan.py`.
"""

from __future__ import annotations

from typing import Annotated

import typer
from rich.console import Console

from customer_pipeline.cli.keys import FirstKey, LastKey, PipelineName
from customer_pipeline.cli.planned import ComparedFeeds, asked_keys, compared_feeds, show_plan
from customer_pipeline.cli.standing import standing
from customer_pipeline.phrases import counted
from customer_pipeline.planning.plan import Redo
from customer_pipeline.planning.plan import plan as planned
from customer_pipeline.settings import load_settings


def plan(
    name: PipelineName = None,
    first: FirstKey = None,
    last: LastKey = None,
    redo: Annotated[
        Redo,
        typer.Option(
            help="missing: also failed ones; stale: published by older code or from older"
            " deliveries; all: whatever their state"
        ),
    ] = "missing",
    feeds: ComparedFeeds = None,
    hash_all: Annotated[
        bool,
        typer.Option("--hash-all", help="with stale or all: believe no file's size and time"),
    ] = False,
) -> None:
    """Show which days (months, ...) would run, and why; launch nothing."""
    from customer_pipeline.orchestration.location import build_pipeline

    console, pipeline = Console(), build_pipeline(load_settings(), name)
    keys = asked_keys(pipeline, first, last, feeds or [], where="plan")
    look_at = compared_feeds(pipeline, redo, feeds or [])
    with console.status(f"looking at {counted(len(keys), pipeline.partitions.noun)}"):
        found = standing(pipeline, keys, look_at=look_at, hash_all=hash_all)
    if feeds and not look_at:
        console.print(f"--redo {redo} compares no deliveries, so --feed makes no difference")
    show_plan(
        console, pipeline, found, planned(found.states, redo), f"with --redo {redo} would run"
    )
    console.print("Nothing was launched.")
