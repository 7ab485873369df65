"""The lake follows the ledger: every mart as a Delta table, for whoever should not hold the file.

A table asks the ledger what was published since its own mark, and takes in exactly those partitions
and the new mark in one commit. So a failed partition is never touched, a run that was killed after
publishing is made up for by the next, and a lake that was deleted comes back whole.

What belongs here: which partitions of which table are taken in, and when. What does not: publishing
(`stages/publish.py`), and Delta's own ways (`table.py`).
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path

import duckdb
from filelock import FileLock, Timeout

from customer_pipeline.errors import ConfigError, StageError, TransientError
from customer_pipeline.lake.table import LakeTable
from customer_pipeline.partition_column import PartitionColumn
from customer_pipeline.quoting import quoted
from customer_pipeline.warehouse.connection import Warehouse
from customer_pipeline.warehouse.publications import (
    newest_publication,
    published_since,
    warehouse_id,
)
from customer_pipeline.warehouse.sql import columns_of

# Delta has no such types (or takes them for narrower ones): held as what loses nothing.
_HELD_AS = {
    "TIME": "varchar",
    "TIME_NS": "varchar",
    "TIME WITH TIME ZONE": "varchar",
    "TIMESTAMP_NS": "varchar",
    "INTERVAL": "varchar",
    "BIT": "varchar",
    "BIGNUM": "varchar",
    "UTINYINT": "smallint",
    "USMALLINT": "integer",
    "UINTEGER": "bigint",
    "UBIGINT": "decimal(20, 0)",
}


@dataclass(frozen=True)
class Lake:
    """The Delta tables below `root`, one folder a mart, all partitioned by `column`."""

    root: Path
    column: PartitionColumn

    def follow(
        self, warehouse: Warehouse, pipeline: str, marts: Sequence[str]
    ) -> dict[str, int | None]:
        """Bring every mart's table up to the ledger.

        Returns:
            By mart, how many partitions were replaced; None where the table was current already.

        Raises:
            StageError: a table cannot be written, or is broken; the others were brought up.
            ConfigError: the lake's folder cannot be created; there is no warehouse.
            TransientError: somebody holds the lake or the warehouse.
        """
        # The lock first: else a run that has read an older ledger could write after a newer one.
        with (
            in_turn(self.root, timeout=warehouse.lock_timeout),
            warehouse.read() as connection,
        ):
            replaced, broken = {}, []
            for mart in marts:
                try:
                    replaced[mart] = self._follow(connection, pipeline, mart)
                except StageError as error:
                    broken.append(error)
        if broken:
            raise broken[0]
        return replaced

    def table(self, mart: str) -> LakeTable:
        return LakeTable(self.root / mart, self.column)

    @contextmanager
    def relations(
        self,
        connection: duckdb.DuckDBPyConnection,
        marts: Sequence[str],
        keys: Sequence[str] | None = None,
    ) -> Iterator[dict[str, str]]:
        """The lake's rows of the partitions `keys` (or of all) as relations of a connection.

        Gives mart to the relation's name in SQL, as `content_hashes` takes it. Each is a snapshot;
        hold the ledger open for reading meanwhile to compare the two.

        Raises:
            StageError: a table is missing or broken.
        """
        names = {mart: f"_lake_{mart}" for mart in marts}
        try:
            for mart, name in names.items():
                connection.register(name, self.table(mart).rows(keys))
            yield {mart: quoted(name) for mart, name in names.items()}
        finally:
            for name in names.values():
                connection.unregister(name)

    def _follow(
        self, connection: duckdb.DuckDBPyConnection, pipeline: str, mart: str
    ) -> int | None:
        source, newest = warehouse_id(connection), newest_publication(connection, pipeline)
        table = self.table(mart)
        mark = table.mark(source)
        columns = columns_of(connection, "marts", mart)
        if mark == newest or not columns:
            return None
        select = f"select {_held(columns)} from marts.{quoted(mart)}"
        # Each stream is closed: else it holds the warehouse for as long as an error is kept.
        with connection.execute(f"{select} limit 0").to_arrow_reader() as no_rows:
            schema = no_rows.schema
        # A mark ahead of the ledger: somebody has put an older copy of the warehouse back.
        if mark is None or mark > newest or not table.takes(schema):
            with connection.execute(select).to_arrow_reader() as rows:
                table.replace(rows, warehouse=source, publication=newest)
            return len(published_since(connection, pipeline, 0))
        keys = published_since(connection, pipeline, mark)
        chosen = f"{select} where {self.column.among()}"
        with connection.execute(chosen, [keys]).to_arrow_reader() as rows:
            table.replace(rows, warehouse=source, publication=newest, keys=keys)
        return len(keys)


@contextmanager
def in_turn(root: Path, *, timeout: float) -> Iterator[None]:
    """One process at a time writes to the lake; makes its folder.

    Args:
        timeout: how many seconds to wait for the turn.

    Raises:
        ConfigError: the folder cannot be made.
        TransientError: the turn did not come.
    """
    try:
        root.mkdir(parents=True, exist_ok=True)
        lock = FileLock(root / ".lock")
        lock.acquire(timeout=timeout)
    except Timeout:
        raise TransientError(
            f"another run has been writing to the lake for more than {timeout:g} seconds",
            where=str(root),
            todo="wait for it, or raise CUSTOMER_PIPELINE_LOCK_TIMEOUT",
        ) from None
    except OSError as error:
        raise ConfigError(
            f"the lake's folder cannot be created: {error.strerror}",
            where=str(root),
            todo="check CUSTOMER_PIPELINE_DATA_DIR",
        ) from error
    try:
        yield
    finally:
        lock.release()


def _held(columns: Mapping[str, str]) -> str:
    """The select list for columns (name to type), in types that Delta has."""
    return ", ".join(
        f"{quoted(name)}::{_HELD_AS[kind]} as {quoted(name)}" if kind in _HELD_AS else quoted(name)
        for name, kind in columns.items()
    )
