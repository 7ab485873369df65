"""The one door to the warehouse: waiting for a held file, what is refused at once, and closing."""

from __future__ import annotations

import os
import subprocess
import sys
import threading
import time
from collections.abc import Callable, Iterator
from contextlib import AbstractContextManager, contextmanager
from pathlib import Path
from typing import Any

import duckdb
import pytest

from customer_pipeline.errors import ConfigError, TransientError
from customer_pipeline.warehouse.connection import Warehouse

HOLDER = """
import sys, time, duckdb
path, read_only, seconds = sys.argv[1], sys.argv[2] == "True", float(sys.argv[3])
connection = duckdb.connect(path, read_only=read_only)
print("held", flush=True)
time.sleep(seconds)
"""


@pytest.fixture
def warehouse(tmp_path: Path) -> Warehouse:
    """A warehouse with the table `t` of one row."""
    warehouse = Warehouse(tmp_path / "it's a [warehouse]" / "warehouse.duckdb", lock_timeout=20)
    with warehouse.write() as connection:
        connection.execute("create table t as select 1 as n")
    return warehouse


@contextmanager
def held(path: Path, *, seconds: float, read_only: bool = False) -> Iterator[int]:
    """Another process holds the file; gives its process id."""
    process = subprocess.Popen(
        [sys.executable, "-c", HOLDER, str(path), str(read_only), str(seconds)],
        stdout=subprocess.PIPE,
        text=True,
    )
    try:
        assert process.stdout is not None and process.stdout.readline() == "held\n"
        yield process.pid
    finally:
        process.kill()
        process.communicate()


@contextmanager
def attached(warehouse: Warehouse) -> Iterator[duckdb.DuckDBPyConnection]:
    with duckdb.connect() as connection, warehouse.attached_to(connection, "warehouse"):
        connection.execute("use warehouse")
        try:
            yield connection
        finally:
            connection.execute("use memory")


Door = Callable[[Warehouse], AbstractContextManager[duckdb.DuckDBPyConnection]]
DOORS = {"write": Warehouse.write, "read": Warehouse.read, "attached_to": attached}
doors = pytest.mark.parametrize("door", DOORS.values(), ids=DOORS.keys())


@doors
def test_it_waits_until_another_process_lets_go(warehouse: Warehouse, door: Door) -> None:
    with held(warehouse.path, seconds=1.5):
        begun = time.monotonic()
        with door(warehouse) as connection:
            assert connection.execute("select n from t").fetchall() == [(1,)]
        assert 1 < time.monotonic() - begun < 10


@doors
def test_it_gives_up_after_the_timeout_and_names_file_and_holder(
    warehouse: Warehouse, door: Door
) -> None:
    impatient = Warehouse(warehouse.path, lock_timeout=0.5)
    with held(warehouse.path, seconds=60) as holder:
        begun = time.monotonic()
        with pytest.raises(TransientError) as caught, door(impatient):
            pass
        assert 0.5 <= time.monotonic() - begun < 5
    message = str(caught.value)
    assert str(warehouse.path) in message
    assert f"(process {holder}) for more than 0.5 seconds" in message
    assert "python" in message
    assert "CUSTOMER_PIPELINE_LOCK_TIMEOUT" in message


def test_a_reader_elsewhere_keeps_the_writer_waiting(warehouse: Warehouse) -> None:
    with held(warehouse.path, seconds=1, read_only=True), warehouse.write() as connection:
        connection.execute("insert into t values (2)")


@pytest.mark.parametrize("door", [DOORS["read"], DOORS["attached_to"]], ids=["read", "attached_to"])
def test_readers_do_not_wait_for_readers(warehouse: Warehouse, door: Door) -> None:
    impatient = Warehouse(warehouse.path, lock_timeout=0)
    with held(warehouse.path, seconds=60, read_only=True), door(impatient) as connection:
        assert connection.execute("select n from t").fetchall() == [(1,)]


@doors
def test_a_path_that_is_no_duckdb_file_is_refused_at_once(tmp_path: Path, door: Door) -> None:
    path = tmp_path / "notes.txt"
    path.write_text("no database " * 2000)
    begun = time.monotonic()
    with pytest.raises(ConfigError) as caught, door(Warehouse(path, lock_timeout=60)):
        pass
    assert "cannot be opened as a DuckDB file" in caught.value.what
    assert time.monotonic() - begun < 5
    assert caught.value.where == str(path)
    assert "CUSTOMER_PIPELINE_WAREHOUSE" in caught.value.todo
    assert path.read_text().startswith("no database")


@pytest.mark.parametrize("door", [DOORS["read"], DOORS["attached_to"]], ids=["read", "attached_to"])
def test_reading_makes_no_file_and_says_what_to_run_first(tmp_path: Path, door: Door) -> None:
    warehouse = Warehouse(tmp_path / "none.duckdb", lock_timeout=60)
    with pytest.raises(ConfigError, match="there is no warehouse yet"), door(warehouse):
        pass
    assert not warehouse.exists


def test_a_folder_that_cannot_be_made_is_refused_at_once(tmp_path: Path) -> None:
    (tmp_path / "file").touch()
    warehouse = Warehouse(tmp_path / "file" / "warehouse.duckdb", lock_timeout=60)
    with pytest.raises(ConfigError, match="folder cannot be made"), warehouse.write():
        pass


@doors
def test_the_connection_is_closed_when_the_body_raises(warehouse: Warehouse, door: Door) -> None:
    with pytest.raises(ZeroDivisionError), door(warehouse):
        raise ZeroDivisionError
    # Another kind of opening, elsewhere: neither would be possible if the file was still held.
    with held(warehouse.path, seconds=0), warehouse.write() as connection:
        connection.execute("insert into t values (2)")


def test_a_transaction_left_open_is_rolled_back(warehouse: Warehouse) -> None:
    with warehouse.write() as connection:
        connection.execute("begin; delete from t")
    with warehouse.read() as connection:
        assert connection.execute("select n from t").fetchall() == [(1,)]


def test_readers_cannot_write(warehouse: Warehouse) -> None:
    with warehouse.read() as connection, pytest.raises(duckdb.Error, match="read-only"):
        connection.execute("insert into t values (2)")


@doors
@pytest.mark.timeout(60)
def test_opening_it_inside_of_itself_is_an_error_and_no_deadlock(
    warehouse: Warehouse, door: Door
) -> None:
    impatient = Warehouse(warehouse.path, lock_timeout=0.05)
    with (
        warehouse.write(),
        pytest.raises(TransientError, match=r"in use in this process.*more than 0\.05 seconds"),
        door(impatient),
    ):
        pass
    with door(impatient):
        pass


def test_threads_take_turns(warehouse: Warehouse) -> None:
    """DuckDB cannot hold a file read-only and read-write in one process."""
    errors: list[Exception] = []

    def work(door: Door) -> None:
        try:
            for _ in range(5):
                with door(warehouse) as connection:
                    connection.execute("select n from t").fetchall()
        except Exception as error:
            errors.append(error)

    threads = [threading.Thread(target=work, args=[door]) for door in [*DOORS.values()] * 2]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert errors == []


@pytest.mark.parametrize(
    ("setting", "value"), [("TimeZone", "UTC"), ("python_enable_replacements", False)]
)
def test_every_connection_is_prepared(
    warehouse: Warehouse, monkeypatch: pytest.MonkeyPatch, setting: str, value: Any
) -> None:
    monkeypatch.setenv("TZ", "Asia/Tokyo")
    time.tzset()
    try:
        for door in (warehouse.write, warehouse.read):
            with door() as connection:
                found = connection.execute(f"select current_setting('{setting}')").fetchone()
                assert found == (value,)
    finally:
        monkeypatch.undo()
        time.tzset()


def test_a_killed_holder_is_no_obstacle(warehouse: Warehouse) -> None:
    with held(warehouse.path, seconds=60) as holder:
        os.kill(holder, 9)
        with warehouse.write() as connection:
            connection.execute("insert into t values (2)")
