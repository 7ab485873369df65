"""All that the warehouse knows of one partition: counts at each stage, quarantine, attempts.

What belongs here: gathering it. What does not: how the partition stands (`state.py`).
"""

from __future__ import annotations

from collections.abc import Collection, Iterable, Mapping
from dataclasses import dataclass, field

import duckdb

from customer_pipeline.partition_column import PartitionColumn
from customer_pipeline.quoting import quoted
from customer_pipeline.warehouse.attempts import Attempt, attempts_at
from customer_pipeline.warehouse.backfills import reasons_of
from customer_pipeline.warehouse.connection import Warehouse
from customer_pipeline.warehouse.deliveries import LoadedDelivery, loaded_deliveries
from customer_pipeline.warehouse.quarantine import Choice, Group, groups
from customer_pipeline.warehouse.schema import has_ledger
from customer_pipeline.warehouse.schema_drift import SchemaDrift, schema_drift
from customer_pipeline.warehouse.sql import columns_of


@dataclass(frozen=True)
class MartRows:
    """How many rows of the partition a mart holds, counted just now."""

    mart: str
    rows: int


@dataclass(frozen=True)
class Detail:
    """A partition from delivery to marts: what is loaded per feed, what is published per mart, what
    is in quarantine and why, every attempt, oldest first, and which columns are not as declared.
    `requests` says why a backfill was asked for, by its id, where somebody has said so."""

    feeds: tuple[LoadedDelivery, ...] = ()
    marts: tuple[MartRows, ...] = ()
    quarantine: tuple[Group, ...] = ()
    attempts: tuple[Attempt, ...] = ()
    requests: Mapping[str, str] = field(default_factory=dict)
    drift: tuple[SchemaDrift, ...] = ()


def read_detail(
    warehouse: Warehouse,
    pipeline: str,
    key: str,
    *,
    feeds: Collection[str],
    marts: Iterable[str],
    column: PartitionColumn,
) -> Detail:
    """What there is of the partition `key`; nothing before the first run.

    Args:
        column: the partition column of the marts.

    Raises:
        TransientError: the warehouse is held.
        ConfigError: it is no DuckDB file.
    """
    if not warehouse.exists:
        return Detail()
    with warehouse.read() as connection:
        if not has_ledger(connection):
            return Detail()
        return Detail(
            tuple(loaded_deliveries(connection, feeds, key)),
            tuple(_mart_rows(connection, mart, column, key) for mart in marts),
            tuple(groups(connection, Choice([*feeds], first=key, last=key))),
            tuple(attempts_at(connection, pipeline, key)),
            reasons_of(connection, pipeline),
            tuple(schema_drift(connection, feeds, at=key)),
        )


def _mart_rows(
    connection: duckdb.DuckDBPyConnection, mart: str, column: PartitionColumn, key: str
) -> MartRows:
    if not columns_of(connection, "marts", mart):
        return MartRows(mart, 0)
    (rows,) = connection.execute(
        f"select count(*) from marts.{quoted(mart)} where {column.among()}", [[key]]
    ).fetchone() or (0,)
    return MartRows(mart, rows)
