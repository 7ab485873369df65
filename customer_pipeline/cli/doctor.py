"""`customer-pipeline doctor`: is everything well, and if not, what is to be done next?

What belongs here: the command. What does not: which looks it takes (`doctor_looks.py`), and the page
(`doctor_page.py`).
"""

from __future__ import annotations

from datetime import UTC, datetime, timedelta
from typing import Annotated

import typer
from rich.console import Console

from customer_pipeline.cli.doctor_looks import quick_look, whole_look
from customer_pipeline.cli.doctor_page import findings_json, show_findings


def doctor(
    quick: Annotated[
        bool,
        typer.Option(
            "--quick",
            help="for cron and health checks: what is overdue, the daemon, stuck runs, alerts only",
        ),
    ] = False,
    hours: Annotated[
        float | None,
        typer.Option(
            "--overdue-after",
            min=0,
            metavar="HOURS",
            help="from the end of a day, month, ...; default: the hour that CUSTOMER_PIPELINE_DUE_BY says",
        ),
    ] = None,
    as_json: Annotated[bool, typer.Option("--json", help="for scripts")] = False,
) -> None:
    """Look at all that can be wrong, and say what to do: settings, source, data folder, warehouse,
    partitions, models, lake, reporting, Dagster, alerts, versions.

    Exit code 0 only when there is no problem; a warning is none.
    """
    grace = None if hours is None else timedelta(hours=hours)
    findings = list((quick_look if quick else whole_look)(datetime.now(UTC), grace))
    if as_json:
        typer.echo(findings_json(findings))
    else:
        show_findings(Console(), findings)
    raise typer.Exit(1 if any(finding.level == "problem" for finding in findings) else 0)
