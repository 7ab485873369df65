"""Faults at a chosen statement: what is left when the database or the process stops just there.

What does not belong here: which faults, and what must be left (the tests).
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import Any
from unittest.mock import patch

import duckdb

# Takes a statement, and gives the one that is executed instead.
Watch = Callable[[str], str]


class InjectedError(Exception):
    """The fault that a test wanted."""


class _Watched:
    """A DuckDB connection that shows each statement to `watch` before it is executed."""

    def __init__(self, connection: duckdb.DuckDBPyConnection, watch: Watch) -> None:
        self._connection, self._watch = connection, watch

    def execute(self, statement: str, *args: Any, **kwargs: Any) -> duckdb.DuckDBPyConnection:
        return self._connection.execute(self._watch(statement), *args, **kwargs)

    def cursor(self) -> _Watched:
        return _Watched(self._connection.cursor(), self._watch)

    def __enter__(self) -> _Watched:
        return self

    def __exit__(self, *_: object) -> None:
        self._connection.close()

    def __getattr__(self, name: str) -> Any:
        return getattr(self._connection, name)


@contextmanager
def watched(watch: Watch) -> Iterator[None]:
    """All connections that are opened meanwhile are watched."""
    connect = duckdb.connect
    with patch.object(duckdb, "connect", lambda *a, **k: _Watched(connect(*a, **k), watch)):
        yield


def fail_before(pattern: str) -> Watch:
    """Raises instead of executing a statement that `pattern` matches."""

    def watch(statement: str) -> str:
        if re.search(pattern, statement):
            raise InjectedError(statement)
        return statement

    return watch


class Fault:
    """Raises instead of executing the `turn`th statement that `pattern` matches, unless there are
    fewer."""

    def __init__(self, pattern: str, turn: int) -> None:
        self._pattern, self._left = pattern, turn

    @property
    def has_come(self) -> bool:
        return self._left <= 0

    def __call__(self, statement: str) -> str:
        if re.search(self._pattern, statement):
            self._left -= 1
            if self._left == 0:
                raise InjectedError(statement)
        return statement


def fail_inside_insert(table: str, *, after_rows: int) -> Watch:
    """The database raises when that many rows of an insert into `table` are through."""

    def watch(statement: str) -> str:
        insert, select, query = statement.partition(" select ")
        if not insert.startswith(f"insert into {table}"):
            return statement
        return (
            f"{insert} select * exclude (_n) from (select *, row_number() over () as _n from"
            f" ({select} {query})) where if(_n > {after_rows}, error('the disk is full'), true)"
        )

    return watch
