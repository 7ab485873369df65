"""Compacting the warehouse: DuckDB's file keeps the room of replaced rows and never gives it back.

The file is held for reading, which keeps writers out, copied into one beside it, and the copy takes
its name. Whoever is killed at any moment leaves the old file or the new one, each whole; whoever
waits for the file finds the new one.

What belongs here: the copy, that it is complete, and the swap. What does not: when to do it
(`cli/maintain.py`).
"""

from __future__ import annotations

import os
import shutil
import time
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Literal

import duckdb
from filelock import FileLock, Timeout

from customer_pipeline.disk import sync
from customer_pipeline.errors import ConfigError, StageError, TransientError
from customer_pipeline.quoting import literal, quoted
from customer_pipeline.warehouse.comparison import differences
from customer_pipeline.warehouse.connection import Warehouse, file_identity, prepare

# Holding the old file on for this long refuses a program that had opened it, and not yet locked it,
# when the new one took its name. Ours look again anyway (see `Warehouse`).
_GRACE_SECONDS = 1.0
_TRIES = 5
# What DuckDB keeps beside a file: the commits that are not in it yet.
_LOGS = (".wal", ".wal.checkpoint", ".wal.recovery")


@dataclass(frozen=True)
class Compaction:
    """What became of the file: its size in bytes before and after."""

    outcome: Literal["compacted", "nothing to gain"]
    before: int
    after: int


def compact(warehouse: Warehouse, *, least_gain: float = 0.1) -> Compaction:
    """Give the room of replaced rows back to the disk, while runs go on.

    Args:
        least_gain: the share of free blocks below which the file is left as it is.

    Raises:
        TransientError: somebody holds the warehouse, or compacts it already.
        StageError: the copy could not be made, or is not equal; the warehouse is as it was.
        ConfigError: there is no warehouse, or it has a second name.
    """
    target = warehouse.path.resolve()
    _check(warehouse, target)
    beside = target.with_name(f"{target.name}.compacting")
    try:
        with _alone(target):
            _clear(beside)
            try:
                return _compact(warehouse, target, beside, least_gain)
            finally:
                _clear(beside)
    except (duckdb.Error, OSError) as error:
        raise _left_as_it_was(str(error), target) from error


def _compact(warehouse: Warehouse, target: Path, beside: Path, least_gain: float) -> Compaction:
    with duckdb.connect(config={"temp_directory": f"{beside}.tmp"}) as connection:
        prepare(connection)
        # A view may name its database, which is called after the file.
        old, new = target.stem, f"{target.stem} compacted"
        with _held_without_wal(warehouse, target, connection, old) as identity:
            before = target.stat().st_size
            if _free_share(connection, old) < least_gain:
                return Compaction("nothing to gain", before, before)
            connection.execute(f"attach {literal(str(beside))} as {quoted(new)}")
            connection.execute(f"copy from database {quoted(old)} to {quoted(new)}")
            connection.execute(f"detach {quoted(new)}")
            # What was written is read back, from the file.
            connection.execute(f"attach {literal(str(beside))} as {quoted(new)} (read_only)")
            if difference := next(differences(connection, old, new), None):
                raise _left_as_it_was(f"the copy differs in {difference}", target)
            connection.execute(f"detach {quoted(new)}")
            shutil.copymode(target, beside)
            sync(beside)
            if file_identity(target) != identity:
                raise _left_as_it_was("somebody has put another file in its place", target)
            os.replace(beside, target)
            sync(target.parent)
            time.sleep(_GRACE_SECONDS)
    return Compaction("compacted", before, target.stat().st_size)


@contextmanager
def _held_without_wal(
    warehouse: Warehouse, target: Path, connection: duckdb.DuckDBPyConnection, alias: str
) -> Iterator[tuple[int, int] | None]:
    """Holds the file for reading when all that was committed is in it; gives its identity.

    What a killed writer has committed is in a file of its own beside it, which the next writer
    takes in; it must not be found beside the new file.
    """
    for _ in range(_TRIES):
        with warehouse.write() as writer:
            writer.execute("checkpoint")
        identity = file_identity(target)
        with warehouse.attached_to(connection, alias):
            if file_identity(target) == identity and not _logged(target):
                yield identity
                return
    raise TransientError(
        f"writers of the warehouse were killed {_TRIES} times while it was to be compacted",
        where=str(target),
        todo="try again when it is quiet",
    )


def _free_share(connection: duckdb.DuckDBPyConnection, database: str) -> float:
    row = connection.execute(
        "select free_blocks / greatest(total_blocks, 1) from pragma_database_size()"
        " where database_name = ?",
        [database],
    ).fetchone()
    return row[0] if row else 0.0


def _check(warehouse: Warehouse, target: Path) -> None:
    warehouse.must_exist()
    if target.stat().st_nlink > 1:
        raise ConfigError(
            "the warehouse's file has a second name (a hard link), which would keep the old file",
            where=str(target),
            todo="remove one of the two names, or use a symbolic link",
        )


@contextmanager
def _alone(target: Path) -> Iterator[None]:
    """Readers may hold a file together: of two that compact it, one would undo writes in between."""
    try:
        with FileLock(target.with_name(f"{target.name}.maintain.lock"), timeout=0):
            yield
    except Timeout:
        raise TransientError(
            "the warehouse is being compacted already", where=str(target), todo="wait for it"
        ) from None


def _logged(path: Path) -> bool:
    return any(path.with_name(path.name + suffix).exists() for suffix in _LOGS)


def _clear(beside: Path) -> None:
    """Remove the copy and all that DuckDB has put beside it, also of a compaction that was killed."""
    for path in beside.parent.iterdir():
        if path != beside and not path.name.startswith(f"{beside.name}."):
            continue
        if path.is_dir():
            shutil.rmtree(path)
        else:
            path.unlink(missing_ok=True)


def _left_as_it_was(reason: str, target: Path) -> StageError:
    return StageError(
        f"could not be compacted, and is as it was: {reason}",
        where=str(target),
        todo="see that the disk has room for a second copy, and try again when it is quiet",
    )
