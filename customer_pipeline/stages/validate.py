"""Validate: is what was built from a partition all that its source delivered, and fit to publish?

Every number is counted again, stage by stage: what the reader saw, what lies in the landing files,
what raw holds, what the models made of it. The verdict also takes in dbt's own tests, which ran on
the candidate.

What belongs here: the verdict. What does not: the comparisons of feeds (`feed_counts.py`), those that
stand beside the models (`meta: reconcile:`, `reconcile.py`), and publishing.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from customer_pipeline.outcomes import Casualty, CheckResult
from customer_pipeline.source.feed import Feed
from customer_pipeline.source.partitions import Partitions
from customer_pipeline.stages.candidate import (
    Candidate,
    Delivered,
    by_partition,
    casualties,
    deliveries,
    note_casualties,
    survivors,
)
from customer_pipeline.stages.feed_counts import feed_check_names, feed_checks
from customer_pipeline.stages.landing import Landing
from customer_pipeline.stages.reconcile import Rule, compare
from customer_pipeline.stages.transform import failed_tests


@dataclass(frozen=True)
class Verdict:
    """The judgement on one partition: `reasons` is empty when it may be published."""

    partition_key: str
    reasons: tuple[str, ...]
    source_rows: int
    quarantined_rows: int
    raw_rows: int

    @property
    def passed(self) -> bool:
        return not self.reasons


@dataclass(frozen=True)
class Validation:
    """All verdicts and check results of a run, and all its casualties so far."""

    verdicts: tuple[Verdict, ...]
    checks: tuple[CheckResult, ...]
    casualties: tuple[Casualty, ...]


def check_names(feeds: Mapping[str, Feed], rules: Sequence[Rule]) -> dict[str, str]:
    """The names of all comparisons, each with what it states."""
    return feed_check_names(feeds) | {rule.check: rule.statement for rule in rules}


def validate(
    candidate: Candidate,
    *,
    feeds: Mapping[str, Feed],
    partitions: Partitions,
    landing: Landing,
    rules: Sequence[Rule],
) -> Validation:
    """Judge every partition that is still in the run, and take those that fail out of it.

    Raises:
        StageError: the run has no candidate, or a reconciliation rule cannot be computed.
    """
    with candidate.open() as connection:
        keys = survivors(connection)
        windows = {window.key: window for window in partitions.windows(keys)}
        delivered = deliveries(connection)
        checks = [
            *feed_checks(connection, delivered, feeds=feeds, landing=landing, windows=windows),
            *compare(connection, rules, column=candidate.column, keys=keys),
        ]
        failed = [one for one in [*checks, *failed_tests(connection)] if one.holds_back]
        verdicts = _verdicts(keys, failed, delivered)
        note_casualties(
            connection,
            [
                Casualty(verdict.partition_key, "validate", "; ".join(verdict.reasons))
                for verdict in verdicts
                if not verdict.passed
            ],
        )
        return Validation(tuple(verdicts), tuple(checks), tuple(casualties(connection).values()))


def _verdicts(
    keys: Sequence[str], failed: Sequence[CheckResult], delivered: Sequence[Delivered]
) -> list[Verdict]:
    feeds_of = by_partition(delivered)
    reasons: dict[str, list[str]] = defaultdict(list)
    for one in failed:
        reasons[one.partition_key].append(f"{one.check}: {one.description}")
    return [
        Verdict(
            key,
            tuple(reasons[key]),
            source_rows=sum(row.source_rows for row in feeds_of[key]),
            quarantined_rows=sum(row.quarantined_rows for row in feeds_of[key]),
            raw_rows=sum(row.raw_rows for row in feeds_of[key]),
        )
        for key in keys
    ]
