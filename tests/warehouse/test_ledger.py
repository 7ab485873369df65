"""What the ledger's tables hold, and what replaces what."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace
from datetime import UTC, datetime
from pathlib import Path

import duckdb
import pytest

from customer_pipeline.outcomes import Casualty
from customer_pipeline.warehouse.attempts import failures_of
from customer_pipeline.warehouse.connection import Warehouse
from customer_pipeline.warehouse.ledger import (
    Published,
    Run,
    published_partitions,
    record_failures,
    record_published,
)
from customer_pipeline.warehouse.schema import ensure_ledger

NOW = datetime(2026, 3, 9, tzinfo=UTC)
RUN = Run("run", "daily", NOW, "v1", backfill_id="b", launched_by="by hand")
ROW = Published(
    pipeline="daily",
    partition_key="2026-03-01",
    status="published",
    source_rows=3,
    quarantined_rows=1,
    raw_rows=2,
    mart_rows=5,
    source_fingerprint="f",
    content_hash="h",
    code_version="v1",
    run_id="run",
    published_at=NOW,
)


@pytest.fixture
def ledger(tmp_path: Path) -> Iterator[duckdb.DuckDBPyConnection]:
    with Warehouse(tmp_path / "warehouse.duckdb", lock_timeout=5).write() as connection:
        ensure_ledger(connection)
        yield connection


def attempts(ledger: duckdb.DuckDBPyConnection, columns: str) -> list[tuple]:
    return ledger.execute(f"select {columns} from ops.attempts order by all").fetchall()


def test_a_published_partition_comes_back_as_it_was_recorded(
    ledger: duckdb.DuckDBPyConnection,
) -> None:
    earlier = replace(ROW, partition_key="2026-02-28", status="empty")
    other_pipeline = replace(ROW, pipeline="monthly")
    record_published(ledger, RUN, [ROW, earlier])
    record_published(ledger, replace(RUN, pipeline="monthly"), [other_pipeline])
    assert list(published_partitions(ledger, "daily").items()) == [
        ("2026-02-28", earlier),
        ("2026-03-01", ROW),
    ]


def test_publishing_again_replaces_the_row_and_adds_an_attempt(
    ledger: duckdb.DuckDBPyConnection,
) -> None:
    newer = replace(ROW, run_id="newer", content_hash="other")
    record_published(ledger, RUN, [ROW])
    record_published(ledger, replace(RUN, run_id="newer"), [newer])
    assert published_partitions(ledger, "daily") == {"2026-03-01": newer}
    assert attempts(
        ledger, "run_id, outcome, stage, reason, started_at, backfill_id, launched_by"
    ) == [(run, "published", "publish", None, NOW, "b", "by hand") for run in ("newer", "run")]


def test_the_last_word_of_a_run_on_a_partition_is_what_stays(
    ledger: duckdb.DuckDBPyConnection,
) -> None:
    record_failures(ledger, RUN, [Casualty("2026-03-01", "load", "held")])
    record_failures(ledger, RUN, [Casualty("2026-03-01", "publish", "torn")])
    assert attempts(ledger, "outcome, stage, reason") == [("failed", "publish", "torn")]
    record_published(ledger, RUN, [ROW])
    assert attempts(ledger, "outcome, stage, reason") == [("published", "publish", None)]


def test_a_failure_leaves_the_ledger_of_what_is_published_alone(
    ledger: duckdb.DuckDBPyConnection,
) -> None:
    record_published(ledger, RUN, [ROW])
    record_failures(ledger, replace(RUN, run_id="2"), [Casualty("2026-03-01", "load", "held")])
    assert published_partitions(ledger, "daily") == {"2026-03-01": ROW}


def test_only_a_failure_that_nothing_followed_is_told_as_the_newest(
    ledger: duckdb.DuckDBPyConnection,
) -> None:
    lost = [Casualty(day, "load", f"of {day}") for day in ("2026-03-01", "2026-03-02")]
    record_failures(ledger, RUN, lost)
    record_published(ledger, replace(RUN, run_id="2"), [ROW])
    told = {key: failure.reason for key, failure in failures_of(ledger, "daily").items()}
    assert told == {"2026-03-02": "of 2026-03-02"}
    assert failures_of(ledger, "monthly") == {}


def test_a_reason_with_quotes_and_markup_is_kept_as_it_is(
    ledger: duckdb.DuckDBPyConnection,
) -> None:
    reason = '\'; drop table ops.attempts; -- <b>"%s"</b>'
    record_failures(ledger, RUN, [Casualty("2026-03-01", "load", reason)])
    assert attempts(ledger, "reason") == [(reason,)]


def test_making_sure_of_the_ledger_twice_changes_nothing(
    ledger: duckdb.DuckDBPyConnection,
) -> None:
    record_published(ledger, RUN, [ROW])
    ensure_ledger(ledger)
    assert published_partitions(ledger, "daily") == {"2026-03-01": ROW}


def test_a_warehouse_from_before_publications_had_numbers_has_all_of_it_as_the_first(
    ledger: duckdb.DuckDBPyConnection,
) -> None:
    record_published(ledger, RUN, [ROW, replace(ROW, partition_key="2026-03-03")])
    ledger.execute(
        "insert into ops.partitions by name select 'daily' as pipeline,"
        " '2026-03-02' as partition_key, 'waived' as status, now() as published_at"
    )
    for table in ("publications", "followers", "waivers", "warehouse"):
        ledger.execute(f"drop table ops.{table}")
    ledger.execute("drop table ops.quarantine")
    ledger.execute(
        "create table ops.quarantine (feed varchar, partition_key varchar, line bigint);"
        " insert into ops.quarantine values ('orders', '2026-03-01', 7)"
    )
    for _ in range(2):
        ensure_ledger(ledger)
        assert ledger.execute(
            "select publication, partition_key, content_hash from ops.publications order by all"
        ).fetchall() == [(1, "2026-03-01", "h"), (1, "2026-03-03", "h")]
        assert ledger.execute("select line, kind from ops.quarantine").fetchall() == [
            (7, "unreadable")
        ]
        ledger.execute("drop table ops.waivers")
