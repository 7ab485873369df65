"""Waivers: partitions whose source will never come, with who says so and why (`ops.waivers`).

A waived partition has a row of its own in `ops.partitions` too (status `waived`), so that whoever
looks only there sees that nothing is owed. Publishing the partition later replaces both.

What belongs here: granting, ending and reading waivers. What does not: which partitions may be
waived (`cli/waive.py`).
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import asdict, dataclass
from datetime import datetime

import duckdb

from customer_pipeline.warehouse.sql import columns_of, insert_rows


@dataclass(frozen=True)
class Waiver:
    """Why nothing will be published for a partition, and who has said so when."""

    partition_key: str
    reason: str
    waived_by: str
    waived_at: datetime


def waivers_of(connection: duckdb.DuckDBPyConnection, pipeline: str) -> dict[str, Waiver]:
    """The waivers of a pipeline by partition key, oldest partition first."""
    names = list(Waiver.__dataclass_fields__)
    if not columns_of(connection, "ops", "waivers"):
        return {}  # a ledger in which nothing was ever waived may lack the table
    rows = connection.execute(
        f"select {', '.join(names)} from ops.waivers where pipeline = ? order by partition_key",
        [pipeline],
    ).fetchall()
    return {waiver.partition_key: waiver for waiver in (Waiver(*row) for row in rows)}


def grant_waivers(
    connection: duckdb.DuckDBPyConnection, pipeline: str, waivers: Sequence[Waiver]
) -> None:
    """Waive partitions of which nothing is published; an earlier waiver of them is replaced."""
    end_waivers(connection, pipeline, [waiver.partition_key for waiver in waivers])
    insert_rows(
        connection, "ops.waivers", [{"pipeline": pipeline, **asdict(one)} for one in waivers]
    )
    insert_rows(
        connection,
        "ops.partitions",
        [
            {
                "pipeline": pipeline,
                "partition_key": one.partition_key,
                "status": "waived",
                "published_at": one.waived_at,
            }
            for one in waivers
        ],
    )


def end_waivers(connection: duckdb.DuckDBPyConnection, pipeline: str, keys: Sequence[str]) -> None:
    """Forget the waivers of these partitions, where there are any."""
    connection.execute(
        "delete from ops.partitions where status = 'waived' and pipeline = ?"
        " and partition_key in (select unnest(?))",
        [pipeline, list(keys)],
    )
    connection.execute(
        "delete from ops.waivers where pipeline = ? and partition_key in (select unnest(?))",
        [pipeline, list(keys)],
    )
