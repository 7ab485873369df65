"""Messages that are processed once: whichever deliveries hold them, and in whichever order those
are published, each counts where it was delivered first.

A feed with `write: dedupe` delivers at least once. What its published partitions delivered is kept
whole (`ops.delivered_<feed>`), so that a message can move to its next delivery when the first one is
corrected. The mart holds one row per message, and `ops.processed_<feed>` says which delivery owns
it. All three change in the transaction that publishes.

A copy with other content is a conflict. It does not count, and lies in quarantine for as long as it
is published. Of a column that the model gained when one of the two was published already, nobody
knows what it would hold there: it makes no conflict until that partition is redone
(`ops.messages_without_column`).

What belongs here: who owns a message. What does not: what is said of the others (`copies.py`), and
the order of operations on one entity, which the reporting models settle by the time at which they
happened.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence

import duckdb

from customer_pipeline.errors import StageError
from customer_pipeline.partition_column import PartitionColumn
from customer_pipeline.quoting import literal, quoted
from customer_pipeline.stages.copies import (
    ensure_processed,
    replace_conflicts,
    replace_processed,
)
from customer_pipeline.stages.messages import Messages
from customer_pipeline.warehouse.schema import ensure_columns, ensure_table
from customer_pipeline.warehouse.sql import columns_of, stream_into

# Which published partitions were made before their model gained a column.
_WITHOUT = "messages_without_column"


def replace_messages(
    connection: duckdb.DuckDBPyConnection,
    built: duckdb.DuckDBPyConnection,
    messages: Messages,
    *,
    column: PartitionColumn,
    keys: Sequence[str],
) -> list[str]:
    """Replace what the partitions `keys` delivered by what `built` holds for them, and see that
    each message that they touch counts where it was delivered first. Inside a transaction.

    Returns:
        The other partitions whose rows in the mart are different now.

    Raises:
        StageError: a row without a key.
    """
    columns = columns_of(built, "main", messages.mart)
    _note_columns(connection, messages, column, columns, keys)
    ensure_processed(connection, messages, columns)
    here = f"where {column.among()}"
    delivered = f"ops.{quoted(messages.delivered)}"
    key = ", ".join(quoted(name) for name in messages.key)
    connection.execute(
        f"create or replace temp table _touched as select distinct {key} from {delivered} {here}",
        [keys],
    )
    connection.execute(f"delete from {delivered} {here}", [keys])
    rows = built.execute(f"select * from main.{quoted(messages.mart)} {here}", [keys])
    stream_into(connection, delivered, rows)
    _refuse_rows_without_key(connection, messages, here, keys)
    connection.execute(
        f"insert into _touched select distinct {key} from {delivered} {here}"
        f" except select {key} from _touched",
        [keys],
    )
    _judge(connection, messages, column, columns)
    moved = _replace_owned(connection, messages, column, columns, keys)
    replace_processed(connection, messages)
    replace_conflicts(connection, messages, column, columns, keys)
    connection.execute("drop table _touched; drop table _judged")
    return moved


def _note_columns(
    connection: duckdb.DuckDBPyConnection,
    messages: Messages,
    column: PartitionColumn,
    columns: Mapping[str, str],
    keys: Sequence[str],
) -> None:
    """See that what is delivered has all columns, and note which partitions were published without
    one of them: not those of `keys`, which are replaced."""
    ensure_table(
        connection,
        "ops",
        _WITHOUT,
        {"mart": "VARCHAR", "column_name": "VARCHAR", "partition_key": "VARCHAR"},
    )
    added = ensure_columns(connection, "ops", messages.delivered, columns)
    connection.execute(
        f"insert into ops.{_WITHOUT} select distinct ?, unnest(?), {column.key}"
        f" from ops.{quoted(messages.delivered)}",
        [messages.mart, added],
    )
    connection.execute(
        f"delete from ops.{_WITHOUT} where mart = ? and partition_key in (select unnest(?))",
        [messages.mart, list(keys)],
    )


def _refuse_rows_without_key(
    connection: duckdb.DuckDBPyConnection, messages: Messages, here: str, keys: Sequence[str]
) -> None:
    missing = " or ".join(f"{quoted(name)} is null" for name in messages.key)
    found = connection.execute(
        f"select count(*) from ops.{quoted(messages.delivered)} {here} and ({missing})", [keys]
    ).fetchone()
    if found != (0,):
        raise StageError(
            f"{found and found[0]} messages have no {' or '.join(messages.key)}: nothing was"
            " published",
            where=f"marts.{messages.mart}",
            todo="add a not_null test to the model, so that only their partitions fail",
        )


def _judge(
    connection: duckdb.DuckDBPyConnection,
    messages: Messages,
    column: PartitionColumn,
    columns: Mapping[str, str],
) -> None:
    """All published rows of the touched messages, each with whether it counts, and what else it is:
    a copy, or in which columns it differs from the one that counts."""
    key = ", ".join(quoted(name) for name in messages.key)
    content = [name for name in columns if name not in (column.name, "_line", *messages.key)]
    differing = ", ".join(
        f"if({quoted(name)} is distinct from first({quoted(name)}) over delivered_first"
        f" and not list_contains(_without, {literal(name)})"
        f" and not list_contains(first(_without) over delivered_first, {literal(name)}),"
        f" [{literal(name)}], [])"
        for name in content
    )
    connection.execute(
        f"""
        create or replace temp table _judged as
        with without as (
            select partition_key::{column.type} as {column.quoted}, list(column_name) as _without
            from ops.{_WITHOUT}
            where mart = ?
            group by 1
        ),

        delivered as (
            select delivered.*, coalesce(_without, []) as _without
            from ops.{quoted(messages.delivered)} as delivered
            semi join _touched using ({key})
            left join without using ({column.quoted})
        )

        select
            *,
            row_number() over delivered_first = 1 as _counts,
            first({column.quoted}) over delivered_first as _owner,
            first(_line) over delivered_first as _owner_line,
            flatten([{differing}]) as _differing,
        from delivered
        window delivered_first as (
            partition by {key} order by {column.quoted}, _line
            rows between unbounded preceding and unbounded following
        )
        """,
        [messages.mart],
    )


def _replace_owned(
    connection: duckdb.DuckDBPyConnection,
    messages: Messages,
    column: PartitionColumn,
    columns: Mapping[str, str],
    keys: Sequence[str],
) -> list[str]:
    """Let the mart hold the rows that count; returns the other partitions that this changes."""
    mart = f"marts.{quoted(messages.mart)}"
    names = ", ".join(quoted(name) for name in columns)
    key = ", ".join(quoted(name) for name in messages.key)
    before = f"select {names} from {mart} semi join _touched using ({key})"
    after = f"select {names} from _judged where _counts"
    moved = connection.execute(
        f"with before as ({before}), after as ({after})"
        f" select distinct {column.key} from ("
        "     (from before except from after) union all (from after except from before)"
        f" ) where not {column.among()} order by 1",
        [keys],
    ).fetchall()
    connection.execute(f"delete from {mart} where ({key}) in (select ({key}) from _touched)")
    connection.execute(f"insert into {mart} by name {after}")
    return [partition_key for (partition_key,) in moved]
