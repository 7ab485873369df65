"""The command `customer-pipeline`: one module a command, put together here."""

from __future__ import annotations

import sys

import typer
from rich.console import Console

from customer_pipeline.cli import (
    alerts,
    doctor,
    maintain,
    plan,
    quarantine,
    run,
    status,
    verify,
    waive,
)
from customer_pipeline.cli.backfill.command import backfill
from customer_pipeline.errors import PipelineError

cli = typer.Typer(
    name="customer-pipeline",
    help="Run pipelines, and inspect, verify and maintain what they publish.",
    no_args_is_help=True,
    pretty_exceptions_show_locals=False,
)
cli.add_typer(alerts.app, name="alerts")
cli.command("backfill")(backfill)
cli.command("doctor")(doctor.doctor)
cli.command("maintain")(maintain.maintain)
cli.command("plan")(plan.plan)
cli.command("quarantine")(quarantine.quarantine)
cli.command("run")(run.run)
cli.command("status")(status.status)
cli.command("verify")(verify.verify)
cli.command("waive")(waive.waive)


def app() -> None:
    """What the console script calls: a user's mistake ends in one sentence, not a stack trace."""
    try:
        cli()
    except PipelineError as error:
        Console(stderr=True, soft_wrap=True).print(f"error: {error}", style="red", markup=False)
        sys.exit(2)
