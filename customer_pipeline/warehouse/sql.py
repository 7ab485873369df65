"""Small SQL pieces that several modules need: transactions, columns, inserting values."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from typing import Any

import duckdb
import pyarrow as pa


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
    rows = connection.execute(
        "select column_name, data_type from duckdb_columns()"
        " where schema_name = ? and table_name = ?"
        " and database_name = coalesce(?, current_database()) order by column_index",
        [schema, table, database],
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
