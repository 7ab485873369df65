"""The warehouse: can it be read, who holds it, is there a ledger, would `maintain` give room back.

What belongs here: the file. What does not: what is in it (`overdue.py`, `verification/`), and what
follows it (`followers.py`).
"""

from __future__ import annotations

from collections.abc import Iterator

import duckdb

from customer_pipeline.health.finding import Area, Finding
from customer_pipeline.health.sizes import size_text
from customer_pipeline.warehouse.connection import Warehouse
from customer_pipeline.warehouse.holders import Holder, holders_of
from customer_pipeline.warehouse.schema import has_ledger, has_older_ledger

_AREA = Area("warehouse")
# Below either, copying the file is not worth the wait.
_WORTH_SHARE, _WORTH_BYTES = 0.3, 20_000_000


def look_at_warehouse(warehouse: Warehouse) -> Iterator[Finding]:
    """Findings about the file; it is opened for reading, for a moment."""
    if not warehouse.exists:
        yield _AREA.ok("file", f"the first run creates {warehouse.path}")
        return
    if holders := holders_of(warehouse.path):
        yield _held(holders)
    yield from _AREA.looked("file", lambda: _opened(warehouse))


def _held(holders: list[Holder]) -> Finding:
    names = [f"{one.program} (process {one.process}) for {one.holds_for}" for one in holders]
    return _AREA.warning(
        "held",
        f"by {', '.join(names)}",
        "close it, unless it is a run: runs wait for it up to CUSTOMER_PIPELINE_LOCK_TIMEOUT",
    )


def _opened(warehouse: Warehouse) -> Iterator[Finding]:
    with warehouse.read() as connection:
        size = warehouse.path.stat().st_size
        yield _AREA.ok("file", f"{warehouse.path} can be read, {size_text(size)}")
        yield _ledger(connection)
        yield _room(connection, size)


def _ledger(connection: duckdb.DuckDBPyConnection) -> Finding:
    if has_ledger(connection):
        return _AREA.ok("ledger", "is there, in the format that this version reads")
    if has_older_ledger(connection):
        return _AREA.warning(
            "ledger",
            "was created by an older version, and cannot be read before it is upgraded",
            "let a run upgrade it: `customer-pipeline run --last 1`",
        )
    return _AREA.warning(
        "ledger",
        "this file has none",
        "`customer-pipeline run --last 1`, or check CUSTOMER_PIPELINE_WAREHOUSE",
    )


def _room(connection: duckdb.DuckDBPyConnection, size: int) -> Finding:
    """The blocks that DuckDB keeps free for later; a copy has none of them."""
    row = connection.execute(
        "select free_blocks * block_size from pragma_database_size()"
        " where database_name = current_database()"
    ).fetchone()
    free = row[0] if row else 0
    if free >= max(_WORTH_SHARE * size, _WORTH_BYTES):
        return _AREA.warning(
            "size",
            f"{size_text(free)} of {size_text(size)} is free space left by replaced rows",
            "run `customer-pipeline maintain`",
        )
    return _AREA.ok("size", f"{size_text(free)} of free space left by replaced rows")
