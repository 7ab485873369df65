"""Which days a command is about, from what was typed; refused before anything is done."""

from __future__ import annotations

from datetime import UTC, datetime
from typing import Annotated

import typer

from customer_pipeline.errors import ConfigError, PartitionError
from customer_pipeline.source.partitions import Partitions

# What is typed for a range of days, in commands for which all days are meant without it.
FirstDay = Annotated[
    str | None, typer.Option("--from", metavar="YYYY-MM-DD", help="default: the source's first")
]
LastDay = Annotated[
    str | None, typer.Option("--to", metavar="YYYY-MM-DD", help="default: the newest that is over")
]


def complete_days(partitions: Partitions) -> list[str]:
    """All days of the source that are over, oldest first.

    Raises:
        ConfigError: there is none yet.
    """
    complete = partitions.complete_keys(datetime.now(UTC))
    if not complete:
        raise ConfigError(
            "no day of this source is over yet", where="source", todo="see its `start`"
        )
    return complete


def days_between(partitions: Partitions, first: str, last: str) -> list[str]:
    """The days from `first` to `last`, both included.

    Raises:
        PartitionError: for what is no day, lies outside the source's range, or is not over yet,
            naming both ends where both are wrong; and for a reversed range.
        ConfigError: no day is over yet.
    """
    newest = complete_days(partitions)[-1]
    wrong = [
        error
        for key in dict.fromkeys((first, last))
        if (error := _mistake(partitions, key, newest))
    ]
    if len(wrong) > 1:
        todo = f"days of this source are {partitions.first} to {newest}, written like that"
        raise PartitionError(", and ".join(error.what for error in wrong), where="days", todo=todo)
    if wrong:
        raise wrong[0]
    return partitions.keys_between(first, last)


def _mistake(partitions: Partitions, key: str, newest: str) -> PartitionError | None:
    try:
        partitions.window(key)
    except PartitionError as error:
        return error
    if key <= newest:
        return None
    return PartitionError(
        f"{key} is not over yet", where="days", todo=f"the newest complete day is {newest}"
    )


def counted(days: int) -> str:
    return f"{days} day{'' if days == 1 else 's'}"
