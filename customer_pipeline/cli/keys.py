"""Which pipeline a command is about, and which of its partitions, from what was typed; refused before
anything is done.
"""

from __future__ import annotations

from datetime import UTC, datetime
from typing import Annotated

import typer

from customer_pipeline.errors import ConfigError, PartitionError
from customer_pipeline.source.partitions import Partitions

PipelineName = Annotated[
    str | None,
    typer.Option("--pipeline", metavar="NAME", help="default: the first that the source has"),
]
# What is typed for a range of partitions, in commands for which all are meant without it.
FirstKey = Annotated[
    str | None, typer.Option("--from", metavar="YYYY-MM-DD", help="default: the source's first")
]
LastKey = Annotated[
    str | None, typer.Option("--to", metavar="YYYY-MM-DD", help="default: the newest that is over")
]


def complete_keys(partitions: Partitions) -> list[str]:
    """All partitions of the source that are over, oldest first.

    Raises:
        ConfigError: there is none yet.
    """
    complete = partitions.complete_keys(datetime.now(UTC))
    if not complete:
        raise ConfigError(
            f"no {partitions.noun} of this source is over yet",
            where="source",
            todo="see its `start`",
        )
    return complete


def keys_between(partitions: Partitions, first: str, last: str) -> list[str]:
    """The partitions from `first` to `last`, both included.

    Raises:
        PartitionError: for what is no key, lies outside the source's range, or is not over yet,
            naming both ends where both are wrong; and for a reversed range.
        ConfigError: no partition is over yet.
    """
    complete = complete_keys(partitions)
    wrong = [
        error
        for key in dict.fromkeys((first, last))
        if (error := _mistake(partitions, key, complete[-1]))
    ]
    if len(wrong) > 1:
        raise PartitionError(
            ", and ".join(error.what for error in wrong),
            where=f"{partitions.noun}s",
            todo=f"{partitions.noun}s of this source are {complete[0]} to {complete[-1]}, written"
            " like that",
        )
    if wrong:
        raise wrong[0]
    return partitions.keys_between(first, last)


def nothing_loaded(partitions: Partitions, *, where: str) -> ConfigError:
    """The error of a command that looks at what is loaded, when the warehouse has no ledger yet."""
    return ConfigError("nothing was loaded yet", where=where, todo=f"run {partitions.one} first")


def _mistake(partitions: Partitions, key: str, newest: str) -> PartitionError | None:
    try:
        partitions.window(key)
    except PartitionError as error:
        return error
    if key <= newest:
        return None
    return PartitionError(
        f"{key} is not over yet",
        where=f"{partitions.noun}s",
        todo=f"the newest complete {partitions.noun} is {newest}",
    )
