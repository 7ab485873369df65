"""Dagster's SQLite event log, made fit for runs over hundreds of partitions.

A range run writes thousands of small events. Dagster's own class opens two connections and syncs
the disk for each; this one keeps a connection per database, lets SQLite sync at checkpoints (safe
under the write-ahead log: a power cut may lose the last events, never corrupt the file), and writes
in one transaction what Dagster hands over as a batch, and partitioned check results in a row.

Named in `dagster.yaml`. The files are Dagster's own in every respect: without this class, or with
Postgres in its place, everything works as before, only slower. It is the one module that subclasses
something from inside Dagster, which has no public base class for storages.
"""

from __future__ import annotations

import os
import threading
from collections import OrderedDict
from collections.abc import Iterator, Mapping, Sequence
from contextlib import ExitStack, contextmanager
from pathlib import Path
from typing import Any, Self

import dagster as dg
from dagster import DagsterEventType, EventLogEntry
from dagster._core.storage.event_log import SqliteEventLogStorage
from dagster._serdes import ConfigurableClassData
from sqlalchemy import Connection, Engine, create_engine
from sqlalchemy import event as sqlalchemy_event

_BUSY_SECONDS = 60
_BATCH = 1000
# A long-lived process (the daemon, the web server) meets a new database with every run.
_ENGINES = 8


class PooledSqliteEventLogStorage(SqliteEventLogStorage):
    """`SqliteEventLogStorage` with kept connections and batched writes."""

    def __init__(self, base_dir: str, inst_data: ConfigurableClassData | None = None) -> None:
        self._engines: OrderedDict[str, Engine] = OrderedDict()
        self._transaction: dict[str, Connection] | None = None
        self._held_back: list[EventLogEntry] = []
        self._tables_seen: set[str] = set()
        self._has_key_columns: bool | None = None
        super().__init__(base_dir, inst_data)
        # Reentrant, because a batch holds it around the connections of its single events.
        self._db_lock = threading.RLock()
        # Dagster hands over batches only when told of a size, and has no other way to be told.
        os.environ.setdefault("DAGSTER_EVENT_BATCH_SIZE", str(_BATCH))

    @classmethod
    def config_type(cls) -> dict[str, Any]:
        return {"base_dir": dg.Field(dg.StringSource, is_required=False)}

    @classmethod
    def from_config_value(
        cls, inst_data: ConfigurableClassData | None, config_value: Mapping[str, Any]
    ) -> Self:
        """`base_dir` is by default where Dagster itself would keep the event log."""
        default = str(Path(os.environ["DAGSTER_HOME"]) / "history" / "runs")
        return cls(config_value.get("base_dir", default), inst_data)

    def store_event(self, event: EventLogEntry) -> None:
        """Store an event; partitioned check results wait for the next event of another kind."""
        with self._db_lock:
            if self._transaction is None and _is_partitioned_check_result(event):
                self._held_back.append(event)
                if len(self._held_back) >= _BATCH:
                    self._write_held_back()
            else:
                super().store_event(event)

    def store_event_batch(self, events: Sequence[EventLogEntry]) -> None:
        """Store events in one transaction per database: all of them, or none."""
        with self._db_lock, self._one_transaction():
            for event in events:
                self.store_event(event)

    def dispose(self) -> None:
        with self._db_lock:
            self._write_held_back()
            self._close_engines()
        super().dispose()

    def wipe(self) -> None:
        with self._db_lock:
            self._held_back.clear()
            self._close_engines()
            super().wipe()

    def has_table(self, table_name: str) -> bool:
        if table_name not in self._tables_seen and super().has_table(table_name):
            self._tables_seen.add(table_name)
        return table_name in self._tables_seen

    @contextmanager
    def _connect(self, shard: str) -> Iterator[Connection]:
        with self._db_lock:
            if self._transaction is not None:
                yield self._transaction[shard] if shard in self._transaction else self._join(shard)
                return
            self._write_held_back()
            with self._engine(shard).connect() as connection, connection.begin():
                yield connection

    @contextmanager
    def _one_transaction(self) -> Iterator[None]:
        with ExitStack() as self._joined:
            self._transaction = {}
            try:
                yield
            finally:
                self._transaction = None

    def _join(self, shard: str) -> Connection:
        assert self._transaction is not None
        connection = self._joined.enter_context(self._engine(shard).connect())
        self._joined.enter_context(connection.begin())
        self._transaction[shard] = connection
        return connection

    def _write_held_back(self) -> None:
        held_back, self._held_back = self._held_back, []
        if held_back:
            self.store_event_batch(held_back)

    def _engine(self, shard: str) -> Engine:
        if shard not in self._engines:
            engine = create_engine(
                self.conn_string_for_shard(shard), connect_args={"timeout": _BUSY_SECONDS}
            )
            sqlalchemy_event.listen(engine, "connect", _sync_at_checkpoints)
            if shard not in self._initialized_dbs:
                self._initdb(engine)
                self._initialized_dbs.add(shard)
            self._engines[shard] = engine
            while len(self._engines) > _ENGINES:
                self._engines.popitem(last=False)[1].dispose()
        self._engines.move_to_end(shard)
        return self._engines[shard]

    def _close_engines(self) -> None:
        while self._engines:
            self._engines.popitem()[1].dispose()

    def _has_asset_key_index_cols_on_connection(self, conn: Connection) -> bool:
        # The schema does not change under a running process, but Dagster asks at every event.
        if self._has_key_columns is None:
            self._has_key_columns = super()._has_asset_key_index_cols_on_connection(conn)
        return self._has_key_columns


def _is_partitioned_check_result(event: EventLogEntry) -> bool:
    of = event.dagster_event
    return (
        of is not None
        and of.event_type is DagsterEventType.ASSET_CHECK_EVALUATION
        and of.asset_check_evaluation_data.partition is not None
    )


def _sync_at_checkpoints(connection: Any, _record: Any) -> None:
    connection.execute("PRAGMA synchronous = NORMAL")
