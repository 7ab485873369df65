"""Looking into the quarantine: which rows are not used, and why.

What belongs here: reading `ops.quarantine`. What does not: filling it
(`stages/delivery_notes.py`, `stages/copies.py`).
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

import duckdb

from customer_pipeline.errors import ConfigError
from customer_pipeline.quoting import literal

FORMATS = {".csv": "csv, header", ".jsonl": "json", ".parquet": "parquet"}

# A reason begins with what is wrong: a column (or a message), then a colon.
_CHOSEN = """
from ops.quarantine
where
    feed in (select unnest($feeds))
    and ($kind is null or kind = $kind)
    and ($first is null or partition_key >= $first)
    and ($last is null or partition_key <= $last)
    and ($reason is null or contains(reason, $reason))
"""


@dataclass(frozen=True)
class Choice:
    """Which rows of these feeds: None means all. `first` and `last` are partition keys, both
    included, and `reason` is a text that the reason contains."""

    feeds: Sequence[str]
    kind: str | None = None
    first: str | None = None
    last: str | None = None
    reason: str | None = None


@dataclass(frozen=True)
class Group:
    """Rows of one feed and partition that are there for like reasons, with one reason for all."""

    feed: str
    partition_key: str
    kind: str
    rows: int
    example: str


@dataclass(frozen=True)
class Row:
    """A row: where it stood, why it is not used, and what was delivered."""

    feed: str
    partition_key: str
    kind: str
    line: int
    reason: str
    raw: str | None


def groups(connection: duckdb.DuckDBPyConnection, choice: Choice) -> list[Group]:
    """The chosen rows by feed, partition, kind and what is wrong, oldest partition first."""
    rows = connection.execute(
        "select feed, partition_key, kind, count(*), min_by(reason, line)"
        f" {_CHOSEN} group by feed, partition_key, kind, if(kind = 'conflict', '',"
        " split_part(reason, ':', 1)) order by partition_key, feed, kind, count(*) desc, 5",
        vars(choice),
    ).fetchall()
    return [Group(*row) for row in rows]


def rows(connection: duckdb.DuckDBPyConnection, choice: Choice, *, most: int) -> list[Row]:
    """The first `most` of the chosen rows, in the order of partitions, feeds and lines."""
    found = connection.execute(
        f"select feed, partition_key, kind, line, reason, raw {_CHOSEN}"
        " order by partition_key, feed, line, kind limit $most",
        vars(choice) | {"most": most},
    ).fetchall()
    return [Row(*row) for row in found]


def partitions(connection: duckdb.DuckDBPyConnection, choice: Choice) -> list[str]:
    """The partitions that have chosen rows, oldest first."""
    found = connection.execute(
        f"select distinct partition_key {_CHOSEN} order by 1", vars(choice)
    ).fetchall()
    return [key for (key,) in found]


def export(connection: duckdb.DuckDBPyConnection, choice: Choice, path: Path) -> int:
    """Write the chosen rows to a file, in the format that its name says; returns their number.

    Raises:
        ConfigError: another format than `FORMATS`, or the file cannot be written.
    """
    if path.suffix not in FORMATS:
        raise ConfigError(
            f"no such format: {path.suffix or 'none'}",
            where=str(path),
            todo=f"give the file a name that ends in {', '.join(FORMATS)}",
        )
    chosen = (
        f"select feed, partition_key, kind, line, reason, raw {_CHOSEN}"
        " order by partition_key, feed, line, kind"
    )
    connection.execute(f"create or replace temp table _chosen as {chosen}", vars(choice))
    try:
        written = connection.execute(
            f"copy _chosen to {literal(str(path))} (format {FORMATS[path.suffix]})"
        ).fetchone()
    except duckdb.IOException as error:
        raise ConfigError(
            f"cannot be written: {error}", where=str(path), todo="name another file"
        ) from error
    return written[0] if written else 0
