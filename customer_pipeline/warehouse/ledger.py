"""The ledger: what is published now (`ops.partitions`) and what was tried (`ops.attempts`).

What belongs here: reading and writing those two tables. What does not: deciding what is published
(`stages/validate.py`), the transaction around it (`stages/publish.py`), and partitions that are
waived (`waivers.py`).
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import asdict, dataclass
from datetime import UTC, datetime
from hashlib import sha256
from typing import Literal

import duckdb

from customer_pipeline.outcomes import Casualty
from customer_pipeline.warehouse.sql import insert_rows
from customer_pipeline.warehouse.waivers import end_waivers

Status = Literal["published", "empty"]


@dataclass(frozen=True)
class Run:
    """The run that works: who it is, since when, and how it came about.

    `launched_by` is a person's or a schedule's word such as `schedule daily_…` or `by hand`.
    """

    run_id: str
    pipeline: str
    started_at: datetime
    code_version: str
    backfill_id: str | None = None
    launched_by: str | None = None


@dataclass(frozen=True)
class Published:
    """A ledger row of `ops.partitions`: one published (or empty) partition and its counts."""

    pipeline: str
    partition_key: str
    status: Status
    source_rows: int
    quarantined_rows: int
    raw_rows: int
    mart_rows: int
    source_fingerprint: str
    content_hash: str
    code_version: str
    run_id: str
    published_at: datetime


def source_fingerprint(feeds: Mapping[str, str]) -> str:
    """One fingerprint for the deliveries of a partition (feed to fingerprint)."""
    parts = sorted(f"{feed} {fingerprint}" for feed, fingerprint in feeds.items())
    return sha256("\n".join(parts).encode()).hexdigest()


def record_failures(
    connection: duckdb.DuckDBPyConnection, run: Run, casualties: Iterable[Casualty]
) -> None:
    """Note that these partitions failed in this run; a later word of the same run replaces it."""
    _replace_attempts(
        connection,
        run,
        [
            (casualty.partition_key, "failed", casualty.stage, casualty.reason)
            for casualty in casualties
        ],
    )


def record_published(
    connection: duckdb.DuckDBPyConnection, run: Run, published: Sequence[Published]
) -> None:
    """Write the ledger rows of what this transaction publishes, and how the attempts ended.

    What was waived no longer is.
    """
    end_waivers(connection, run.pipeline, [row.partition_key for row in published])
    connection.execute(
        "delete from ops.partitions where pipeline = ? and partition_key in (select unnest(?))",
        [run.pipeline, [row.partition_key for row in published]],
    )
    insert_rows(connection, "ops.partitions", [asdict(row) for row in published])
    _replace_attempts(
        connection, run, [(row.partition_key, row.status, "publish", None) for row in published]
    )


def record_moved(
    connection: duckdb.DuckDBPyConnection, pipeline: str, rows: Mapping[str, tuple[int, str]]
) -> None:
    """Give published partitions new numbers of mart rows and content hashes (key to both): their
    rows changed because of what another partition delivers."""
    for key, (mart_rows, content_hash) in rows.items():
        connection.execute(
            "update ops.partitions set mart_rows = ?, content_hash = ?"
            " where pipeline = ? and partition_key = ?",
            [mart_rows, content_hash, pipeline, key],
        )


def published_partitions(
    connection: duckdb.DuckDBPyConnection, pipeline: str
) -> dict[str, Published]:
    """The ledger rows of what a pipeline has published, by partition key, oldest partition first.

    Waived partitions are not among them.
    """
    names = list(Published.__dataclass_fields__)
    rows = connection.execute(
        f"select {', '.join(names)} from ops.partitions"
        " where pipeline = ? and status <> 'waived' order by partition_key",
        [pipeline],
    ).fetchall()
    found = [Published(*row) for row in rows]
    return {row.partition_key: row for row in found}


def _replace_attempts(
    connection: duckdb.DuckDBPyConnection,
    run: Run,
    outcomes: Sequence[tuple[str, str, str, str | None]],
) -> None:
    connection.execute(
        "delete from ops.attempts"
        " where run_id = ? and pipeline = ? and partition_key in (select unnest(?))",
        [run.run_id, run.pipeline, [key for key, *_ in outcomes]],
    )
    finished_at = datetime.now(UTC)
    insert_rows(
        connection,
        "ops.attempts",
        [
            {
                "run_id": run.run_id,
                "pipeline": run.pipeline,
                "partition_key": key,
                "outcome": outcome,
                "stage": stage,
                "reason": reason,
                "started_at": run.started_at,
                "finished_at": finished_at,
                "backfill_id": run.backfill_id,
                "launched_by": run.launched_by,
            }
            for key, outcome, stage, reason in outcomes
        ],
    )
