"""What raw holds of which delivery: reading `ops.deliveries`.

What does not belong here: writing it, with the rows themselves (`stages/load.py`).
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from datetime import datetime

import duckdb


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


def loaded_fingerprints(
    connection: duckdb.DuckDBPyConnection, feeds: Iterable[str]
) -> dict[str, dict[str, str]]:
    """The fingerprint of what raw holds, by partition key and feed."""
    rows = connection.execute(
        "select partition_key, feed, fingerprint from ops.deliveries"
        " where feed in (select unnest(?))",
        [list(feeds)],
    ).fetchall()
    found: dict[str, dict[str, str]] = {}
    for key, feed, fingerprint in rows:
        found.setdefault(key, {})[feed] = fingerprint
    return found


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
