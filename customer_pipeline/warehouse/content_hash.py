"""A hash of a partition's published rows that does not depend on row order, engine or machine.

Each row becomes one text (columns by name, each with its length in front, NULL distinct from the
empty text); the halves of the texts' MD5 are summed, so that order does not matter and repeated
rows do; the sums of all tables make one SHA-256.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from hashlib import sha256

import duckdb

from customer_pipeline.partition_column import PartitionColumn
from customer_pipeline.quoting import quoted


def content_hashes(
    connection: duckdb.DuckDBPyConnection,
    tables: Mapping[str, str],
    column: PartitionColumn,
    keys: Sequence[str],
) -> dict[str, str]:
    """The hash of each partition in `keys` over `tables`.

    Args:
        tables: the name that stands for a table in the hash, to its relation in SQL.
        column: the partition column of all tables.

    The connection's time zone must be UTC, since instants are hashed as texts.
    """
    sums = {key: [] for key in keys}
    for name, relation in sorted(tables.items()):
        for key, rows, low, high in _row_sums(connection, relation, column, keys):
            sums[key].append(f"{name} {rows} {low} {high}")
    return {key: sha256("\n".join(parts).encode()).hexdigest() for key, parts in sums.items()}


def _row_sums(
    connection: duckdb.DuckDBPyConnection,
    relation: str,
    column: PartitionColumn,
    keys: Sequence[str],
) -> list[tuple[str, int, int, int]]:
    described = connection.execute(f"describe select * from {relation}").fetchall()
    fields = " || ".join(
        f"coalesce(length({text})::varchar || ':' || {text}, 'null') || ';'"
        for text in (f"{quoted(name)}::varchar" for name, *_ in sorted(described))
    )
    return connection.execute(
        f"""
        with rows as (
            select {column.key} as partition_key, {fields} as content
            from {relation}
            where {column.among()}
        )
        select
            partition_key,
            count(*),
            sum(md5_number_lower(content)),
            sum(md5_number_upper(content)),
        from rows
        group by partition_key
        """,
        [list(keys)],
    ).fetchall()
