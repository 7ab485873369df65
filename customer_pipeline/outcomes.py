"""What a stage says about partitions: casualties, and the results of single checks.

What belongs here: the values that travel between stages and that the Dagster layer turns into
events. What does not: deciding anything.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from datetime import date, datetime
from decimal import Decimal
from typing import Literal

Stage = Literal["extract", "load", "transform", "validate", "publish"]
# What a check may compare.
Comparable = int | Decimal | float | str | date | datetime | None


@dataclass(frozen=True)
class Casualty:
    """A partition that does not go on in this run, at which stage, and why (one line)."""

    partition_key: str
    stage: Stage
    reason: str


@dataclass(frozen=True)
class CheckResult:
    """One check's result for one partition.

    `warn_only` failures are shown and do not hold a partition back. `metadata` holds what was
    compared, by the name of what it is.
    """

    check: str
    partition_key: str
    passed: bool
    description: str = ""
    warn_only: bool = False
    metadata: Mapping[str, Comparable] = field(default_factory=dict)

    @property
    def holds_back(self) -> bool:
        return not self.passed and not self.warn_only


def first_reasons(casualties: Iterable[Casualty]) -> dict[str, Casualty]:
    """One casualty per partition: what went wrong first explains what followed."""
    first: dict[str, Casualty] = {}
    for casualty in casualties:
        first.setdefault(casualty.partition_key, casualty)
    return first
