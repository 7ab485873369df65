"""How delivered columns differ from the declared ones, and since which partition.

`ops.delivery_drift` holds it per delivery: of what raw holds, and of a newer delivery that was
refused because of its columns. `ops.schema_drift` is what follows from it, as a view: unbroken runs of
partitions, so that it is the same in whichever order and however often these were loaded.

What belongs here: writing the one and reading the other. What does not: comparing columns (the
readers), and telling anybody.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import asdict, dataclass

import duckdb

from customer_pipeline.warehouse.sql import columns_of, insert_rows

SCHEMA_DRIFT = """
-- Which columns are not as declared: of the deliveries that raw holds, and of newer ones that were
-- refused because of some of it. `delivered_as` is what a renamed column is probably called now.
create table if not exists ops.delivery_drift (
    feed varchar not null,
    partition_key varchar not null,
    of_refused boolean not null,
    column_name varchar not null,
    kind varchar not null check (kind in ('new', 'absent', 'missing', 'renamed')),
    delivered_as varchar,
    refuses boolean not null
);

-- Of what raw holds, the deliveries in which nothing has columns: they are neither as declared nor not.
create table if not exists ops.columnless_deliveries (
    feed varchar not null,
    partition_key varchar not null
);

-- Columns that are not as declared by runs of deliveries that follow one another: where each began,
-- where it ended.
create or replace view ops.schema_drift as
with deliveries as (
    select feed, partition_key from ops.deliveries
    anti join ops.columnless_deliveries using (feed, partition_key)
    where state = 'landed'
    union
    select feed, partition_key from ops.delivery_drift
),

numbered as (
    select
        *,
        row_number() over (partition by feed order by partition_key) as number,
        row_number() over (partition by feed order by partition_key desc) = 1 as is_newest,
    from deliveries
),

drifted as (
    select
        feed,
        partition_key,
        column_name,
        kind,
        delivered_as,
        bool_or(refuses) as refuses,
    from ops.delivery_drift
    group by all
),

runs as (
    select
        drifted.*,
        numbered.is_newest,
        numbered.number - row_number() over (
            partition by drifted.feed, column_name, kind, delivered_as order by numbered.number
        ) as run,
    from drifted
    inner join numbered using (feed, partition_key)
)

select
    feed,
    column_name,
    kind,
    delivered_as,
    min(partition_key) as first_partition,
    max(partition_key) as last_partition,
    count(*) as partitions,
    max_by(refuses, partition_key) as refuses,
    bool_or(is_newest) as is_ongoing,
from runs
group by feed, column_name, kind, delivered_as, run;
"""


@dataclass(frozen=True)
class ColumnDrift:
    """One column of one delivery; the fields are those of `customer_pipeline.source.drift.Drift`."""

    column_name: str
    kind: str
    delivered_as: str | None
    refuses: bool


@dataclass(frozen=True)
class SchemaDrift:
    """A column that was not as declared in each of `partitions` deliveries, one after the other.

    `refuses`: the last of these deliveries is not used because of it. `is_ongoing`: there is no
    newer delivery of the feed, so that the next will probably be like it.
    """

    feed: str
    column_name: str
    kind: str
    delivered_as: str | None
    first_partition: str
    last_partition: str
    partitions: int
    refuses: bool
    is_ongoing: bool


def replace_drift(
    connection: duckdb.DuckDBPyConnection,
    feed: str,
    drift: Mapping[str, Sequence[ColumnDrift]],
    *,
    refused: bool,
    unseen: Sequence[str] = (),
) -> None:
    """Note how these deliveries (partition key to what is not as declared) differ, in the
    transaction that loads them, or that says that they are refused.

    What is loaded takes the place of all that was said of its partition; what is refused, of what
    was refused before.

    Args:
        unseen: those of the partitions in whose delivery nothing has columns.
    """
    connection.execute(
        "delete from ops.delivery_drift where feed = ? and partition_key in (select unnest(?))"
        " and of_refused >= ?",
        [feed, list(drift), refused],
    )
    insert_rows(
        connection,
        "ops.delivery_drift",
        [
            {
                "feed": feed,
                "partition_key": key,
                "of_refused": refused,
                **asdict(one),
            }
            for key, found in drift.items()
            for one in found
        ],
    )
    if refused:
        return
    connection.execute(
        "delete from ops.columnless_deliveries where feed = ? and partition_key in (select unnest(?))",
        [feed, list(drift)],
    )
    insert_rows(
        connection,
        "ops.columnless_deliveries",
        [{"feed": feed, "partition_key": key} for key in unseen],
    )


def schema_drift(
    connection: duckdb.DuckDBPyConnection, feeds: Iterable[str], *, at: str | None = None
) -> list[SchemaDrift]:
    """The drift of these feeds, the newest first; none in a warehouse from before it was recorded.

    Args:
        at: only what this partition is part of.
    """
    if not columns_of(connection, "ops", "schema_drift"):
        return []
    names = ", ".join(SchemaDrift.__dataclass_fields__)
    rows = connection.execute(
        f"select {names} from ops.schema_drift where feed in (select unnest($feeds))"
        " and ($at is null or $at between first_partition and last_partition)"
        " order by last_partition desc, feed, column_name, kind",
        {"feeds": list(feeds), "at": at},
    ).fetchall()
    return [SchemaDrift(*row) for row in rows]
