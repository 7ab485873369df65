"""The warehouse's file: readable, held by whom, with a ledger, and how much of it is empty."""

from __future__ import annotations

import subprocess
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import duckdb
import pytest

from customer_pipeline.health.finding import Finding
from customer_pipeline.health.warehouse import look_at_warehouse
from customer_pipeline.warehouse.connection import Warehouse
from customer_pipeline.warehouse.holders import holders_of
from customer_pipeline.warehouse.schema import ensure_ledger

_HOLD = """
import sys, duckdb
held = duckdb.connect(sys.argv[1], read_only=sys.argv[2] == "reading")
print("held", flush=True)
sys.stdin.read()
"""
only_linux = pytest.mark.skipif(sys.platform != "linux", reason="only Linux tells who holds a file")


@pytest.fixture
def warehouse(tmp_path: Path) -> Warehouse:
    warehouse = Warehouse(tmp_path / "warehouse.duckdb", lock_timeout=0.2)
    with warehouse.write() as connection:
        ensure_ledger(connection)
    return warehouse


def _look(warehouse: Warehouse) -> dict[str, Finding]:
    return {one.name: one for one in look_at_warehouse(warehouse)}


@contextmanager
def _held_for(what: str, path: Path) -> Iterator[int]:
    """Another process holds the file meanwhile; gives its number."""
    holder = subprocess.Popen(
        [sys.executable, "-c", _HOLD, str(path), what],
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        text=True,
    )
    try:
        assert holder.stdout is not None
        assert holder.stdout.readline() == "held\n"
        yield holder.pid
    finally:
        holder.communicate()


def test_a_sound_warehouse_is_fine(warehouse: Warehouse) -> None:
    found = _look(warehouse)
    assert list(found) == ["file", "ledger", "size"]
    assert {one.level for one in found.values()} == {"ok"}


def test_none_yet_is_fine_and_none_is_made(tmp_path: Path) -> None:
    found = _look(Warehouse(tmp_path / "none.duckdb", lock_timeout=0))
    assert [one.level for one in found.values()] == ["ok"]
    assert list(tmp_path.iterdir()) == []


@only_linux
def test_a_program_that_only_reads_is_named_since_runs_wait_for_it(warehouse: Warehouse) -> None:
    with _held_for("reading", warehouse.path) as process:
        found = _look(warehouse)
        assert [one.process for one in holders_of(warehouse.path)] == [process]
    assert found["held"].level == "warning"
    assert f"(process {process}) for reading" in found["held"].words
    assert found["file"].level == "ok"
    assert holders_of(warehouse.path) == []


def test_a_program_that_writes_is_named_and_nothing_else_is_claimed(warehouse: Warehouse) -> None:
    with _held_for("writing", warehouse.path) as process:
        found = _look(warehouse)
    assert found["file"].level == "warning"
    assert f"(process {process})" in found["file"].words
    assert "ledger" not in found


def test_what_is_no_duckdb_file_is_a_problem(tmp_path: Path) -> None:
    (tmp_path / "warehouse.duckdb").write_text(
        "not a database, but long enough to look like one\n" * 999
    )
    found = _look(Warehouse(tmp_path / "warehouse.duckdb", lock_timeout=0))
    assert [(one.name, one.level) for one in found.values()] == [("file", "problem")]
    assert "CUSTOMER_PIPELINE_WAREHOUSE" in found["file"].todo


def test_a_file_without_a_ledger_and_one_with_an_older_one_are_told_apart(
    warehouse: Warehouse,
) -> None:
    with duckdb.connect(str(warehouse.path)) as connection:
        connection.execute("drop table ops.followers")
    older = _look(warehouse)["ledger"]
    with duckdb.connect(str(warehouse.path)) as connection:
        connection.execute("drop schema ops cascade")
    none = _look(warehouse)["ledger"]
    assert (older.level, none.level) == ("warning", "warning")
    assert "older version" in older.words
    assert "this file has none" in none.words


def test_room_that_maintain_would_give_back_is_told(warehouse: Warehouse) -> None:
    with duckdb.connect(str(warehouse.path)) as connection:
        connection.execute("create table big as select uuid()::varchar as a from range(1500000)")
        # What comes after it in the file keeps DuckDB from cutting the file off.
        connection.execute("create table small as from range(100000)")
        connection.execute("checkpoint")
        connection.execute("drop table big")
        connection.execute("checkpoint")
    found = _look(warehouse)["size"]
    assert (found.level, found.todo) == ("warning", "run `customer-pipeline maintain`")
