"""Looking after the lake: small again, no row changed, nobody disturbed."""

from __future__ import annotations

import os
import time
from datetime import date
from pathlib import Path

import pyarrow as pa
import pytest
from deltalake import DeltaTable, write_deltalake

from customer_pipeline.errors import StageError
from customer_pipeline.lake.maintenance import tables, tend
from tests.support.published import MARTS, Published

DAYS = ["2026-03-01", "2026-03-02", "2026-03-03"]
LONG_AGO = time.time() - 30 * 24 * 3600


@pytest.fixture
def published(tmp_path: Path) -> Published:
    """Three days, of which one was published ten times."""
    published = Published(tmp_path)
    published.make()
    published.publish(*DAYS)
    published.follow()
    for turn in range(9):
        published.publish(DAYS[1], customer=f"turn {turn}")
        published.follow()
    return published


def data_files(folder: Path) -> set[Path]:
    return set(folder.rglob("_date=*/*.parquet"))


def test_replaced_files_are_removed_and_the_rows_are_the_same(published: Published) -> None:
    folder = published.lake.root / "orders"
    rows = published.in_lake("orders")
    assert len(data_files(folder)) == 12
    assert tend(folder, keep_days=0)
    assert len(data_files(folder)) == 3
    assert published.in_lake("orders") == rows == published.in_warehouse("orders")


def test_what_a_younger_version_needs_is_kept(published: Published) -> None:
    """However old a file is: what counts is since when it is replaced."""
    folder = published.lake.root / "orders"
    for path in data_files(folder):
        os.utime(path, (LONG_AGO, LONG_AGO))
    older = DeltaTable(str(folder), version=3)
    rows = older.to_pyarrow_table()
    for _ in range(2):
        tend(folder, keep_days=7)
    assert len(data_files(folder)) == 12
    assert DeltaTable(str(folder), version=3).to_pyarrow_table() == rows
    assert older.to_pyarrow_table() == rows


def test_files_of_a_killed_run_are_removed_when_they_are_old(published: Published) -> None:
    folder = published.lake.root / "orders"
    before = data_files(folder)
    old, young = (folder / f"_date={DAYS[0]}" / f"{name}.parquet" for name in ("old", "young"))
    for path in (old, young):
        path.write_bytes(b"half a file")
    os.utime(old, (LONG_AGO, LONG_AGO))
    tend(folder, keep_days=7)
    assert data_files(folder) == {*before, young}


def test_the_log_becomes_short_and_the_lake_still_knows_how_far_it_is(
    published: Published,
) -> None:
    log = published.lake.root / "orders" / "_delta_log"
    assert len(list(log.glob("*.json"))) == 10
    for folder in tables(published.lake.root):
        tend(folder, keep_days=0)
    assert len(list(log.glob("*.json"))) <= 2
    assert published.follow() == dict.fromkeys(MARTS)
    published.publish(DAYS[0], customer="Grace")
    assert published.follow() == dict.fromkeys(MARTS, 1)
    assert published.in_lake("orders") == published.in_warehouse("orders")


def test_small_files_of_a_day_are_merged(published: Published) -> None:
    folder = published.lake.root / "orders"
    day = DeltaTable(str(folder)).to_pyarrow_table(filters=[("_date", "=", date(2026, 3, 1))])
    write_deltalake(str(folder), day, mode="append")
    table = DeltaTable(str(folder))
    assert len(table.file_uris()) == 4
    rows = sorted(map(repr, table.to_pyarrow_table().to_pylist()))
    tend(folder, keep_days=7)
    table = DeltaTable(str(folder))
    assert len(table.file_uris()) == 3
    assert sorted(map(repr, table.to_pyarrow_table().to_pylist())) == rows


def test_a_tidy_table_is_not_touched(published: Published) -> None:
    folder = published.lake.root / "orders"
    tend(folder, keep_days=7)
    before = {path: path.stat() for path in folder.rglob("*")}
    assert not tend(folder, keep_days=7)
    assert {path: path.stat() for path in folder.rglob("*")} == before


def test_it_finds_every_table_and_nothing_else(published: Published) -> None:
    root = published.lake.root
    (root / "notes").mkdir()
    write_deltalake(str(root / "gone_from_the_models"), pa.table({"n": [1]}))
    assert [folder.name for folder in tables(root)] == ["gone_from_the_models", "orders", "summary"]
    assert tables(root / "nowhere") == []


def test_a_broken_table_says_what_to_do(published: Published) -> None:
    folder = published.lake.root / "orders"
    for entry in (folder / "_delta_log").glob("*.json"):
        entry.write_text("{half an ent")
    with pytest.raises(StageError, match="delete the folder"):
        tend(folder, keep_days=7)
