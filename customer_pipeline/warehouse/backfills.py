"""Backfills that somebody asked for: which partitions, why, and how far they have come.

What belongs here: writing and reading `ops.backfills`, and what its runs have done. What does not:
launching (`orchestration/backfills.py`).
"""

from __future__ import annotations

from dataclasses import asdict, dataclass
from datetime import datetime

import duckdb

from customer_pipeline.warehouse.attempts import Attempt
from customer_pipeline.warehouse.sql import columns_of, insert_rows


@dataclass(frozen=True)
class Backfill:
    """What was asked for: the partitions that were to run, oldest first, by which rule (`missing`,
    `failed`, `stale` or `all`), why (may be empty), by whom and when."""

    backfill_id: str
    pipeline: str
    partition_keys: tuple[str, ...]
    redo: str
    reason: str
    launched_by: str
    launched_at: datetime


def record_backfill(connection: duckdb.DuckDBPyConnection, backfill: Backfill) -> None:
    """Write it down, before anything of it is launched."""
    row = asdict(backfill) | {"partition_keys": list(backfill.partition_keys)}
    insert_rows(connection, "ops.backfills", [row])


def find_backfill(connection: duckdb.DuckDBPyConnection, backfill_id: str) -> Backfill | None:
    """The backfill of that id, or of the only id that begins like that."""
    if not columns_of(connection, "ops", "backfills"):
        return None  # a ledger from before there were backfills may lack the table
    names = ", ".join(Backfill.__dataclass_fields__)
    rows = connection.execute(
        f"select {names} from ops.backfills where starts_with(backfill_id, ?) limit 2",
        [backfill_id],
    ).fetchall()
    if len(rows) != 1:
        return None
    found = Backfill(*rows[0])
    return Backfill(**{**asdict(found), "partition_keys": tuple(found.partition_keys)})


def reasons_of(connection: duckdb.DuckDBPyConnection, pipeline: str) -> dict[str, str]:
    """Why each backfill was asked for, where somebody has said so, by id."""
    if not columns_of(connection, "ops", "backfills"):
        return {}
    rows = connection.execute(
        "select backfill_id, reason from ops.backfills where pipeline = ? and reason <> ''",
        [pipeline],
    ).fetchall()
    return dict(rows)


def attempts_of_backfill(
    connection: duckdb.DuckDBPyConnection, pipeline: str, backfill_id: str
) -> dict[str, Attempt]:
    """The newest attempt of that backfill at each partition, by key."""
    names = ", ".join(Attempt.__dataclass_fields__)
    rows = connection.execute(
        f"select partition_key, {names} from ops.attempts"
        " where pipeline = ? and backfill_id = ? order by finished_at",
        [pipeline, backfill_id],
    ).fetchall()
    return {key: Attempt(*row) for key, *row in rows}
