"""Compacting the warehouse: small again, nothing lost, whoever is killed and whoever writes."""

from __future__ import annotations

import os
import shutil
import signal
import subprocess
import sys
import threading
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import duckdb
import pytest
from filelock import FileLock

from customer_pipeline.errors import ConfigError, StageError, TransientError
from customer_pipeline.quoting import literal
from customer_pipeline.warehouse import compaction
from customer_pipeline.warehouse.compaction import compact
from customer_pipeline.warehouse.comparison import differences
from customer_pipeline.warehouse.connection import Warehouse
from customer_pipeline.warehouse.publications import warehouse_id
from customer_pipeline.warehouse.schema import ensure_ledger
from tests.conftest import PROJECT
from tests.support.faults import watched

CATALOG = """
create type mood as enum ('sad', 'glad');
create sequence numbers start 5;
create table raw.odd (
    id bigint not null,
    state varchar not null default 'it''s' check (state in ('it''s', 'other')),
    n bigint default nextval('numbers'),
    mood mood,
    twice bigint generated always as (id * 2),
    "a column" timestamptz default now(),
);
insert into raw.odd (id, mood) values (1, 'sad'), (2, 'glad');
create table raw.empty (n integer);
create index odd_ids on raw.odd (id);
create view marts.odd_ids as select id from warehouse.raw.odd;
create macro plus_one(x) as x + 1;
comment on table raw.odd is 'a comment';
comment on column raw.odd.id is 'another';
create table written (worker varchar, n bigint);
"""
WHO = [sys.executable, "-m", "tests.support.compacting"]


@pytest.fixture(scope="module")
def grown(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A ledger, one of everything that a catalog can hold, ten days of which one ran often, and room
    for a large table that is gone: how much room the runs alone leave is chance.
    """
    warehouse = Warehouse(tmp_path_factory.mktemp("grown") / "warehouse.duckdb", lock_timeout=30)
    with warehouse.write() as connection:
        ensure_ledger(connection)
        for statement in CATALOG.split(";\n"):
            connection.execute(statement)
        connection.execute(
            "create table raw.gone as select hash(n) as n from range(500000) as r(n)"
        )
    for day in range(10):
        load(warehouse, day)
    for turn in range(40):
        load(warehouse, 5, turn=turn)
    with warehouse.write() as connection:
        connection.execute("drop table raw.gone")
    return warehouse.path


@pytest.fixture(autouse=True)
def _without_grace(monkeypatch: pytest.MonkeyPatch) -> None:
    """It is for programs that are not ours; ours must do without."""
    monkeypatch.setattr(compaction, "_GRACE_SECONDS", 0)


@pytest.fixture
def warehouse(grown: Path, tmp_path: Path) -> Warehouse:
    """A warehouse of its own for each test, as `grown`."""
    path = tmp_path / "it's a [warehouse]" / "warehouse.duckdb"
    path.parent.mkdir()
    shutil.copy(grown, path)
    return Warehouse(path, lock_timeout=30)


def load(warehouse: Warehouse, day: int, *, turn: int = 0) -> None:
    with warehouse.write() as connection:
        connection.execute(
            "create table if not exists raw.orders"
            " (_date date, id varchar, description varchar, amount decimal(18, 4))"
        )
        connection.execute("begin")
        connection.execute("delete from raw.orders where _date = date '2026-03-01' + ?", [day])
        connection.execute(
            "insert into raw.orders select date '2026-03-01' + ?, 'O' || n,"
            " 'Thing ' || hash(n + ?), n / 7 from range(5000) as r(n)",
            [day, turn],
        )
        connection.execute("commit")


def copied(warehouse: Warehouse) -> Path:
    """The file as it is now, kept beside it."""
    copy = warehouse.path.with_name("before.duckdb")
    with warehouse.write() as connection:
        connection.execute("checkpoint")
    shutil.copy(warehouse.path, copy)
    return copy


def assert_same_content(warehouse: Warehouse, before: Path) -> None:
    with duckdb.connect() as connection, warehouse.attached_to(connection, "warehouse"):
        connection.execute(f"attach {literal(str(before))} as before (read_only)")
        assert list(differences(connection, "before", "warehouse")) == []


def leftovers(warehouse: Warehouse) -> set[str]:
    return {path.name for path in warehouse.path.parent.iterdir()} - {
        "before.duckdb",
        "warehouse.duckdb",
        "warehouse.duckdb.maintain.lock",
    }


def test_forty_runs_of_one_of_ten_days_leave_a_file_of_little_more_than_its_rows(
    warehouse: Warehouse, tmp_path: Path
) -> None:
    before = copied(warehouse)
    result = compact(warehouse)
    assert result.outcome == "compacted"
    assert result.after == warehouse.path.stat().st_size < result.before == before.stat().st_size
    with duckdb.connect() as connection, warehouse.attached_to(connection, "warehouse"):
        connection.execute(f"attach {literal(str(tmp_path / 'minimal'))} as minimal")
        connection.execute("copy from database warehouse to minimal")
    assert result.after < 1.2 * (tmp_path / "minimal").stat().st_size
    assert_same_content(warehouse, before)
    assert leftovers(warehouse) == set()


def test_the_warehouse_stays_the_same_warehouse_and_can_be_written(warehouse: Warehouse) -> None:
    with warehouse.read() as connection:
        identity = warehouse_id(connection)
    warehouse.path.chmod(0o640)
    compact(warehouse)
    with warehouse.write() as connection:
        assert warehouse_id(connection) == identity
        assert connection.execute("select max(n) from raw.odd").fetchone() == (6,)
        connection.execute("insert into raw.odd (id) values (3)")
        assert connection.execute(
            "select n, state, twice, plus_one(id) from raw.odd where id = 3"
        ).fetchall() == [(7, "it's", 6, 4)]
        assert connection.execute("select max(id) from marts.odd_ids").fetchone() == (3,)
        with pytest.raises(duckdb.ConstraintException):
            connection.execute("insert into raw.odd (id, state) values (3, 'third')")
    assert warehouse.path.stat().st_mode & 0o777 == 0o640


def test_a_file_with_nothing_to_gain_is_left_alone(warehouse: Warehouse) -> None:
    compact(warehouse)
    before = warehouse.path.stat()
    result = compact(warehouse)
    assert (result.outcome, result.before, result.after) == (
        "nothing to reclaim",
        before.st_size,
        before.st_size,
    )
    assert warehouse.path.stat().st_ino == before.st_ino


def test_a_link_to_the_file_stays_a_link(warehouse: Warehouse, tmp_path: Path) -> None:
    link = tmp_path / "link.duckdb"
    link.symlink_to(warehouse.path)
    before = copied(warehouse)
    assert compact(Warehouse(link, lock_timeout=30)).outcome == "compacted"
    assert link.is_symlink()
    assert_same_content(warehouse, before)
    assert_same_content(Warehouse(link, lock_timeout=30), before)


def test_a_relative_path_is_the_same_file(
    warehouse: Warehouse, monkeypatch: pytest.MonkeyPatch
) -> None:
    before = copied(warehouse)
    monkeypatch.chdir(warehouse.path.parent)
    assert compact(Warehouse(Path("warehouse.duckdb"), lock_timeout=30)).outcome == "compacted"
    assert_same_content(warehouse, before)


def test_what_a_killed_writer_had_committed_is_in_the_new_file(warehouse: Warehouse) -> None:
    commit_and_die(warehouse.path)
    assert warehouse.path.with_name("warehouse.duckdb.wal").exists()
    assert compact(warehouse, least_gain=0).outcome == "compacted"
    assert written(warehouse) == [("killed", 1)]


def test_a_writer_that_is_killed_just_before_the_file_is_held_loses_nothing(
    warehouse: Warehouse, monkeypatch: pytest.MonkeyPatch
) -> None:
    attached_to, turns = Warehouse.attached_to, []

    def after_a_killed_writer(self: Warehouse, *args: Any) -> Any:
        turns.append(self)
        if len(turns) == 1:
            commit_and_die(warehouse.path)
        return attached_to(self, *args)

    with monkeypatch.context() as patch:
        patch.setattr(Warehouse, "attached_to", after_a_killed_writer)
        assert compact(warehouse, least_gain=0).outcome == "compacted"
    assert len(turns) == 2
    assert written(warehouse) == [("killed", 1)]


def commit_and_die(path: Path) -> None:
    code = (
        "import duckdb, os, sys; connection = duckdb.connect(sys.argv[1]);"
        "connection.execute(\"insert into written values ('killed', 1)\"); os.kill(os.getpid(), 9)"
    )
    subprocess.run([sys.executable, "-c", code, path], timeout=60)


def written(warehouse: Warehouse) -> list[tuple[Any, ...]]:
    with warehouse.read() as connection:
        return connection.execute("from written order by all").fetchall()


POINTS = {
    "before the file is held": ("sql", "^attach .* \\(read_only\\)", 1),
    "before the copy is begun": ("sql", "^attach .*compacted", 1),
    "before the rows are copied": ("sql", "^copy", 1),
    "before the copy is closed": ("sql", "^detach", 1),
    "before the copy is compared": ("sql", "duckdb_schemas", 1),
    "before the copy is synced": ("call", "customer_pipeline.warehouse.compaction:sync", 1),
    "before the new file takes the name": ("call", "os:replace", 1),
    "just after it": ("call", "customer_pipeline.warehouse.compaction:sync", 2),
    "before the old file is let go": ("call", "time:sleep", 1),
}


@pytest.mark.slow
@pytest.mark.parametrize(("kind", "point", "turn"), POINTS.values(), ids=POINTS.keys())
def test_whoever_is_killed_leaves_a_whole_file_and_the_next_clears_up(
    warehouse: Warehouse, kind: str, point: str, turn: int
) -> None:
    before = copied(warehouse)
    killed = subprocess.run(
        [*WHO, "die", warehouse.path, kind, point, str(turn)],
        cwd=PROJECT,
        capture_output=True,
        timeout=60,
    )
    assert killed.returncode == -signal.SIGKILL, killed.stderr.decode()
    assert_same_content(warehouse, before)
    compact(warehouse)
    assert leftovers(warehouse) == set()
    assert_same_content(warehouse, before)


@pytest.mark.slow
def test_whoever_is_killed_in_the_middle_of_copying_leaves_the_old_file(
    warehouse: Warehouse,
) -> None:
    with warehouse.write() as connection:
        connection.execute(
            "create table raw.big as select n, hash(n)::varchar as h from range(3_000_000) r(n)"
        )
    before = copied(warehouse)
    copy = warehouse.path.with_name("warehouse.duckdb.compacting")
    process = subprocess.Popen([*WHO, "die", warehouse.path, "sql", "never", "0"], cwd=PROJECT)
    while not (copy.exists() and copy.stat().st_size > 1_000_000):
        assert process.poll() is None
        time.sleep(0.001)
    process.kill()
    process.wait()
    assert copy.exists()
    assert_same_content(warehouse, before)
    compact(warehouse)
    assert leftovers(warehouse) == set()
    assert_same_content(warehouse, before)


@pytest.mark.slow
def test_writers_and_readers_lose_nothing_while_the_file_is_compacted(
    warehouse: Warehouse,
) -> None:
    writers = [
        subprocess.Popen([*WHO, "write", warehouse.path, name, "15"], cwd=PROJECT, text=True)
        for name in ("one", "two")
    ]
    reader = subprocess.Popen(
        [*WHO, "read", warehouse.path], cwd=PROJECT, stdout=subprocess.PIPE, text=True
    )
    try:
        times = 0
        while any(writer.poll() is None for writer in writers):
            compact(warehouse, least_gain=0)
            times += 1
    finally:
        reader.kill()
    assert [writer.returncode for writer in writers] == [0, 0]
    assert times > 1
    assert written(warehouse) == [(name, n) for name in ("one", "two") for n in range(15)]
    seen = [int(line) for line in reader.communicate()[0].splitlines()]
    # How often it got a turn is the machine's affair.
    assert seen
    assert seen == sorted(seen)


def test_a_writer_that_opened_the_old_file_too_early_writes_to_the_new_one(
    warehouse: Warehouse, monkeypatch: pytest.MonkeyPatch
) -> None:
    """As if it had been stopped between opening the file and locking it."""
    connect, turns = duckdb.connect, []

    def slow(path: str, **options: Any) -> duckdb.DuckDBPyConnection:
        connection = connect(path, **options)
        turns.append(path)
        if len(turns) == 1:
            new = warehouse.path.with_name("new")
            shutil.copy(warehouse.path, new)
            os.replace(new, warehouse.path)
        return connection

    with monkeypatch.context() as patch:
        patch.setattr(duckdb, "connect", slow)
        with warehouse.write() as connection:
            connection.execute("insert into written values ('late', 1)")
    assert len(turns) == 2
    assert written(warehouse) == [("late", 1)]


def test_two_compactions_do_not_work_at_once(warehouse: Warehouse) -> None:
    """Both would only read the old file, and the second undo what was written after the first."""
    with (
        FileLock(warehouse.path.with_name("warehouse.duckdb.maintain.lock")),
        pytest.raises(TransientError, match="already being compacted"),
    ):
        compact(warehouse)


def test_threads_of_this_process_wait(warehouse: Warehouse) -> None:
    errors: list[Exception] = []

    def work() -> None:
        try:
            for n in range(20):
                with warehouse.write() as connection:
                    connection.execute("insert into written values ('thread', ?)", [n])
        except Exception as error:
            errors.append(error)

    thread = threading.Thread(target=work)
    thread.start()
    compact(warehouse, least_gain=0)
    thread.join()
    assert errors == []
    assert len(written(warehouse)) == 20


@pytest.mark.parametrize(
    "damage",
    ["drop view broken.marts.odd_ids", "delete from broken.raw.odd where id = 1"],
    ids=["a view", "a row"],
)
def test_a_copy_that_is_not_whole_never_takes_the_name(
    warehouse: Warehouse, monkeypatch: pytest.MonkeyPatch, damage: str
) -> None:
    before = copied(warehouse)

    def damaged(connection: duckdb.DuckDBPyConnection, old: str, new: str) -> Iterator[str]:
        copy = literal(str(warehouse.path.with_name("warehouse.duckdb.compacting")))
        connection.execute(f'detach "{new}"')
        connection.execute(f"attach {copy} as broken")
        connection.execute(damage)
        connection.execute("detach broken")
        connection.execute(f'attach {copy} as "{new}" (read_only)')
        return differences(connection, old, new)

    inode = warehouse.path.stat().st_ino
    with monkeypatch.context() as patch:
        patch.setattr(compaction, "differences", damaged)
        with pytest.raises(StageError, match="is unchanged: the copy differs in (columns|raw.odd)"):
            compact(warehouse)
    assert warehouse.path.stat().st_ino == inode
    assert leftovers(warehouse) == set()
    assert_same_content(warehouse, before)


def test_a_file_that_somebody_put_in_its_place_meanwhile_is_not_replaced(
    warehouse: Warehouse, monkeypatch: pytest.MonkeyPatch
) -> None:
    def restored(*_: Any) -> Iterator[str]:
        other = warehouse.path.with_name("other")
        with duckdb.connect(str(other)) as connection:
            connection.execute("create table put_back (n integer)")
        os.replace(other, warehouse.path)
        return iter(())

    with monkeypatch.context() as patch:
        patch.setattr(compaction, "differences", restored)
        with pytest.raises(StageError, match="another file was put in its place"):
            compact(warehouse)
    with warehouse.read() as connection:
        assert connection.execute("from put_back").fetchall() == []


def test_a_copy_that_cannot_be_made_leaves_the_warehouse_and_says_so(
    warehouse: Warehouse,
) -> None:
    before = copied(warehouse)

    def full(sql: str) -> str:
        return "select error('the disk is full')" if sql.startswith("copy") else sql

    with watched(full), pytest.raises(StageError, match=r"the disk is full.* room for a second"):
        compact(warehouse)
    assert leftovers(warehouse) == set()
    assert_same_content(warehouse, before)


def test_no_warehouse_is_made(tmp_path: Path) -> None:
    with pytest.raises(ConfigError, match="there is no warehouse yet"):
        compact(Warehouse(tmp_path / "none.duckdb", lock_timeout=1))
    assert list(tmp_path.iterdir()) == []


def test_a_file_with_a_second_name_is_refused(warehouse: Warehouse) -> None:
    warehouse.path.with_name("second").hardlink_to(warehouse.path)
    with pytest.raises(ConfigError, match="a hard link"):
        compact(warehouse)
