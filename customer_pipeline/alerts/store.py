"""The file in which alerts are kept: `<data dir>/alerts.db`, a SQLite file of its own.

It is apart from the warehouse, since an alert must be written while a run holds that, and most of all
when it is broken. Several processes write at once; each takes its turn.

What belongs here: opening the file, and its tables. What does not: what is in them (`outbox.py`,
`incidents.py`, `mutes.py`).
"""

from __future__ import annotations

import sqlite3
from collections.abc import Iterator
from contextlib import closing, contextmanager
from dataclasses import dataclass
from datetime import UTC, datetime
from pathlib import Path

from filelock import FileLock

from customer_pipeline.errors import ConfigError

# Seconds that a process waits for its turn.
_TURN = 20

_TABLES = """
-- What there is to tell. An identity is told once.
create table if not exists alerts (
    id integer primary key,
    identity text not null unique,
    severity text not null,
    message text not null,
    noted_at real not null,
    routed integer not null default 0
);

-- Who is told of it, and whether they were.
create table if not exists deliveries (
    alert_id integer not null references alerts (id) on delete cascade,
    channel text not null,
    label text not null,
    attempts integer not null default 0,
    next_try real not null,
    told_at real,
    answer text not null default '',
    primary key (alert_id, channel)
);

-- What is wrong at the moment, and since when. What is not told was so before anybody looked.
create table if not exists incidents (
    condition text primary key,
    kind text not null,
    scope text not null,
    shown text not null,
    rank integer not null,
    since real not null,
    reminded_at real not null,
    severity text not null,
    owners text not null,
    told integer not null
);

create table if not exists mutes (
    subject text primary key,
    until real not null,
    reason text not null,
    muted_by text not null,
    muted_at real not null
);

create table if not exists notes (name text primary key, value text not null);
"""


@dataclass(frozen=True)
class Store:
    """The file `path`."""

    path: Path

    @property
    def exists(self) -> bool:
        return self.path.exists()

    @contextmanager
    def transaction(self) -> Iterator[sqlite3.Connection]:
        """A connection whose changes are all kept at the end of the block, or, when it raises, none.

        Raises:
            ConfigError: the file cannot be opened, or is no such file.
        """
        try:
            self.path.parent.mkdir(parents=True, exist_ok=True)
            with closing(sqlite3.connect(self.path, timeout=_TURN, isolation_level=None)) as opened:
                opened.row_factory = sqlite3.Row
                opened.execute("pragma foreign_keys = on")
                self._ensure_tables(opened)
                opened.execute("begin immediate")
                try:
                    yield opened
                except BaseException:
                    opened.execute("rollback")
                    raise
                opened.execute("commit")
        except (sqlite3.DatabaseError, OSError) as error:
            raise ConfigError(
                f"the alerts file cannot be used: {error}",
                where=str(self.path),
                todo="check CUSTOMER_PIPELINE_DATA_DIR; you may delete the file: what was sent is"
                " then forgotten, and earlier failures are not reported again",
            ) from error

    def _ensure_tables(self, connection: sqlite3.Connection) -> None:
        if connection.execute("select 1 from sqlite_master where name = 'notes'").fetchone():
            return
        # One at a time: SQLite does not wait for its turn to change how a file is kept.
        with FileLock(f"{self.path}.lock", timeout=_TURN):
            connection.execute("pragma journal_mode = wal")
            connection.executescript(_TABLES)


def note_of(connection: sqlite3.Connection, name: str) -> str | None:
    """A small thing that a watcher has to remember, such as how far it has looked."""
    row = connection.execute("select value from notes where name = ?", [name]).fetchone()
    return row["value"] if row else None


def set_note(connection: sqlite3.Connection, name: str, value: str) -> None:
    connection.execute("insert or replace into notes values (?, ?)", [name, value])


def watching_since(connection: sqlite3.Connection, now: datetime) -> datetime:
    """When somebody looked first. What failed before that is not told."""
    found = note_of(connection, "watching_since")
    if found is None:
        set_note(connection, "watching_since", str(now.timestamp()))
        return now
    return datetime.fromtimestamp(float(found), UTC)
