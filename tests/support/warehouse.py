"""Looking into a warehouse: whole tables as comparable values.

What does not belong here: what must be in them (`expected.py`).
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

import duckdb

# What differs between two runs that leave the same data, and between two warehouses that hold it.
_OF_THE_RUN = {
    "modified_ns",
    "run_id",
    "loaded_at",
    "published_at",
    "started_at",
    "finished_at",
    "followed_at",
}
_TABLES_OF_RUNS = {
    ("ops", "attempts"),
    ("ops", "publications"),
    ("ops", "followers"),
    ("ops", "warehouse"),
}


def query(warehouse: Path, sql: str, parameters: list[Any] | None = None) -> list[tuple[Any, ...]]:
    with duckdb.connect(str(warehouse), read_only=True) as connection:
        connection.execute("set TimeZone = 'UTC'")
        return connection.execute(sql, parameters or []).fetchall()


def contents(warehouse: Path) -> dict[str, list[tuple[Any, ...]]]:
    """All rows of all tables, sorted, without what names a run or a moment.

    Tables that tell of runs and not of data (attempts, publications, followers) are left out.
    """
    with duckdb.connect(str(warehouse), read_only=True) as connection:
        connection.execute("set TimeZone = 'UTC'")
        found = {}
        tables = connection.execute(
            "select schema_name, table_name from duckdb_tables() order by all"
        ).fetchall()
        for schema, table in tables:
            if (schema, table) in _TABLES_OF_RUNS:
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


def rows_of(
    warehouse: Path, columns: Mapping[str, Sequence[str]]
) -> dict[str, Counter[tuple[Any, ...]]]:
    """These columns of these tables, each row with how often it is there.

    Args:
        columns: by table: `schema.table`, or `schema.table as name` for another look at it.

    A table that does not exist has no rows.
    """
    if not warehouse.exists():
        return {table: Counter() for table in columns}
    with duckdb.connect(str(warehouse), read_only=True) as connection:
        connection.execute("set TimeZone = 'UTC'")
        tables = connection.execute("select schema_name || '.' || table_name from duckdb_tables()")
        existing = {name for (name,) in tables.fetchall()}
        return {
            table: Counter(
                connection.execute(f"select {', '.join(listed)} from {table}").fetchall()
                if table.partition(" ")[0] in existing
                else ()
            )
            for table, listed in columns.items()
        }
