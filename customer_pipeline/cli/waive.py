"""`customer-pipeline waive`: partitions whose source will never come, with the reason why."""

from __future__ import annotations

from collections.abc import Sequence
from datetime import UTC, datetime
from typing import Annotated

import typer
from rich.console import Console
from rich.text import Text

from customer_pipeline.cli.keys import PipelineName, keys_between
from customer_pipeline.cli.person import who
from customer_pipeline.errors import ConfigError
from customer_pipeline.phrases import counted
from customer_pipeline.planning.groups import grouped
from customer_pipeline.settings import load_settings
from customer_pipeline.warehouse.ledger import published_partitions
from customer_pipeline.warehouse.schema import ensure_ledger
from customer_pipeline.warehouse.sql import transaction
from customer_pipeline.warehouse.waivers import Waiver, end_waivers, grant_waivers, waivers_of


def waive(
    first: Annotated[str, typer.Option("--from", metavar="YYYY-MM-DD", help="first one")],
    name: PipelineName = None,
    last: Annotated[
        str | None, typer.Option("--to", metavar="YYYY-MM-DD", help="last one (default: --from)")
    ] = None,
    reason: Annotated[str, typer.Option(help="why nothing will come; it is kept")] = "",
    undo: Annotated[
        bool, typer.Option("--undo", help="instead: what was waived is owed again")
    ] = False,
) -> None:
    """Say that nothing will ever come for these days (months, ...): no longer missing or failed, but
    waived.

    What is published cannot be waived. Publishing what is waived ends its waiver.
    """
    from customer_pipeline.orchestration.location import build_pipeline

    console, pipeline = Console(), build_pipeline(load_settings(), name)
    keys, noun = keys_between(pipeline.partitions, first, last or first), pipeline.partitions.noun
    # One line, so that it stays one wherever it is shown.
    reason = " ".join(reason.split())
    if bool(reason) == undo:
        raise ConfigError(
            "a reason is needed" if not undo else "--undo takes no --reason",
            where="waive",
            todo='such as --reason "closed for renovation"'
            if not undo
            else "leave one of them out",
        )
    with pipeline.warehouse.write() as connection, transaction(connection):
        ensure_ledger(connection)
        waived = waivers_of(connection, pipeline.name)
        if undo:
            ended = [key for key in keys if key in waived]
            _refuse(keys, [key for key in keys if key not in waived], noun, "not waived")
            end_waivers(connection, pipeline.name, ended)
        else:
            published = published_partitions(connection, pipeline.name)
            _refuse(keys, [key for key in keys if key in published], noun, "published")
            now, person = datetime.now(UTC), who()
            grant_waivers(
                connection, pipeline.name, [Waiver(key, reason, person, now) for key in keys]
            )
    outcome = "owed again" if undo else f"waived: {reason}"
    console.print(Text(f"{_spans(keys, keys)}: {counted(len(keys), noun)} {outcome}"))


def _refuse(keys: Sequence[str], wrong: Sequence[str], noun: str, what: str) -> None:
    if wrong:
        raise ConfigError(
            f"{counted(len(wrong), noun)} {'is' if len(wrong) == 1 else 'are'} {what}, and nothing was"
            f" changed: {_spans(keys, wrong)}",
            where="waive",
            todo="leave them out",
        )


def _spans(keys: Sequence[str], chosen: Sequence[str]) -> str:
    (group,) = grouped(keys, dict.fromkeys(chosen, ""))
    return ", ".join(span.words for span in group.spans)
