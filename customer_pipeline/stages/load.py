"""Load: landed rows replace their partitions in the raw table, in one transaction.

Delete + insert by partition, by column name, with the counts compared before the commit. A
partition whose landing cannot be used keeps the raw rows it has and becomes a casualty.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from datetime import UTC, datetime

import duckdb
from tenacity import retry, retry_if_exception_type, stop_after_attempt, wait_random

from customer_pipeline.code_version import declaration_version
from customer_pipeline.errors import StageError
from customer_pipeline.outcomes import Casualty
from customer_pipeline.partition_column import PartitionColumn
from customer_pipeline.quoting import quoted
from customer_pipeline.source.feed import Feed
from customer_pipeline.source.mapping.query import sql_type
from customer_pipeline.stages.delivery_notes import note_loaded, note_refused
from customer_pipeline.stages.landing import Landing, Manifest
from customer_pipeline.warehouse.connection import Warehouse
from customer_pipeline.warehouse.schema import ensure_columns, ensure_ledger
from customer_pipeline.warehouse.sql import insert_rows, rows_by_partition, transaction


@dataclass(frozen=True)
class Loaded:
    """What a load did: the landed partitions now in raw, and the casualties."""

    manifests: tuple[Manifest, ...]
    casualties: tuple[Casualty, ...]


class _LandingMovedError(StageError):
    """Another run replaced a landing partition between reading its manifest and its rows, so that
    another attempt helps; or its files are gone, so that none does."""


@retry(
    retry=retry_if_exception_type(_LandingMovedError),
    stop=stop_after_attempt(5),
    wait=wait_random(0.05, 0.3),
    reraise=True,
)
def load(
    feed_name: str,
    feed: Feed,
    keys: Sequence[str],
    *,
    zone: str,
    landing: Landing,
    warehouse: Warehouse,
    run_id: str,
) -> Loaded:
    """Replace the partitions `keys` of `raw.<feed_name>` by what is landed for them.

    Raises:
        StageError: the counts inside the transaction differ, or the table's types do not fit.
        TransientError: the warehouse is held.
    """
    declaration = declaration_version(feed, zone)
    usable: list[Manifest] = []
    unusable: list[Casualty] = []
    rejected: list[Manifest] = []
    for key in keys:
        manifest = landing.read(feed_name, key)
        if reason := why_unusable(feed_name, declaration, manifest):
            unusable.append(Casualty(key, "extract", reason))
            if manifest is not None and manifest.state == "rejected":
                rejected.append(manifest)
        elif manifest is not None:
            usable.append(manifest)
    with warehouse.write() as connection:
        ensure_ledger(connection)
        with transaction(connection):
            _prepare_table(connection, feed_name, feed, landing.column)
            _replace_rows(connection, feed_name, feed, usable, landing)
            note_loaded(connection, feed_name, usable, landing)
            note_refused(connection, feed_name, rejected, landing)
            _record(connection, feed_name, usable, run_id)
    return Loaded(tuple(usable), tuple(unusable))


def raw_columns(feed: Feed, column: PartitionColumn) -> dict[str, str]:
    """The columns of a feed's raw table, name to type."""
    types = {column.name: column.type, "_line": "BIGINT"}
    return types | {name: sql_type(declared) for name, declared in feed.columns.items()}


def why_unusable(feed_name: str, declaration: str, manifest: Manifest | None) -> str | None:
    """Why a landing partition cannot be loaded under the feed's `declaration`; None when it can."""
    if manifest is None:
        return f"{feed_name}: never extracted; materialize landing/{feed_name} first"
    if manifest.state == "rejected":
        return f"{feed_name}: {manifest.reason}"
    if manifest.declaration != declaration:
        return (
            f"{feed_name}: landed under older rules of the feed;"
            f" materialize landing/{feed_name} again"
        )
    return None


def _prepare_table(
    connection: duckdb.DuckDBPyConnection, feed_name: str, feed: Feed, column: PartitionColumn
) -> None:
    ensure_columns(connection, "raw", feed_name, raw_columns(feed, column))


def _replace_rows(
    connection: duckdb.DuckDBPyConnection,
    feed_name: str,
    feed: Feed,
    manifests: Sequence[Manifest],
    landing: Landing,
) -> None:
    table = f"raw.{quoted(feed_name)}"
    keys = [manifest.partition_key for manifest in manifests]
    connection.execute(f"delete from {table} where {landing.column.among()}", [keys])
    files = [str(path) for manifest in manifests if (path := landing.data_path(manifest))]
    if files:
        names = ", ".join(quoted(name) for name in [landing.column.name, "_line", *feed.columns])
        try:
            connection.execute(
                f"insert into {table} by name select {names}"
                " from read_parquet(?, hive_partitioning = false)",
                [files],
            )
        except duckdb.IOException as error:
            raise _LandingMovedError(
                f"the landed rows cannot be read: {error}",
                where=feed_name,
                todo=f"materialize landing/{feed_name} again",
            ) from error
    counted = rows_by_partition(connection, table, landing.column, keys)
    for manifest in manifests:
        loaded = counted.get(manifest.partition_key, 0)
        if loaded != manifest.landed_rows:
            raise StageError(
                f"{loaded} rows in raw, but {manifest.landed_rows} landed: nothing was changed",
                where=f"{feed_name} {manifest.partition_key}",
                todo=f"materialize landing/{feed_name} again",
            )


def _record(
    connection: duckdb.DuckDBPyConnection,
    feed_name: str,
    manifests: Sequence[Manifest],
    run_id: str,
) -> None:
    keys = [manifest.partition_key for manifest in manifests]
    connection.execute(
        "delete from ops.deliveries where feed = ? and partition_key in (select unnest(?))",
        [feed_name, keys],
    )
    loaded_at = datetime.now(UTC)
    insert_rows(
        connection,
        "ops.deliveries",
        [
            {
                "feed": feed_name,
                "partition_key": manifest.partition_key,
                "state": manifest.state,
                "source_rows": manifest.source_rows,
                "quarantined_rows": manifest.quarantined_rows,
                "raw_rows": manifest.landed_rows,
                "fingerprint": manifest.fingerprint,
                "declaration": manifest.declaration,
                "size": manifest.size,
                "modified_ns": manifest.modified_ns,
                "file_version": manifest.version,
                "run_id": run_id,
                "loaded_at": loaded_at,
            }
            for manifest in manifests
        ],
    )
