"""The warehouse's tables: the ledger's own, and how raw and mart tables come to be and grow.

What belongs here: DDL (of drift, `schema_drift.py` has it). Every table is made when it is first
needed and gains columns when a feed or a model does; nothing that holds rows is ever dropped or
retyped without a person saying so (an empty table is made anew). There are no primary keys: with one,
DuckDB's file grows with every reload (keys are stated as tests instead).
"""

from __future__ import annotations

from collections.abc import Mapping

import duckdb

from customer_pipeline.errors import StageError
from customer_pipeline.quoting import quoted
from customer_pipeline.warehouse.schema_drift import SCHEMA_DRIFT
from customer_pipeline.warehouse.sql import columns_of, has_rows

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

-- Rows that are not used: unreadable ones of the delivery that is loaded, those of a newer delivery
-- that was refused as a whole, and published messages that contradict the one that counts.
create table if not exists ops.quarantine (
    feed varchar not null,
    partition_key varchar not null,
    kind varchar not null check (kind in ('unreadable', 'refused', 'conflict')),
    _date date not null,
    line bigint not null,
    reason varchar not null,
    raw varchar,
    fingerprint varchar
);

-- What was published when: one row per publication and partition whose published rows it replaced.
-- The numbers grow, and tell what follows the ledger (lake, reporting) how far it has come.
create table if not exists ops.publications (
    publication bigint not null,
    pipeline varchar not null,
    partition_key varchar not null,
    run_id varchar not null,
    content_hash varchar not null,
    published_at timestamptz not null
);

-- In a warehouse from before there were numbers, all that is published is the first publication,
-- and all that is in quarantine could not be read.
insert into ops.publications
select 1, pipeline, partition_key, run_id, content_hash, published_at
from ops.partitions
where status in ('published', 'empty') and not exists (from ops.publications);
alter table ops.quarantine add column if not exists kind varchar default 'unreadable';

-- How far each follower has come, and with which version of its code.
create table if not exists ops.followers (
    follower varchar not null,
    publication bigint not null,
    version varchar not null,
    run_id varchar not null,
    followed_at timestamptz not null
);

-- Partitions whose source will never come: each has a row with status 'waived' above, too.
create table if not exists ops.waivers (
    pipeline varchar not null,
    partition_key varchar not null,
    reason varchar not null,
    waived_by varchar not null,
    waived_at timestamptz not null
);

-- Backfills that somebody asked for, and why. `ops.attempts` names them by id.
create table if not exists ops.backfills (
    backfill_id varchar not null,
    pipeline varchar not null,
    partition_keys varchar[] not null,
    redo varchar not null,
    reason varchar not null,
    launched_by varchar not null,
    launched_at timestamptz not null
);
-- How big a delivery's file was and when it was changed last (nanoseconds since the epoch), where
-- that tells later whether it was changed since.
alter table ops.deliveries add column if not exists size bigint;
alter table ops.deliveries add column if not exists modified_ns bigint;
-- And which one it was, where a delivery comes in several versions.
alter table ops.deliveries add column if not exists file_version varchar;

-- Which warehouse this is: the numbers above mean something in one file only.
create table if not exists ops.warehouse (id varchar not null);
insert into ops.warehouse select uuid()::varchar where not exists (from ops.warehouse);
"""
_TABLES = frozenset(
    ("partitions", "attempts", "deliveries", "quarantine", "publications", "followers", "warehouse")
)
# A ledger that only lacks these can be read all the same, as one without such rows.
_LATER_TABLES = frozenset(("backfills", "columnless_deliveries", "delivery_drift", "waivers"))
# Of ops.deliveries: where it is, all columns are.
_NEWEST_COLUMN = "file_version"


def ensure_ledger(connection: duckdb.DuckDBPyConnection) -> None:
    """Create the schemas and the pipeline's own tables where they are missing."""
    is_whole = _present(connection) >= _TABLES | _LATER_TABLES
    if not (is_whole and _NEWEST_COLUMN in columns_of(connection, "ops", "deliveries")):
        connection.execute(_LEDGER + SCHEMA_DRIFT)


def has_ledger(connection: duckdb.DuckDBPyConnection) -> bool:
    """Whether the pipeline's own tables are there."""
    return _present(connection) >= _TABLES


def has_older_ledger(connection: duckdb.DuckDBPyConnection) -> bool:
    """Whether some of those tables are there, but not all: the next run makes the others."""
    return bool(_present(connection)) and not has_ledger(connection)


def _present(connection: duckdb.DuckDBPyConnection) -> set[str]:
    rows = connection.execute(
        "select table_name from duckdb_tables()"
        " where database_name = current_database() and schema_name = 'ops'"
    ).fetchall()
    return {name for (name,) in rows}


def ensure_table(
    connection: duckdb.DuckDBPyConnection, schema: str, table: str, columns: Mapping[str, str]
) -> None:
    """Create `schema.table` with `columns` (name to type) unless there is such a table."""
    declared = ", ".join(f"{quoted(name)} {kind}" for name, kind in columns.items())
    connection.execute(f"create table if not exists {quoted(schema)}.{quoted(table)} ({declared})")


def ensure_columns(
    connection: duckdb.DuckDBPyConnection, schema: str, table: str, columns: Mapping[str, str]
) -> list[str]:
    """Create `schema.table` with `columns` (name to type), or add the columns that it lacks.

    Columns that the table has and `columns` lacks stay, and are NULL in new rows only where a feed
    dropped them; a mart refuses (see `stages/publish.py`). A table without rows is made anew when its
    types are others.

    Returns:
        The columns that were added to a table that was there: NULL in the rows that it has.

    Raises:
        StageError: when a column exists with another type.
    """
    existing = columns_of(connection, schema, table)
    target = f"{quoted(schema)}.{quoted(table)}"
    retyped = [name for name, kind in columns.items() if existing.get(name, kind) != kind]
    if retyped and not has_rows(connection, target):
        connection.execute(f"drop table {target}")
        existing = {}
    if not existing:
        ensure_table(connection, schema, table, columns)
        return []
    added = [name for name in columns if name not in existing]
    for name in added:
        connection.execute(f"alter table {target} add column {quoted(name)} {columns[name]}")
    if retyped:
        name, kind = retyped[0], columns[retyped[0]]
        raise StageError(
            f"column {name} is {existing[name]} in the warehouse, but {kind} is declared now",
            where=f"{schema}.{table}",
            todo=f"decide about the old rows: alter table {schema}.{table} alter column"
            f" {name} type {kind}, or keep the type",
        )
    return added
