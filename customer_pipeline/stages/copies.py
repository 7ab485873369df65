"""Messages that came again: how often each did, and which copies contradict the one that counts.

Both are written from `_judged`, a temporary table that `dedupe.py` makes: all published rows of the
messages that are touched, each with whether it counts and in which columns it differs.

What does not belong here: who owns a message (`dedupe.py`).
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence

import duckdb

from customer_pipeline.partition_column import PartitionColumn
from customer_pipeline.quoting import quoted
from customer_pipeline.stages.messages import Messages
from customer_pipeline.warehouse.schema import ensure_columns


def ensure_processed(
    connection: duckdb.DuckDBPyConnection, messages: Messages, columns: Mapping[str, str]
) -> None:
    """Make the table that says which delivery owns a message; `columns` are those of the mart."""
    ensure_columns(
        connection,
        "ops",
        messages.processed,
        {name: columns[name] for name in messages.key}
        | {"partition_key": "VARCHAR", "line": "BIGINT", "copies": "BIGINT", "conflicts": "BIGINT"},
    )


def replace_processed(connection: duckdb.DuckDBPyConnection, messages: Messages) -> None:
    """Note anew of each touched message which delivery it counts in, and how often it came again."""
    processed = f"ops.{quoted(messages.processed)}"
    key = ", ".join(quoted(name) for name in messages.key)
    connection.execute(f"delete from {processed} where ({key}) in (select ({key}) from _touched)")
    connection.execute(
        f"""
        insert into {processed} by name
        select
            {key},
            _owner::varchar as partition_key,
            _owner_line as line,
            count(*) filter (where _differing = []) - 1 as copies,
            count(*) filter (where _differing != []) as conflicts,
        from _judged
        group by all
        """
    )


def replace_conflicts(
    connection: duckdb.DuckDBPyConnection,
    messages: Messages,
    column: PartitionColumn,
    columns: Mapping[str, str],
    keys: Sequence[str],
) -> None:
    """Let the quarantine hold the conflicts of the touched messages and of the partitions `keys`."""
    connection.execute(
        "delete from ops.quarantine where feed = $feed and kind = 'conflict' and ("
        " partition_key in (select unnest($keys)) or (partition_key, line) in"
        f" (select ({column.key}, _line) from _judged))",
        {"feed": messages.feed, "keys": list(keys)},
    )
    known_by = " || ' ' || ".join(f"{quoted(name)}::varchar" for name in messages.key)
    fields = ", ".join(f"{quoted(name)} := {quoted(name)}" for name in columns)
    connection.execute(
        f"""
        insert into ops.quarantine by name
        select
            ? as feed,
            {column.key} as partition_key,
            'conflict' as kind,
            {column.begins_on} as _date,
            _line as line,
            {known_by} || ': differs from the message delivered first (' || _owner::varchar
            || ' line ' || _owner_line || ') in ' || array_to_string(_differing, ', ') as reason,
            to_json(struct_pack({fields}))::varchar as raw,
        from _judged
        where _differing != []
        """,
        [messages.feed],
    )
