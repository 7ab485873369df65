"""Which days a command is about, from what was typed; refused before anything is done."""

from __future__ import annotations

from datetime import UTC, datetime

from customer_pipeline.errors import ConfigError
from customer_pipeline.source.partitions import DailyPartitions


def complete_days(partitions: DailyPartitions) -> list[str]:
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


def days_between(partitions: DailyPartitions, first: str, last: str) -> list[str]:
    """The days from `first` to `last`, both included.

    Raises:
        PartitionError: for what is no day, lies outside the source's range, or is reversed.
        ConfigError: for a day that is not over yet.
    """
    asked = partitions.keys_between(first, last)
    newest = complete_days(partitions)[-1]
    if asked[-1] > newest:
        raise ConfigError(
            f"{asked[-1]} is not over yet",
            where="days",
            todo=f"the newest complete day is {newest}",
        )
    return asked


def counted(days: int) -> str:
    return f"{days} day{'' if days == 1 else 's'}"
