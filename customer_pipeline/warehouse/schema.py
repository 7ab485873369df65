"""The warehouse's tables: the ledger's own, and how raw and mart tables come to be and grow.

What belongs here: DDL. Every table is made when it is first needed and gains columns when a feed or
a model does; nothing is ever dropped or retyped without a person saying so. There are no primary
keys: with one, DuckDB's file grows with every reload (keys are stated as tests instead).
"""

from __future__ import annotations

from collections.abc import Mapping

import duckdb

from customer_pipeline.errors import StageError
from customer_pipeline.quoting import quoted
from customer_pipeline.warehouse.sql import columns_of

_LEDGER = """
create schema if not exists raw;
create schema if not exists marts;
create schema if not exists ops;

-- What is published now: one row per pipeline and partition.
create table if not exists ops.partitions (
    pipeline varchar not null,
    partition_key varchar not null,
    status varchar not null check (status in ('published', 'empty', 'waived')),
    source_rows bigint,
    quarantined_rows bigint,
    raw_rows bigint,
    mart_rows bigint,
    source_fingerprint varchar,
    content_hash varchar,
    code_version varchar,
    run_id varchar,
    published_at timestamptz not null
);

-- What was tried and how it ended: one row per run and partition.
create table if not exists ops.attempts (
    run_id varchar not null,
    pipeline varchar not null,
    partition_key varchar not null,
    outcome varchar not null check (outcome in ('published', 'empty', 'failed')),
    stage varchar not null,
    reason varchar,
    started_at timestamptz not null,
    finished_at timestamptz not null,
    backfill_id varchar,
    launched_by varchar
);

-- What raw holds now: one row per feed and partition, written with the rows themselves.
create table if not exists ops.deliveries (
    feed varchar not null,
    partition_key varchar not null,
    state varchar not null check (state in ('landed', 'absent')),
    source_rows bigint not null,
    quarantined_rows bigint not null,
    raw_rows bigint not null,
    fingerprint varchar not null,
    declaration varchar not null,
    run_id varchar not null,
    loaded_at timestamptz not null
);

-- Rows that could not be loaded, of each partition's newest delivery.
create table if not exists ops.quarantine (
    feed varchar not null,
    partition_key varchar not null,
    _date date not null,
    line bigint not null,
    reason varchar not null,
    raw varchar,
    fingerprint varchar
);
"""


def ensure_ledger(connection: duckdb.DuckDBPyConnection) -> None:
    """Create the schemas and the pipeline's own tables where they are missing."""
    present = connection.execute(
        "select count(*) from duckdb_tables() where schema_name = 'ops'"
        " and table_name in ('partitions', 'attempts', 'deliveries', 'quarantine')"
    ).fetchone()
    if present != (4,):
        connection.execute(_LEDGER)


def ensure_columns(
    connection: duckdb.DuckDBPyConnection, schema: str, table: str, columns: Mapping[str, str]
) -> None:
    """Create `schema.table` with `columns` (name to type), or add the columns that it lacks.

    Columns that the table has and `columns` lacks stay, and are NULL in new rows only where a feed
    dropped them; a mart refuses (see `stages/publish.py`).

    Raises:
        StageError: when a column exists with another type.
    """
    existing = columns_of(connection, schema, table)
    target = f"{quoted(schema)}.{quoted(table)}"
    if not existing:
        declared = ", ".join(f"{quoted(name)} {kind}" for name, kind in columns.items())
        connection.execute(f"create table if not exists {target} ({declared})")
        return
    for name, kind in columns.items():
        if name not in existing:
            connection.execute(f"alter table {target} add column {quoted(name)} {kind}")
        elif existing[name] != kind:
            raise StageError(
                f"column {name} is {existing[name]} in the warehouse, but {kind} is declared now",
                where=f"{schema}.{table}",
                todo=f"decide about the old rows: alter table {schema}.{table} alter column"
                f" {name} type {kind}, or keep the type",
            )
