"""What follows the ledger, the lake and the reporting tables: how far are they behind?"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from datetime import datetime, timedelta

import duckdb

from customer_pipeline.health.finding import Area, Finding
from customer_pipeline.lake.follow import Lake
from customer_pipeline.reporting.refresh import Reporting
from customer_pipeline.warehouse.connection import Warehouse
from customer_pipeline.warehouse.publications import newest_publication, warehouse_id
from customer_pipeline.warehouse.schema import has_ledger

_LAKE, _REPORTING = Area("lake"), Area("reporting")
# The sensor waits that long for the end of what is still being published.
_LONGEST_WAIT = timedelta(hours=2)


def look_at_followers(
    warehouse: Warehouse,
    reporting: Reporting,
    lake: Lake,
    marts: Sequence[str],
    now: datetime,
    *,
    called: str,
) -> Iterator[Finding]:
    """Findings about both, `called` so; none before something is published, and none about reporting
    tables of a pipeline that has none.

    Raises:
        TransientError: the warehouse is held.
        ConfigError: it is no DuckDB file.
    """
    if not warehouse.exists:
        return
    with warehouse.read() as connection:
        if has_ledger(connection) and newest_publication(connection, reporting.pipeline):
            pipeline = reporting.pipeline
            yield from _LAKE.looked(
                called, lambda: _lake(connection, pipeline, lake, marts, called)
            )
            if reporting.tables:
                yield _reporting(connection, reporting, now, called)


def _lake(
    connection: duckdb.DuckDBPyConnection,
    pipeline: str,
    lake: Lake,
    marts: Sequence[str],
    called: str,
) -> Iterator[Finding]:
    source, newest = warehouse_id(connection), newest_publication(connection, pipeline)
    behind = [mart for mart in marts if lake.table(mart).mark(source) != newest]
    if behind:
        yield _LAKE.warning(
            called,
            f"not up to date with what is published: {', '.join(behind)}",
            "run any partition: every run adds all that is missing",
        )
    else:
        yield _LAKE.ok(called, f"{len(marts)} tables hold all that is published")


def _reporting(
    connection: duckdb.DuckDBPyConnection, reporting: Reporting, now: datetime, called: str
) -> Finding:
    standing = reporting.standing(connection)
    if not standing.partitions:
        return _REPORTING.ok(called, "hold all that is published")
    since = standing.waiting_since
    words = f"lack {len(standing.partitions)} published partitions"
    todo = "run `dagster job execute -m customer_pipeline.definitions -j reporting_refresh`"
    if since is not None and now - since > _LONGEST_WAIT:
        words += f", the first since {since:%Y-%m-%d %H:%M} UTC"
        return _REPORTING.problem(called, words, todo)
    return _REPORTING.warning(called, words, f"wait for the sensor, or {todo}")
