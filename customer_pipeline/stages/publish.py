"""Publish: the passing partitions replace their rows in all marts, with their ledger rows.

One transaction for everything: users see a partition's old rows or its new ones, in every table,
and the ledger says which. Casualties of the run are noted in the same transaction.

What belongs here: the transaction, and the swap. What does not: what is said of it, in the ledger and
to people (`publication.py`).
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence

import duckdb

from customer_pipeline.errors import StageError
from customer_pipeline.outcomes import Casualty, first_reasons
from customer_pipeline.partition_column import PartitionColumn
from customer_pipeline.quoting import quoted
from customer_pipeline.stages.candidate import (
    Candidate,
    Delivered,
    casualties,
    deliveries,
    survivors,
)
from customer_pipeline.stages.dedupe import replace_messages
from customer_pipeline.stages.messages import Messages, redelivered
from customer_pipeline.stages.publication import (
    Publication,
    ledger_rows,
    previews,
    record_changed,
    rows_in_marts,
)
from customer_pipeline.warehouse.connection import Warehouse
from customer_pipeline.warehouse.ledger import (
    Run,
    published_partitions,
    record_failures,
    record_published,
)
from customer_pipeline.warehouse.publications import record_publication
from customer_pipeline.warehouse.schema import ensure_columns, ensure_ledger, ensure_table
from customer_pipeline.warehouse.sql import (
    columns_of,
    has_rows,
    stream_into,
    transaction,
)


def publish(
    candidate: Candidate,
    marts: Sequence[str],
    *,
    messages: Sequence[Messages],
    tables_read: Mapping[str, Mapping[str, Mapping[str, str]]],
    warehouse: Warehouse,
    run: Run,
) -> Publication:
    """Swap the surviving partitions of the candidate in, and remove the candidate.

    Args:
        messages: which of the marts hold messages that are processed once.
        tables_read: what the models of all pipelines read (by schema and name, columns to types).
            Those that are not there yet are made, without rows, so that the models can be built by hand.

    Raises:
        StageError: the run has no candidate, or a mart's columns do not fit what the model makes.
        TransientError: the warehouse is held.
    """
    column = candidate.column
    with candidate.open() as built, warehouse.write() as connection:
        keys, delivered = survivors(built), deliveries(built)
        ensure_ledger(connection)
        with transaction(connection):
            superseded = _superseded(connection, delivered, keys)
            lost = first_reasons([*casualties(built).values(), *superseded])
            passing = [key for key in keys if key not in lost]
            for schema, tables in tables_read.items():
                for table, columns in tables.items():
                    ensure_table(connection, schema, table, columns)
            has_grown = [_prepare_mart(connection, built, mart) for mart in marts]
            moved = _replace_marts(connection, built, marts, messages, column, passing)
            counts = rows_in_marts(connection, marts, column, passing)
            rows = ledger_rows(connection, counts, marts, column, passing, delivered, run)
            record_published(connection, run, rows)
            moved_hashes = record_changed(connection, marts, column, moved, run)
            if any(has_grown):
                # A column more is in the hashes of all partitions, also of those that lack it.
                others = published_partitions(connection, run.pipeline).keys() - {*passing, *moved}
                record_changed(connection, marts, column, sorted(others), run)
            record_failures(connection, run, lost.values())
            record_publication(
                connection,
                run,
                {row.partition_key: row.content_hash for row in rows} | moved_hashes,
            )
            publication = Publication(
                tuple(rows),
                tuple(moved),
                tuple(lost.values()),
                counts,
                previews(connection, marts, column, passing),
                {
                    one.mart: redelivered(connection, one, column=column, keys=passing)
                    for one in messages
                },
            )
    candidate.remove()
    return publication


def _superseded(
    connection: duckdb.DuckDBPyConnection, delivered: Sequence[Delivered], keys: Sequence[str]
) -> list[Casualty]:
    """Partitions whose raw rows another run has replaced by a different delivery meanwhile.

    That run publishes the newer delivery; publishing the older one after it would undo its work.
    """
    rows = connection.execute(
        "select feed, partition_key, fingerprint, declaration from ops.deliveries"
        " where partition_key in (select unnest(?))",
        [list(keys)],
    ).fetchall()
    loaded_now = set(rows)
    return [
        Casualty(
            row.partition_key,
            "publish",
            f"{row.feed}: another run has loaded a newer delivery; run this partition again",
        )
        for row in delivered
        if row.partition_key in keys
        and (row.feed, row.partition_key, row.fingerprint, row.declaration) not in loaded_now
    ]


def _replace_marts(
    connection: duckdb.DuckDBPyConnection,
    built: duckdb.DuckDBPyConnection,
    marts: Sequence[str],
    messages: Sequence[Messages],
    column: PartitionColumn,
    keys: Sequence[str],
) -> list[str]:
    """Replace these partitions in all marts; returns the other partitions that this changed."""
    moved: set[str] = set()
    of_mart = {one.mart: one for one in messages}
    for mart in marts:
        if mart in of_mart:
            moved.update(
                replace_messages(connection, built, of_mart[mart], column=column, keys=keys)
            )
        else:
            _replace_partitions(connection, built, mart, column, keys)
    return sorted(moved)


def _prepare_mart(
    connection: duckdb.DuckDBPyConnection, built: duckdb.DuckDBPyConnection, mart: str
) -> bool:
    """Make the mart, or add the columns that it lacks; returns whether there are any such."""
    columns, target = columns_of(built, "main", mart), f"marts.{quoted(mart)}"
    gone = [name for name in columns_of(connection, "marts", mart) if name not in columns]
    if gone and not has_rows(connection, target):
        connection.execute(f"drop table {target}")
    elif gone:
        raise StageError(
            f"the model no longer makes {', '.join(gone)}: nothing was published",
            where=f"marts.{mart}",
            todo=f"bring it back, or drop it: alter table marts.{mart} drop column {gone[0]}",
        )
    return bool(ensure_columns(connection, "marts", mart, columns))


def _replace_partitions(
    connection: duckdb.DuckDBPyConnection,
    built: duckdb.DuckDBPyConnection,
    mart: str,
    column: PartitionColumn,
    keys: Sequence[str],
) -> None:
    chosen = f"where {column.among()}"
    connection.execute(f"delete from marts.{quoted(mart)} {chosen}", [keys])
    # Handed over as a stream and not by attaching the candidate: DuckDB refuses to attach a file
    # that anything else in this process, dbt included, has not let go of yet.
    rows = built.execute(f"select * from main.{quoted(mart)} {chosen}", [keys])
    stream_into(connection, f"marts.{quoted(mart)}", rows)
