"""The lake follows the ledger: what was published is in it, whatever happened in between."""

from __future__ import annotations

import shutil
import subprocess
import sys
from collections.abc import Iterator
from datetime import UTC, datetime
from decimal import Decimal
from pathlib import Path

import duckdb
import pyarrow as pa
import pytest
from deltalake import DeltaTable

from customer_pipeline.errors import ConfigError, StageError, TransientError
from customer_pipeline.lake import table as lake_table
from customer_pipeline.lake.follow import Lake, in_turn
from customer_pipeline.source.calendars import DailyPartitions
from customer_pipeline.warehouse.connection import Warehouse
from customer_pipeline.warehouse.content_hash import content_hashes
from customer_pipeline.warehouse.sql import columns_of
from tests.conftest import PROJECT
from tests.support.published import MARTS, PIPELINE, Published

DAYS = [f"2026-03-{day:02}" for day in range(1, 11)]
CURRENT = {"orders": None, "summary": None}


@pytest.fixture
def published(tmp_path: Path) -> Published:
    """Ten days that the lake holds."""
    # Quotes, hashes and per cent signs in a path are characters like any others.
    published = Published(tmp_path / "the shop's #1 100% lake")
    published.make()
    published.publish(*DAYS)
    published.follow()
    return published


def version(published: Published, mart: str = "orders") -> int:
    return DeltaTable(str(published.lake.root / mart)).version()


def assert_equal(published: Published) -> None:
    for mart in MARTS:
        assert published.in_lake(mart) == published.in_warehouse(mart)
    assert published.in_lake("orders")


def test_a_new_lake_holds_every_published_day(tmp_path: Path) -> None:
    published = Published(tmp_path)
    published.make()
    published.publish(*DAYS[:3])
    assert published.follow() == {"orders": 3, "summary": 3}
    assert_equal(published)


def test_what_is_current_is_not_touched(published: Published) -> None:
    before = version(published)
    assert published.follow() == CURRENT
    assert version(published) == before


@pytest.mark.parametrize("days", [DAYS[3:5], DAYS[5:2:-1], [DAYS[9], DAYS[0]]], ids=str)
def test_days_that_are_published_anew_are_replaced_in_one_commit(
    published: Published, days: list[str]
) -> None:
    before, untouched = version(published), files(published, DAYS[7])
    for day in days:
        published.publish(day, orders=5, customer="Grace")
    assert published.follow() == {mart: len(days) for mart in MARTS}
    assert_equal(published)
    assert version(published) == before + 1
    assert files(published, DAYS[7]) == untouched


def files(published: Published, day: str) -> list[str]:
    return DeltaTable(str(published.lake.root / "orders")).file_uris(
        file_pruning_predicate=[("_date", "=", day)]
    )


def test_a_day_that_is_emptied_is_empty_in_the_lake(published: Published) -> None:
    published.publish(DAYS[4], orders=0)
    assert published.follow() == {"orders": 1, "summary": 1}
    assert_equal(published)
    assert files(published, DAYS[4]) == []


def test_days_that_were_not_published_stay_as_they_were(published: Published) -> None:
    """The lake asks the ledger, and not the marts, what has changed."""
    with published.warehouse.write() as connection:
        connection.execute("update marts.orders set customer = 'nobody published this'")
    published.publish(DAYS[0], customer="Grace")
    published.follow()
    assert {row[2] for row in published.in_lake("orders") if str(row[0]) != DAYS[0]} == {"Ada"}


def test_a_run_that_dies_before_the_lake_is_made_up_for_by_the_next(published: Published) -> None:
    published.publish(DAYS[1], customer="lost")
    published.publish(DAYS[2], customer="Grace")
    assert published.follow() == {"orders": 2, "summary": 2}
    assert_equal(published)


def test_a_run_that_dies_between_two_tables_is_made_up_for_by_the_next(
    published: Published, monkeypatch: pytest.MonkeyPatch
) -> None:
    published.publish(DAYS[1], customer="Grace")
    write = lake_table.write_deltalake

    def fails_for_the_second(table: DeltaTable, *args: object, **kwargs: object) -> None:
        if table.table_uri.rstrip("/").endswith("summary"):
            raise OSError("the disk is full")
        write(table, *args, **kwargs)  # type: ignore[arg-type]

    with monkeypatch.context() as patch:
        patch.setattr(lake_table, "write_deltalake", fails_for_the_second)
        with pytest.raises(StageError, match="the disk is full"):
            published.follow()
    assert published.in_lake("orders") == published.in_warehouse("orders")
    assert published.follow() == {"orders": None, "summary": 1}
    assert_equal(published)


def test_rows_that_break_off_leave_the_table_as_it_was(
    published: Published, monkeypatch: pytest.MonkeyPatch
) -> None:
    published.publish(*DAYS, customer="Grace")
    before, write = version(published), lake_table.write_deltalake

    def breaks_off(rows: pa.RecordBatchReader) -> Iterator[pa.RecordBatch]:
        yield from rows
        raise OSError("the disk is broken")

    def writes_half(folder: str, rows: pa.RecordBatchReader, **kwargs: object) -> None:
        half = pa.RecordBatchReader.from_batches(rows.schema, breaks_off(rows))
        write(folder, half, **kwargs)  # type: ignore[arg-type]

    with monkeypatch.context() as patch:
        patch.setattr(lake_table, "write_deltalake", writes_half)
        with pytest.raises(StageError, match="the disk is broken"):
            published.follow()
    assert version(published) == before
    published.follow()
    assert_equal(published)


@pytest.mark.parametrize("lost", ["", "orders"], ids=["the lake", "a table"])
def test_what_is_deleted_comes_back_whole(published: Published, lost: str) -> None:
    shutil.rmtree(published.lake.root / lost)
    published.publish(DAYS[0], customer="Grace")
    assert published.follow() == {"orders": 10, "summary": 1 if lost else 10}
    assert_equal(published)


def test_a_lake_of_another_warehouse_is_replaced_as_a_whole(published: Published) -> None:
    published.warehouse.path.unlink()
    published.make()
    published.publish(DAYS[5], customer="another")
    assert published.follow() == {"orders": 1, "summary": 1}
    assert_equal(published)


def test_a_warehouse_that_was_put_back_from_an_older_copy_replaces_the_lake(
    published: Published,
) -> None:
    older = published.warehouse.path.with_name("older")
    shutil.copy(published.warehouse.path, older)
    published.publish(DAYS[0], customer="after the copy")
    published.publish(DAYS[1], customer="after the copy")
    published.follow()
    shutil.copy(older, published.warehouse.path)
    published.publish(DAYS[2], customer="Grace")
    assert published.follow() == {"orders": 10, "summary": 10}
    assert_equal(published)
    assert published.follow() == CURRENT


def test_a_new_column_arrives_and_is_null_in_older_days(published: Published) -> None:
    with published.warehouse.write() as connection:
        connection.execute("alter table marts.orders add column channel varchar")
    published.publish(DAYS[0])
    before = files(published, DAYS[7])
    assert published.follow() == {"orders": 1, "summary": 1}
    assert_equal(published)
    assert files(published, DAYS[7]) == before
    assert {row[6] for row in published.in_lake("orders")} == {None}


@pytest.mark.parametrize(
    "change", ["drop column quantity", "alter column quantity type decimal(9, 2)"]
)
def test_a_column_that_somebody_dropped_or_retyped_remakes_the_table(
    published: Published, change: str
) -> None:
    published.publish(DAYS[0])
    with published.warehouse.write() as connection:
        connection.execute(f"alter table marts.orders {change}")
    assert published.follow() == {"orders": 10, "summary": 1}
    assert_equal(published)


def test_a_mart_without_rows_has_a_table_with_its_columns(tmp_path: Path) -> None:
    published = Published(tmp_path)
    published.make()
    published.publish(DAYS[0], orders=0)
    assert published.follow() == {"orders": 1, "summary": 1}
    assert published.in_lake("orders") == []


def test_types_stay_what_they_are(published: Published) -> None:
    connection = duckdb.connect()
    connection.execute("set TimeZone = 'UTC'")
    with published.lake.relations(connection, ["orders"], [DAYS[0]]) as names:
        found = {
            name: kind
            for name, kind, *_ in connection.execute(f"describe {names['orders']}").fetchall()
        }
        row = connection.execute(
            f"select amount, ordered_at from {names['orders']} where order_id = 'O1'"
        ).fetchone()
    with published.warehouse.read() as warehouse:
        assert found == columns_of(warehouse, "marts", "orders")
    at = datetime(2026, 3, 1, 0, 0, 1, 234567, tzinfo=UTC)
    assert row == (Decimal("0.1429"), at)


@pytest.mark.parametrize(
    "value",
    [
        "time '10:11:12.000013'",
        "interval 3 days",
        "255::utinyint",
        "65535::usmallint",
        "4294967295::uinteger",
        "18446744073709551615::ubigint",
        "'1101'::bit",
        "timestamp_ns '2026-03-01 10:00:00.123456789'",
        "'a'::enum('a', 'b')",
        "'00000000-0000-4000-8000-000000000000'::uuid",
        "12345678901234567890::hugeint",
        "timestamp '2026-03-01 10:00:00.123456'",
        "[1, null]",
        "{'a': 1.5}",
        "'\\xff'::blob",
        "'nan'::double",
    ],
)
def test_a_value_of_any_type_counts_the_same_in_warehouse_and_lake(
    tmp_path: Path, value: str
) -> None:
    published = Published(tmp_path)
    published.make()
    with published.warehouse.write() as connection:
        connection.execute("drop table marts.summary")
        connection.execute(f"create table marts.odd as select date '2026-03-01' _date, {value} x")
    lake = published.lake
    lake.follow(published.warehouse, PIPELINE, ["odd"])
    with published.warehouse.read() as connection, lake.relations(connection, ["odd"]) as names:
        hashes = [
            content_hashes(connection, {"odd": relation}, DailyPartitions.column, DAYS[:1])
            for relation in ("marts.odd", names["odd"])
        ]
    assert hashes[0] == hashes[1]


def test_the_content_hash_of_the_lake_is_the_ledgers(published: Published) -> None:
    published.publish(*DAYS[2:4], orders=7, customer="it's; drop table")
    published.publish(DAYS[4], orders=0)
    published.follow()
    asked = DAYS[1:6]
    with (
        published.warehouse.read() as connection,
        published.lake.relations(connection, MARTS, asked) as names,
    ):
        ledger = connection.execute(
            "select partition_key, max_by(content_hash, publication) from ops.publications"
            " where partition_key in (select unnest(?)) group by 1",
            [asked],
        ).fetchall()
        assert content_hashes(connection, names, DailyPartitions.column, asked) == dict(ledger)
        # Only what was asked for is read.
        found = connection.execute(f"select distinct _date::varchar from {names['orders']}")
        assert {day for (day,) in found.fetchall()} <= set(asked)


def test_a_reader_with_an_older_version_is_not_disturbed(published: Published) -> None:
    table = published.lake.table("orders").rows()
    before = table.count_rows()
    published.publish(*DAYS, orders=50)
    published.follow()
    assert table.count_rows() == len(table.to_table()) == before
    assert published.lake.table("orders").rows().count_rows() == 500


def test_two_followers_at_once_leave_the_newest_day(published: Published) -> None:
    processes = [
        subprocess.Popen(
            [sys.executable, "-m", "tests.support.published", published.root, name, *DAYS[:4] * 3],
            cwd=PROJECT,
            stderr=subprocess.PIPE,
            text=True,
        )
        for name in ("one", "two")
    ]
    for process in processes:
        _, errors = process.communicate(timeout=120)
        assert process.returncode == 0, errors
    assert published.follow() == CURRENT
    assert_equal(published)


def test_whoever_waits_too_long_for_the_lake_is_told(published: Published) -> None:
    impatient = Warehouse(published.warehouse.path, lock_timeout=0.1)
    with (
        in_turn(published.lake.root, timeout=0),
        pytest.raises(TransientError, match="CUSTOMER_PIPELINE_LOCK_TIMEOUT"),
    ):
        published.lake.follow(impatient, PIPELINE, MARTS)


def test_a_broken_table_says_which_folder_to_delete(published: Published) -> None:
    folder = published.lake.root / "orders"
    for entry in (folder / "_delta_log").glob("*.json"):
        entry.write_text("{half an ent")
    published.publish(DAYS[0])
    with pytest.raises(StageError) as caught:
        published.follow()
    assert caught.value.where == str(folder)
    assert f"delete the folder {folder}" in caught.value.todo
    assert "\n" not in str(caught.value)
    # The other table is not held back.
    assert published.in_lake("summary") == published.in_warehouse("summary")
    shutil.rmtree(folder)
    assert published.follow() == {"orders": 10, "summary": None}
    assert_equal(published)


def test_a_first_write_that_was_killed_is_no_obstacle(published: Published) -> None:
    shutil.rmtree(published.lake.root / "orders" / "_delta_log")
    published.follow()
    assert_equal(published)


def test_a_folder_that_cannot_be_made_is_the_settings_mistake(published: Published) -> None:
    (published.root / "file").touch()
    lake = Lake(published.root / "file" / "lake", DailyPartitions.column)
    with pytest.raises(ConfigError, match="CUSTOMER_PIPELINE_DATA_DIR"):
        lake.follow(published.warehouse, PIPELINE, MARTS)


@pytest.mark.parametrize("name", ["[a]", "a%5Bb", "a^b", "a|b", "a\\b"])
def test_a_path_that_delta_cannot_take_is_refused_unless_a_link_leads_elsewhere(
    published: Published, name: str
) -> None:
    odd = published.root / name / "lake"
    with pytest.raises(ConfigError, match="symbolic link"):
        Lake(odd, DailyPartitions.column).follow(published.warehouse, PIPELINE, MARTS)
    shutil.rmtree(odd, ignore_errors=True)
    odd.parent.mkdir(exist_ok=True)
    odd.symlink_to(published.root / "lake")
    assert Lake(odd, DailyPartitions.column).follow(published.warehouse, PIPELINE, MARTS) == CURRENT


def test_a_table_that_is_not_there_says_what_to_do(published: Published) -> None:
    with pytest.raises(StageError, match="run a partition"):
        published.lake.table("no such mart").rows()
