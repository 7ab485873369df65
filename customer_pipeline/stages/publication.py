"""What is said of a publication: the ledger's rows, and what people see of what was published.

What belongs here: counting, hashing and showing what the marts hold now, inside the transaction that
publishes. What does not: that transaction (`publish.py`), and the ledger's tables
(`warehouse/ledger.py`).
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from datetime import UTC, datetime

import duckdb

from customer_pipeline.outcomes import Casualty
from customer_pipeline.partition_column import PartitionColumn
from customer_pipeline.quoting import quoted
from customer_pipeline.stages.candidate import Delivered, by_partition
from customer_pipeline.stages.messages import Redelivered
from customer_pipeline.warehouse.content_hash import content_hashes
from customer_pipeline.warehouse.ledger import Published, Run, record_moved, source_fingerprint
from customer_pipeline.warehouse.sql import rows_by_partition

_PREVIEW_ROWS = 5


@dataclass(frozen=True)
class Publication:
    """What a run published, and what it did not and why.

    `moved` are other partitions whose rows changed, since messages count there now, or no longer.
    `mart_rows` and `previews` (a few rows, as texts by column) are by mart and partition, and
    `redelivered` by mart of messages, then by partition.
    """

    published: tuple[Published, ...]
    moved: tuple[str, ...]
    casualties: tuple[Casualty, ...]
    mart_rows: Mapping[tuple[str, str], int]
    previews: Mapping[tuple[str, str], list[dict[str, str | None]]]
    redelivered: Mapping[str, Mapping[str, Redelivered]]


def record_changed(
    connection: duckdb.DuckDBPyConnection,
    marts: Sequence[str],
    column: PartitionColumn,
    keys: Sequence[str],
    run: Run,
) -> dict[str, str]:
    """Let the ledger tell the truth about partitions whose rows are others now: they gave messages
    away, got some back, or have a column more. Returns their new content hashes."""
    hashes = content_hashes(connection, _relations(marts), column, keys)
    rows = Counter[str]()
    for (_, key), count in rows_in_marts(connection, marts, column, keys).items():
        rows[key] += count
    record_moved(connection, run.pipeline, {key: (rows[key], hashes[key]) for key in keys})
    return hashes


def ledger_rows(
    connection: duckdb.DuckDBPyConnection,
    counts: Mapping[tuple[str, str], int],
    marts: Sequence[str],
    column: PartitionColumn,
    keys: Sequence[str],
    delivered: Sequence[Delivered],
    run: Run,
) -> list[Published]:
    """A row of the ledger for each of these partitions, as they are in the marts now."""
    hashes = content_hashes(connection, _relations(marts), column, keys)
    published_at = datetime.now(UTC)
    feeds_of = by_partition(delivered)
    rows = []
    for key in keys:
        feeds = feeds_of[key]
        raw_rows = sum(row.raw_rows for row in feeds)
        rows.append(
            Published(
                pipeline=run.pipeline,
                partition_key=key,
                status="published" if raw_rows else "empty",
                source_rows=sum(row.source_rows for row in feeds),
                quarantined_rows=sum(row.quarantined_rows for row in feeds),
                raw_rows=raw_rows,
                mart_rows=sum(counts.get((mart, key), 0) for mart in marts),
                source_fingerprint=source_fingerprint({row.feed: row.fingerprint for row in feeds}),
                content_hash=hashes[key],
                code_version=run.code_version,
                run_id=run.run_id,
                published_at=published_at,
            )
        )
    return rows


def rows_in_marts(
    connection: duckdb.DuckDBPyConnection,
    marts: Sequence[str],
    column: PartitionColumn,
    keys: Sequence[str],
) -> dict[tuple[str, str], int]:
    """How many rows of these partitions each mart has, by mart and partition."""
    return {
        (mart, key): rows
        for mart, relation in _relations(marts).items()
        for key, rows in rows_by_partition(connection, relation, column, keys).items()
    }


def previews(
    connection: duckdb.DuckDBPyConnection,
    marts: Sequence[str],
    column: PartitionColumn,
    keys: Sequence[str],
) -> dict[tuple[str, str], list[dict[str, str | None]]]:
    """A few rows of these partitions, as texts by column, by mart and partition."""
    found: dict[tuple[str, str], list[dict[str, str | None]]] = {}
    for mart in marts:
        rows = connection.execute(
            f"select columns(*)::varchar from marts.{quoted(mart)}"
            f" where {column.among()}"
            f" qualify row_number() over (partition by {column.quoted}) <= {_PREVIEW_ROWS}",
            [list(keys)],
        )
        names = [field[0] for field in rows.description or ()]
        for values in rows.fetchall():
            row = dict(zip(names, values, strict=True))
            found.setdefault((mart, str(row[column.name])), []).append(row)
    return found


def _relations(marts: Sequence[str]) -> dict[str, str]:
    return {mart: f"marts.{quoted(mart)}" for mart in marts}
