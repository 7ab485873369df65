"""Backfills as the rules of alerts want to know them: whole operations, each over or not.

One operation may be several backfills of Dagster (first the days that are verified, then the rest),
which carry its name in a tag. It is over when all of them have ended, and every run of theirs.

What belongs here: reading backfills. What does not: what is told of them
(`customer_pipeline/alerts/backfills.py`).
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta
from typing import Any

import dagster as dg

from customer_pipeline.alerts.scene import EndedBackfill
from customer_pipeline.orchestration.activity import ACTIVE, publishes
from customer_pipeline.orchestration.alerting.runs import ended_at
from customer_pipeline.orchestration.alerting.tellers import Tellers
from customer_pipeline.orchestration.partitions import asked_of, partitions_of
from customer_pipeline.orchestration.run_tags import BACKFILL, DAGSTER_BACKFILL

_NEWEST = 100
_WORDS = {
    "COMPLETED": "ended",
    "COMPLETED_SUCCESS": "ended",
    "COMPLETED_FAILED": "ended",
    "FAILED": "was aborted",
    "CANCELED": "was cancelled",
}
# Between the parts of an operation nothing of it may be under way for a moment.
_NEXT_PART = timedelta(seconds=60)


@dataclass(frozen=True)
class Backfills:
    """`ended` are operations that are over; `under_way` has the names of the others, and of all their
    backfills; `runs_until` says until when a failed run is part of a backfill's own notice, by the
    backfill's id."""

    ended: tuple[EndedBackfill, ...]
    under_way: frozenset[str]
    runs_until: dict[str, datetime]


def backfills(
    instance: dg.DagsterInstance,
    tellers: Tellers,
    *,
    since: datetime,
    now: datetime,
    is_told: Callable[[str, int], bool],
) -> Backfills:
    """The backfills that are under way, and those that ended since then.

    Args:
        is_told: whether the notice of an operation of so many parts is noted; it is not read again.
    """
    parts: dict[str, list[Any]] = defaultdict(list)
    for backfill in instance.get_backfills(limit=_NEWEST):
        parts[backfill.tags.get(BACKFILL, backfill.backfill_id)].append(backfill)
    ended, under_way, until = [], set(), {}
    for name, of_name in parts.items():
        over = all(one.status.value in _WORDS for one in of_name)
        if over and (max(map(_end_of, of_name)) < since or is_told(name, len(of_name))):
            until |= {one.backfill_id: _end_of(one) for one in of_name}
            continue
        operation = _operation(instance, tellers, name, of_name, now) if over else None
        if operation is None:
            under_way |= {name, *(one.backfill_id for one in of_name)}
        else:
            ended.append(operation)
            until |= {one.backfill_id: operation.ended for one in of_name}
    return Backfills(tuple(ended), frozenset(under_way), until)


def _operation(
    instance: dg.DagsterInstance,
    tellers: Tellers,
    name: str,
    parts: Sequence[Any],
    now: datetime,
) -> EndedBackfill | None:
    """The operation, whose backfills have ended; None while something of it may still be going on."""
    records = [
        record
        for part in parts
        for record in instance.get_run_records(
            dg.RunsFilter(tags={DAGSTER_BACKFILL: part.backfill_id})
        )
    ]
    if any(record.dagster_run.status in ACTIVE for record in records):
        return None
    ended = max(*map(_end_of, parts), *map(ended_at, records), datetime.fromtimestamp(0, UTC))
    if BACKFILL in parts[0].tags and now - ended < _NEXT_PART:
        return None
    pipeline = tellers.of_backfill(parts[0], (record.dagster_run for record in records))
    assets = tellers.assets[pipeline.name]
    begun = {
        key for record in records for key in partitions_of(record.dagster_run, pipeline.partitions)
    }
    words = [_WORDS[part.status.value] for part in parts]
    errors = [part.error.message for part in parts if part.error]
    return EndedBackfill(
        pipeline.name,
        name,
        tuple(part.backfill_id for part in parts),
        next((word for word in words if word != "ended"), "ended"),
        tuple(sorted({key for part in parts for key in asked_of(part, assets)} | begun)),
        frozenset(record.dagster_run.run_id for record in records),
        publishes=not records or any(publishes(record.dagster_run, pipeline) for record in records),
        started=datetime.fromtimestamp(min(part.backfill_timestamp for part in parts), UTC),
        ended=ended,
        reason=errors[0].splitlines()[0] if errors else "",
    )


def _end_of(backfill: Any) -> datetime:
    return datetime.fromtimestamp(backfill.backfill_end_timestamp or 0, UTC)
