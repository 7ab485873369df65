"""`customer-pipeline verify`: everything counted and hashed again, from the source to the lake."""

from __future__ import annotations

from typing import Annotated

import typer
from rich.console import Console
from rich.table import Table
from rich.text import Text

from customer_pipeline.cli.keys import PipelineName, keys_between, nothing_loaded
from customer_pipeline.errors import ConfigError
from customer_pipeline.phrases import counted
from customer_pipeline.planning.groups import Span
from customer_pipeline.settings import load_settings
from customer_pipeline.warehouse.ledger import published_partitions
from customer_pipeline.warehouse.schema import has_ledger


def verify(
    name: PipelineName = None,
    first: Annotated[
        str | None, typer.Option("--from", metavar="YYYY-MM-DD", help="default: first published")
    ] = None,
    last: Annotated[
        str | None, typer.Option("--to", metavar="YYYY-MM-DD", help="default: last published")
    ] = None,
    deep: Annotated[
        bool, typer.Option("--deep", help="also extract every delivery again; compare all values")
    ] = False,
) -> None:
    """Compare source, landing, raw, marts, ledger and lake anew, whatever the pipeline recorded."""
    from customer_pipeline.orchestration.location import build_pipeline

    console = Console()
    pipeline = build_pipeline(load_settings(), name)
    with pipeline.warehouse.read() as connection:
        if not has_ledger(connection):
            raise nothing_loaded(pipeline.partitions, where="verify")
        published = list(published_partitions(connection, pipeline.name))
    if not published and not (first and last):
        raise ConfigError("nothing is published yet", where="verify", todo="say --from and --to")
    keys = keys_between(pipeline.partitions, first or published[0], last or published[-1])
    all_of_them = counted(len(keys), pipeline.partitions.noun)
    with console.status(f"verifying {all_of_them}"):
        findings = pipeline.verifier.findings(pipeline.partitions.windows(keys), deep=deep)
    span = Span(keys[0], keys[-1]).words
    if not findings:
        console.print(f"[green]{span}: {all_of_them} in order, from the source to the lake[/green]")
        return
    table = Table(pipeline.partitions.noun, "where", "difference")
    for finding in findings:
        table.add_row(finding.partition_key, finding.place, Text(finding.what))
    console.print(table)
    different = len({finding.partition_key for finding in findings})
    console.print(f"[red]{span}: {different} of {all_of_them} differ[/red]")
    raise typer.Exit(1)
