"""Whether one DuckDB database is a whole copy of another: its catalog and its rows.

What belongs here: telling what differs. What does not: making copies (`compaction.py`).
"""

from __future__ import annotations

from collections.abc import Iterator

import duckdb

from customer_pipeline.quoting import quoted

# What the catalog tells of a database, without what is numbered anew in a copy.
_CATALOG = {
    "schemas": "schema_name, comment, sql",
    "types": "schema_name, type_name, logical_type, labels, comment",
    "tables": "schema_name, table_name, comment, sql",
    "columns": "schema_name, table_name, column_index, column_name, data_type, column_default,"
    " is_nullable, comment",
    "constraints": "schema_name, table_name, constraint_name, constraint_text",
    "indexes": "schema_name, table_name, index_name, comment, sql",
    "views": "schema_name, view_name, comment, sql",
    "sequences": "schema_name, sequence_name, last_value, comment, sql",
    "functions": "schema_name, function_name, parameters, macro_definition, comment",
}


def differences(connection: duckdb.DuckDBPyConnection, one: str, other: str) -> Iterator[str]:
    """What differs between two databases that are attached, such as `views` or `raw.orders`.

    The rows of a table are compared by their number and by a sum of their hashes.
    """
    for part, columns in _CATALOG.items():
        rows = f"select {columns} from duckdb_{part}() where database_name = ?"
        listed = (connection.execute(rows, [name]).fetchall() for name in (one, other))
        left, right = (sorted(map(repr, found)) for found in listed)
        if left != right:
            yield part
            # The tables below need not be there.
            return
    tables = connection.execute(
        "select schema_name, table_name from duckdb_tables() where database_name = ?", [one]
    ).fetchall()
    for schema, table in tables:
        left, right = (
            connection.execute(
                "select count(*), sum(hash(_whole_row)::hugeint)"
                f" from {quoted(name)}.{quoted(schema)}.{quoted(table)} as _whole_row"
            ).fetchone()
            for name in (one, other)
        )
        if left != right:
            yield f"{schema}.{table}"
