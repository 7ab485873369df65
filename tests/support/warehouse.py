"""Looking into a warehouse: whole tables as comparable values."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import duckdb

# What differs between two runs that leave the same data.
_OF_THE_RUN = {"run_id", "loaded_at", "published_at", "started_at", "finished_at"}


def query(warehouse: Path, sql: str, parameters: list[Any] | None = None) -> list[tuple[Any, ...]]:
    with duckdb.connect(str(warehouse), read_only=True) as connection:
        connection.execute("set TimeZone = 'UTC'")
        return connection.execute(sql, parameters or []).fetchall()


def contents(warehouse: Path) -> dict[str, list[tuple[Any, ...]]]:
    """All rows of all tables but the attempts, sorted, without what names a run or a moment."""
    with duckdb.connect(str(warehouse), read_only=True) as connection:
        connection.execute("set TimeZone = 'UTC'")
        found = {}
        tables = connection.execute(
            "select schema_name, table_name from duckdb_tables() order by all"
        ).fetchall()
        for schema, table in tables:
            if (schema, table) == ("ops", "attempts"):
                continue
            relation = connection.execute(f'select * from "{schema}"."{table}"')
            names = [column[0] for column in relation.description or ()]
            kept = [n for n, name in enumerate(names) if name not in _OF_THE_RUN]
            rows = [tuple(row[n] for n in kept) for row in relation.fetchall()]
            found[f"{schema}.{table}"] = sorted(rows, key=repr)
        return found


def content_hashes(warehouse: Path) -> dict[str, str]:
    """The ledger's content hash by partition."""
    return dict(query(warehouse, "select partition_key, content_hash from ops.partitions"))
