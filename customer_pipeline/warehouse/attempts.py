"""What the ledger remembers of attempts: failures that nothing followed, and how long runs took.

What belongs here: reading `ops.attempts`. What does not: writing it (`ledger.py`).
"""

from __future__ import annotations

from dataclasses import dataclass
from datetime import datetime

import duckdb

_NEWEST_RUNS = 50


@dataclass(frozen=True)
class Attempt:
    """What one run did with one partition: how it ended, at which stage, and why it failed."""

    run_id: str
    outcome: str
    stage: str
    reason: str | None
    started_at: datetime
    finished_at: datetime
    backfill_id: str | None
    launched_by: str | None


@dataclass(frozen=True)
class Failure:
    """The newest attempt at a partition, which failed.

    `since` is when the first of the `attempts` that failed in a row did. `backfill_id` names the
    backfill that the newest belongs to.
    """

    partition_key: str
    run_id: str
    stage: str
    reason: str
    failed_at: datetime
    since: datetime
    attempts: int
    backfill_id: str | None = None


@dataclass(frozen=True)
class RunTime:
    """How many partitions a run had, and the seconds from its start to its last word on them."""

    partitions: int
    seconds: float


def failures_of(connection: duckdb.DuckDBPyConnection, pipeline: str) -> dict[str, Failure]:
    """The partitions of a pipeline whose newest attempt failed, by key."""
    rows = connection.execute(
        """
        with attempts as (
            select
                *,
                max(finished_at) filter (where outcome <> 'failed')
                    over (partition by partition_key) as succeeded_at
            from ops.attempts
            where pipeline = ?
        )

        select
            partition_key,
            max_by(run_id, finished_at),
            max_by(stage, finished_at),
            max_by(coalesce(reason, ''), finished_at),
            max(finished_at),
            min(finished_at),
            count(*),
            nullif(max_by(coalesce(backfill_id, ''), finished_at), '')
        from attempts
        where succeeded_at is null or finished_at > succeeded_at
        group by partition_key
        order by partition_key
        """,
        [pipeline],
    ).fetchall()
    return {failure.partition_key: failure for failure in (Failure(*row) for row in rows)}


def attempts_at(connection: duckdb.DuckDBPyConnection, pipeline: str, key: str) -> list[Attempt]:
    """All attempts at one partition, oldest first."""
    names = ", ".join(Attempt.__dataclass_fields__)
    rows = connection.execute(
        f"select {names} from ops.attempts where pipeline = ? and partition_key = ?"
        " order by finished_at, run_id",
        [pipeline, key],
    ).fetchall()
    return [Attempt(*row) for row in rows]


def run_times(connection: duckdb.DuckDBPyConnection, pipeline: str) -> list[RunTime]:
    """How long the newest runs took that published something, newest first."""
    rows = connection.execute(
        "select count(*), epoch(max(finished_at) - min(started_at)) from ops.attempts"
        " where pipeline = ? group by run_id having bool_or(outcome <> 'failed')"
        " order by max(finished_at) desc limit ?",
        [pipeline, _NEWEST_RUNS],
    ).fetchall()
    return [RunTime(*row) for row in rows]
