"""What is waived, what ends it, and what else must not notice."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace
from datetime import UTC, datetime
from pathlib import Path

import duckdb
import pytest

from customer_pipeline.warehouse.connection import Warehouse
from customer_pipeline.warehouse.ledger import (
    Published,
    Run,
    published_partitions,
    record_published,
)
from customer_pipeline.warehouse.schema import ensure_ledger, has_ledger
from customer_pipeline.warehouse.waivers import Waiver, end_waivers, grant_waivers, waivers_of

NOW = datetime(2026, 3, 9, tzinfo=UTC)
DAY, OTHER = "2026-03-01", "2026-03-02"
WAIVER = Waiver(DAY, "closed; '--", "eve", NOW)
RUN = Run("run", "daily", NOW, "v1")
ROW = Published("daily", DAY, "published", 3, 1, 2, 5, "f", "h", "v1", "run", NOW)


@pytest.fixture
def ledger(tmp_path: Path) -> Iterator[duckdb.DuckDBPyConnection]:
    with Warehouse(tmp_path / "warehouse.duckdb", lock_timeout=5).write() as connection:
        ensure_ledger(connection)
        yield connection


def ledger_rows(ledger: duckdb.DuckDBPyConnection) -> list[tuple]:
    return ledger.execute(
        "select pipeline, partition_key, status from ops.partitions order by all"
    ).fetchall()


def test_a_waiver_comes_back_as_it_was_granted_and_the_ledger_shows_it(
    ledger: duckdb.DuckDBPyConnection,
) -> None:
    grant_waivers(ledger, "daily", [WAIVER])
    assert waivers_of(ledger, "daily") == {DAY: WAIVER}
    assert waivers_of(ledger, "monthly") == {}
    assert ledger_rows(ledger) == [("daily", DAY, "waived")]


def test_what_is_waived_does_not_pass_for_published(ledger: duckdb.DuckDBPyConnection) -> None:
    grant_waivers(ledger, "daily", [WAIVER])
    assert published_partitions(ledger, "daily") == {}


def test_waiving_again_replaces_the_reason(ledger: duckdb.DuckDBPyConnection) -> None:
    grant_waivers(ledger, "daily", [WAIVER])
    newer = replace(WAIVER, reason="another")
    grant_waivers(ledger, "daily", [newer])
    assert waivers_of(ledger, "daily") == {DAY: newer}
    assert len(ledger_rows(ledger)) == 1


def test_ending_a_waiver_leaves_others_and_what_is_published_alone(
    ledger: duckdb.DuckDBPyConnection,
) -> None:
    kept = replace(WAIVER, partition_key=OTHER)
    grant_waivers(ledger, "daily", [WAIVER, kept])
    grant_waivers(ledger, "monthly", [WAIVER])
    published = replace(ROW, partition_key="2026-03-03")
    record_published(ledger, RUN, [published])
    end_waivers(ledger, "daily", [DAY, "2026-03-03"])
    assert waivers_of(ledger, "daily") == {OTHER: kept}
    assert ledger_rows(ledger) == [
        ("daily", OTHER, "waived"),
        ("daily", "2026-03-03", "published"),
        ("monthly", DAY, "waived"),
    ]


def test_publishing_a_waived_partition_ends_its_waiver(ledger: duckdb.DuckDBPyConnection) -> None:
    grant_waivers(ledger, "daily", [WAIVER])
    record_published(ledger, RUN, [ROW])
    assert waivers_of(ledger, "daily") == {}
    assert published_partitions(ledger, "daily") == {DAY: ROW}
    assert ledger_rows(ledger) == [("daily", DAY, "published")]


def test_a_ledger_without_the_table_is_read_as_one_without_waivers_and_gets_it_when_written(
    ledger: duckdb.DuckDBPyConnection,
) -> None:
    record_published(ledger, RUN, [ROW])
    ledger.execute("drop table ops.waivers")
    assert has_ledger(ledger)
    assert waivers_of(ledger, "daily") == {}
    ensure_ledger(ledger)
    grant_waivers(ledger, "daily", [replace(WAIVER, partition_key=OTHER)])
    assert published_partitions(ledger, "daily") == {DAY: ROW}
