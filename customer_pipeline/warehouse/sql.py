"""Small SQL pieces that several modules need: transactions, columns, inserting values."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from contextlib import closing, contextmanager
from typing import Any

import duckdb
import pyarrow as pa

from customer_pipeline.partition_column import PartitionColumn
from customer_pipeline.quoting import quoted


@contextmanager
def transaction(connection: duckdb.DuckDBPyConnection) -> Iterator[None]:
    """All or nothing: commit at the end of the block, roll back when it raises."""
    connection.execute("begin")
    try:
        yield
    except BaseException:
        connection.execute("rollback")
        raise
    connection.execute("commit")


def columns_of(
    connection: duckdb.DuckDBPyConnection, schema: str, table: str, *, database: str | None = None
) -> dict[str, str]:
    """Column names and types of a table, in its order; empty when there is no such table."""
    parts = [part for part in (database, schema, table) if part]
    try:
        # Several times as fast as a look into duckdb_columns(), and asked for every mart of a run.
        rows = connection.execute(f"describe {'.'.join(map(quoted, parts))}").fetchall()
    except duckdb.CatalogException:
        return {}
    return {name: kind for name, kind, *_ in rows}


def has_rows(connection: duckdb.DuckDBPyConnection, relation: str) -> bool:
    return connection.execute(f"select 1 from {relation} limit 1").fetchone() is not None


def rows_by_partition(
    connection: duckdb.DuckDBPyConnection,
    relation: str,
    column: PartitionColumn,
    keys: Sequence[str] | None = None,
) -> dict[str, int]:
    """How many rows a relation has in each of the partitions `keys`, or in each that it has; those
    without any are left out."""
    chosen = "" if keys is None else f"where {column.among()}"
    rows = connection.execute(
        f"select {column.key}, count(*) from {relation} {chosen} group by 1",
        [] if keys is None else [list(keys)],
    ).fetchall()
    return dict(rows)


def insert_rows(
    connection: duckdb.DuckDBPyConnection, table: str, rows: Sequence[Mapping[str, Any]]
) -> None:
    """Insert `rows` (dicts with the same keys) into `table`, by column name, in one statement."""
    if not rows:
        return
    connection.register("_rows", pa.Table.from_pylist([dict(row) for row in rows]))
    try:
        connection.execute(f"insert into {table} by name select * from _rows")
    finally:
        connection.unregister("_rows")


def stream_into(
    connection: duckdb.DuckDBPyConnection, table: str, rows: duckdb.DuckDBPyConnection
) -> None:
    """Insert the result that another connection has just computed into `table`, by column name."""
    # Closed in any case: a stream that an error still holds on to keeps its connection's file open.
    with closing(rows.to_arrow_reader()) as stream:
        connection.register("_stream", stream)
        try:
            connection.execute(f"insert into {table} by name select * from _stream")
        finally:
            connection.unregister("_stream")
