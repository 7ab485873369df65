"""What is said of a delivery beside its rows: those that cannot be read, and columns that are not as
declared.

What is said of the delivery that is loaded and of a newer one that was refused stands side by side:
the ledger counts the rows of the one, and the other says why it is not used.

What does not belong here: the rows that are loaded (`load.py`).
"""

from __future__ import annotations

from collections.abc import Sequence

import duckdb

from customer_pipeline.stages.landing import Landing, Manifest
from customer_pipeline.warehouse.connection import Warehouse
from customer_pipeline.warehouse.schema import ensure_ledger
from customer_pipeline.warehouse.schema_drift import ColumnDrift, replace_drift
from customer_pipeline.warehouse.sql import transaction


def record_refused(
    feed_name: str, manifests: Sequence[Manifest], *, landing: Landing, warehouse: Warehouse
) -> None:
    """Note what these rejected landings say. A load does so too, but there is none when an extract
    leaves nothing to load, or somebody runs just that.

    Raises:
        TransientError: the warehouse is held.
    """
    with warehouse.write() as connection:
        ensure_ledger(connection)
        with transaction(connection):
            note_refused(connection, feed_name, manifests, landing)


def note_loaded(
    connection: duckdb.DuckDBPyConnection,
    feed_name: str,
    manifests: Sequence[Manifest],
    landing: Landing,
) -> None:
    """Replace all that is said of these partitions: what is landed is loaded in this transaction."""
    _replace_quarantine(connection, feed_name, manifests, ["unreadable", "refused"], landing)
    _replace_drift(connection, feed_name, manifests, refused=False)


def note_refused(
    connection: duckdb.DuckDBPyConnection,
    feed_name: str,
    manifests: Sequence[Manifest],
    landing: Landing,
) -> None:
    """Replace what is said of a refused delivery of these partitions: what is landed is rejected."""
    _replace_quarantine(connection, feed_name, manifests, ["refused"], landing)
    _replace_drift(connection, feed_name, manifests, refused=True)


def _replace_quarantine(
    connection: duckdb.DuckDBPyConnection,
    feed_name: str,
    manifests: Sequence[Manifest],
    kinds: Sequence[str],
    landing: Landing,
) -> None:
    """Rows of these kinds give way to those that are landed, which are of the first."""
    connection.execute(
        "delete from ops.quarantine where feed = ? and partition_key in (select unnest(?))"
        " and kind in (select unnest(?))",
        [feed_name, [manifest.partition_key for manifest in manifests], kinds],
    )
    for manifest in manifests:
        if path := landing.quarantine_path(manifest):
            connection.execute(
                "insert into ops.quarantine by name"
                f" select ? as feed, ? as partition_key, {landing.column.begins_on} as _date,"
                " ? as kind, line, reason, raw, ? as fingerprint"
                " from read_parquet(?, hive_partitioning = false)",
                [
                    *(feed_name, manifest.partition_key, kinds[0]),
                    *(manifest.fingerprint, str(path)),
                ],
            )


def _replace_drift(
    connection: duckdb.DuckDBPyConnection,
    feed_name: str,
    manifests: Sequence[Manifest],
    *,
    refused: bool,
) -> None:
    drift = {
        manifest.partition_key: [
            ColumnDrift(one.column, one.kind, one.delivered_as, one.refuses)
            for one in manifest.drift
        ]
        for manifest in manifests
    }
    unseen = [manifest.partition_key for manifest in manifests if not manifest.columns_seen]
    replace_drift(connection, feed_name, drift, refused=refused, unseen=unseen)
