"""Databases that stay open between the stages of a run: for tests of very many runs.

DuckDB takes ten milliseconds to open a database, and as long to close one that has changed; a run
opens two dozen. And its threads look out for work so eagerly that they take a third of the time that
there is. That every stage lets go of what it opened is seen to by the tests of single runs.
"""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from functools import cache, partial
from pathlib import Path
from typing import Any
from unittest.mock import patch

import duckdb

_CONFIG: dict[str, Any] = {"threads": 1}


@cache
def _memory() -> duckdb.DuckDBPyConnection:
    return duckdb.connect(config=_CONFIG)


@contextmanager
def kept_open() -> Iterator[None]:
    """Databases that are opened meanwhile stay open: candidates until the end, another file until
    the next file is opened, and one in memory serves all who ask for one. None has threads."""
    memory = _memory()
    connect = partial(duckdb.connect, config=_CONFIG)
    candidates: dict[str, duckdb.DuckDBPyConnection] = {}
    other: dict[str, duckdb.DuckDBPyConnection] = {}

    def keeping(database: str = ":memory:", **options: Any) -> duckdb.DuckDBPyConnection:
        if database == ":memory:":
            return memory.cursor()
        for path in other.keys() - {database}:
            other.pop(path).close()
        if options.get("read_only") and database in other:
            other.pop(database).close()
        connection = connect(database, **options)
        kept = candidates if Path(database).name == "candidate.duckdb" else other
        if database not in kept and not options.get("read_only"):
            # A connection and no cursor: cursors end with the connection that they came from.
            kept[database] = connect(database, **options)
        return connection

    try:
        with patch.object(duckdb, "connect", keeping):
            yield
    finally:
        for connection in [*candidates.values(), *other.values()]:
            connection.close()
