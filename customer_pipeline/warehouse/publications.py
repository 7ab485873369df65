"""Publications: a number for each time that published rows changed, and who has taken in which.

What follows the ledger (the lake, the reporting tables) keeps the number of the last publication
that it has taken in, in the same commit as what it made of it, and asks here what came since. So
nothing is lost or done twice, whatever was killed or switched off in between.

What belongs here: reading and writing `ops.publications` and `ops.followers`. What does not: the
ledger of partitions (`ledger.py`), and the followers themselves.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from datetime import UTC, datetime

import duckdb

from customer_pipeline.warehouse.ledger import Run
from customer_pipeline.warehouse.sql import insert_rows


@dataclass(frozen=True)
class Mark:
    """How far a follower has come: the last publication it holds, made by which version of it.

    `version` is empty, and `publication` 0, for one that has never followed.
    """

    publication: int = 0
    version: str = ""


def record_publication(
    connection: duckdb.DuckDBPyConnection,
    run: Run,
    hashes: Mapping[str, str],
) -> None:
    """Note that this transaction replaces these partitions (key to content hash) in the marts."""
    number, published_at = newest_publication(connection) + 1, datetime.now(UTC)
    insert_rows(
        connection,
        "ops.publications",
        [
            {
                "publication": number,
                "pipeline": run.pipeline,
                "partition_key": key,
                "run_id": run.run_id,
                "content_hash": content_hash,
                "published_at": published_at,
            }
            for key, content_hash in hashes.items()
        ],
    )


def newest_publication(connection: duckdb.DuckDBPyConnection, pipeline: str | None = None) -> int:
    """The number of the newest publication (of one pipeline, or of all); 0 before the first."""
    row = connection.execute(
        "select max(publication) from ops.publications where pipeline = coalesce(?, pipeline)",
        [pipeline],
    ).fetchone()
    return row[0] or 0 if row else 0


def published_since(
    connection: duckdb.DuckDBPyConnection, pipeline: str, publication: int
) -> list[str]:
    """The partitions of a pipeline that were replaced after that publication, oldest first."""
    rows = connection.execute(
        "select distinct partition_key from ops.publications"
        " where pipeline = ? and publication > ? order by 1",
        [pipeline, publication],
    ).fetchall()
    return [key for (key,) in rows]


def first_published_since(
    connection: duckdb.DuckDBPyConnection, pipeline: str, publication: int
) -> datetime | None:
    """When the first of those partitions was replaced; None when there are none."""
    row = connection.execute(
        "select min(published_at) from ops.publications where pipeline = ? and publication > ?",
        [pipeline, publication],
    ).fetchone()
    return row[0] if row else None


def mark_of(connection: duckdb.DuckDBPyConnection, follower: str) -> Mark:
    """How far this follower has come."""
    row = connection.execute(
        "select publication, version from ops.followers where follower = ?", [follower]
    ).fetchone()
    return Mark(*row) if row else Mark()


def record_mark(
    connection: duckdb.DuckDBPyConnection, follower: str, mark: Mark, *, run_id: str
) -> None:
    """Note, in the transaction that takes it in, how far this follower has come."""
    connection.execute("delete from ops.followers where follower = ?", [follower])
    connection.execute(
        "insert into ops.followers by name select ? as follower, ? as publication, ? as version,"
        " ? as run_id, ? as followed_at",
        [follower, mark.publication, mark.version, run_id, datetime.now(UTC)],
    )


def warehouse_id(connection: duckdb.DuckDBPyConnection) -> str:
    """Which warehouse this is: a text that no other file has."""
    (found,) = connection.execute("select id from ops.warehouse").fetchone() or ("",)
    return found
