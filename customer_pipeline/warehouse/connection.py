"""The one door to the DuckDB file: open, wait for a lock, close.

Runs take turns by the file's own lock, and not by a Dagster pool: a process that is killed lets go
of the lock at once, while its slot in a pool stays taken until a daemon frees it, and every later
run from the command line would wait for that in vain.

What belongs here: everything that knows that DuckDB takes one writer, or several readers, at a
time. What does not: tables. Another catalog (DuckLake on Postgres, say) would be plugged in here.
"""

from __future__ import annotations

import re
import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import duckdb
from tenacity import RetryError, Retrying, retry_if_exception, stop_after_delay, wait_random

from customer_pipeline.errors import ConfigError, TransientError
from customer_pipeline.quoting import literal, quoted

# DuckDB cannot hold one file read-only and read-write in one process, so the threads of a process
# take turns too.
_TURN = threading.Lock()

_LOCKED = re.compile(r"Could not set lock on file")
_HOLDER = re.compile(r"Conflicting lock is held in (?P<program>.+?) \(PID (?P<pid>\d+)\)")


@dataclass(frozen=True)
class Warehouse:
    """The warehouse file, and for how many seconds to wait while somebody else holds it."""

    path: Path
    lock_timeout: float

    @property
    def exists(self) -> bool:
        return self.path.exists()

    def must_exist(self, *, todo: str = "run a partition first") -> None:
        """Raises ConfigError, with what is to be done, when there is no file."""
        if not self.exists:
            raise ConfigError("there is no warehouse yet", where=str(self.path), todo=todo)

    @contextmanager
    def write(self) -> Iterator[duckdb.DuckDBPyConnection]:
        """A read-write connection, closed at the end whatever happens. Creates the file.

        Raises:
            TransientError: when the file is still held after `lock_timeout` seconds.
            ConfigError: when the path is not a DuckDB file, or cannot be one.
        """
        self._check_folder()
        with self._connection(read_only=False) as connection:
            yield connection

    @contextmanager
    def read(self) -> Iterator[duckdb.DuckDBPyConnection]:
        """A read-only connection; the same errors as `write`, and ConfigError without a file."""
        self.must_exist()
        with self._connection(read_only=True) as connection:
            yield connection

    @contextmanager
    def attached_to(self, connection: duckdb.DuckDBPyConnection, alias: str) -> Iterator[None]:
        """The warehouse, read-only, as the database `alias` of another connection.

        Raises the same errors as `read`.
        """
        self.must_exist(todo="run the load first")
        attach = f"attach {literal(str(self.path))} as {quoted(alias)} (read_only)"
        with self._turn():
            self._wait(connection.execute, attach)
            try:
                yield
            finally:
                connection.execute(f"detach {quoted(alias)}")

    @contextmanager
    def _turn(self) -> Iterator[None]:
        """Wait for this process's other connections. One that is opened inside of another, in the same
        thread, waits in vain."""
        if not _TURN.acquire(timeout=self.lock_timeout):
            raise TransientError(
                "the warehouse was in use in this process, by another thread or further out in this"
                f" one, for more than {self.lock_timeout:g} seconds",
                where=str(self.path),
                todo="try again, or raise CUSTOMER_PIPELINE_LOCK_TIMEOUT; code that opens the"
                " warehouse while it has it open must pass the connection on instead",
            )
        try:
            yield
        finally:
            _TURN.release()

    @contextmanager
    def _connection(self, *, read_only: bool) -> Iterator[duckdb.DuckDBPyConnection]:
        with self._turn():
            connection = self._wait(self._open, read_only=read_only)
            try:
                prepare(connection)
                yield connection
            finally:
                connection.close()

    def _open(self, *, read_only: bool) -> duckdb.DuckDBPyConnection:
        # A compaction may give the path to a new file between opening the old one and locking it;
        # what was written to the old one would be lost.
        while True:
            named = file_identity(self.path)
            connection = duckdb.connect(str(self.path), read_only=read_only)
            if named in (None, file_identity(self.path)):
                return connection
            connection.close()

    def _wait(
        self, attempt: Callable[..., duckdb.DuckDBPyConnection], *args: Any, **kwargs: Any
    ) -> duckdb.DuckDBPyConnection:
        # Random pauses, so that several waiting runs do not knock in step for ever.
        attempts = Retrying(
            retry=retry_if_exception(is_lock_error),
            wait=wait_random(0.02, 0.25),
            stop=stop_after_delay(self.lock_timeout),
        )
        try:
            return attempts(attempt, *args, **kwargs)
        except RetryError as error:
            raise self._still_held(error.last_attempt.exception()) from None
        except (duckdb.Error, OSError) as error:
            raise ConfigError(
                f"cannot be opened as a DuckDB file: {error}",
                where=str(self.path),
                todo="check CUSTOMER_PIPELINE_WAREHOUSE and CUSTOMER_PIPELINE_DATA_DIR",
            ) from error

    def _still_held(self, error: BaseException | None) -> TransientError:
        holder = _HOLDER.search(str(error))
        who = f" by {holder['program']} (process {holder['pid']})" if holder else ""
        return TransientError(
            f"the warehouse was held{who} for more than {self.lock_timeout:g} seconds",
            where=str(self.path),
            todo="close the other program, or raise CUSTOMER_PIPELINE_LOCK_TIMEOUT; "
            "also a program that only reads holds the file",
        )

    def _check_folder(self) -> None:
        try:
            self.path.parent.mkdir(parents=True, exist_ok=True)
        except OSError as error:
            raise ConfigError(
                f"the warehouse's folder cannot be made: {error.strerror}",
                where=str(self.path.parent),
                todo="check CUSTOMER_PIPELINE_WAREHOUSE and CUSTOMER_PIPELINE_DATA_DIR",
            ) from error


def prepare(connection: duckdb.DuckDBPyConnection) -> None:
    """What every connection of the pipeline has in common."""
    # Instants are compared in UTC anyway; their texts (in hashes and messages) are too.
    connection.execute("set TimeZone = 'UTC'")
    # A name in SQL is a table, never a Python variable that happens to be called the same.
    connection.execute("set python_enable_replacements = false")


def file_identity(path: Path) -> tuple[int, int] | None:
    """Which file a path names now, whatever others were called so before; None without one."""
    try:
        found = path.stat()
    except FileNotFoundError:
        return None
    return found.st_dev, found.st_ino


def is_lock_error(error: BaseException) -> bool:
    """Whether DuckDB refused because another process holds the file."""
    return isinstance(error, duckdb.IOException) and bool(_LOCKED.search(str(error)))
