"""What raw holds of which delivery: reading `ops.deliveries`.

What does not belong here: writing it, with the rows themselves (`stages/load.py`).
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from datetime import datetime

import duckdb

from customer_pipeline.warehouse.sql import columns_of


@dataclass(frozen=True)
class LoadedDelivery:
    """A feed's delivery as raw holds it: its fingerprint, and its rows at each stage."""

    feed: str
    state: str
    source_rows: int
    quarantined_rows: int
    raw_rows: int
    fingerprint: str
    run_id: str
    loaded_at: datetime


@dataclass(frozen=True)
class LoadedContent:
    """Which content of a delivery raw holds: its fingerprint (a word where there was no delivery),
    and of a file its bytes, when it was last changed (nanoseconds since the epoch), and which version
    of several it was.

    None where that is not known, or does not tell a later change.
    """

    fingerprint: str
    size: int | None = None
    modified_ns: int | None = None
    file_version: str | None = None


def loaded_contents(
    connection: duckdb.DuckDBPyConnection, feeds: Iterable[str]
) -> dict[str, dict[str, LoadedContent]]:
    """What raw holds, by partition key and feed."""
    # In a warehouse that nobody has written to since, there are no such columns yet.
    noted = columns_of(connection, "ops", "deliveries")
    state = ", ".join(
        name if name in noted else "null" for name in ("size", "modified_ns", "file_version")
    )
    rows = connection.execute(
        f"select partition_key, feed, fingerprint, {state} from ops.deliveries"
        " where feed in (select unnest(?))",
        [list(feeds)],
    ).fetchall()
    found: dict[str, dict[str, LoadedContent]] = {}
    for key, feed, *content in rows:
        found.setdefault(key, {})[feed] = LoadedContent(*content)
    return found


def loaded_fingerprints(
    connection: duckdb.DuckDBPyConnection, feeds: Iterable[str]
) -> dict[str, dict[str, str]]:
    """The fingerprint of what raw holds, by partition key and feed."""
    return {
        key: {feed: content.fingerprint for feed, content in contents.items()}
        for key, contents in loaded_contents(connection, feeds).items()
    }


def loaded_deliveries(
    connection: duckdb.DuckDBPyConnection, feeds: Iterable[str], key: str
) -> list[LoadedDelivery]:
    """What raw holds of one partition, in the order of the feeds' names."""
    names = ", ".join(LoadedDelivery.__dataclass_fields__)
    rows = connection.execute(
        f"select {names} from ops.deliveries where partition_key = ?"
        " and feed in (select unnest(?)) order by feed",
        [key, list(feeds)],
    ).fetchall()
    return [LoadedDelivery(*row) for row in rows]
