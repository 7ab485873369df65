"""Dagster's SQLite event log, made fit for runs over hundreds of partitions.

A range run writes thousands of small events. Dagster's own class opens two connections and syncs
the disk for each; this one keeps a connection per database, lets SQLite sync at checkpoints (safe
under the write-ahead log: a power cut may lose the last events, never corrupt the file), and writes
in a few statements what Dagster hands over as a batch, and partitioned check results in a row.

Named in `dagster.yaml`. The files are Dagster's own in every respect: without this class, or with
Postgres in its place, everything works as before, only slower. This module and `event_rows.py` are
the only ones that use something from inside Dagster, which has no public base class for storages.
"""

from __future__ import annotations

import logging
import os
import tempfile
import threading
from collections import OrderedDict, defaultdict
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import Any, Self

import dagster as dg
import sqlalchemy as sa
import sqlalchemy.event as sa_event
from dagster import EventLogEntry
from dagster._core.events import ASSET_CHECK_EVENTS, ASSET_EVENTS
from dagster._core.storage.event_log import SqliteEventLogStorage
from dagster._core.storage.event_log.schema import AssetCheckExecutionsTable
from dagster._serdes import ConfigurableClassData

from customer_pipeline.orchestration.event_rows import (
    INSERT_EVENTS,
    INSERT_EVENTS_FOR_IDS,
    UPDATE_CHECK,
    Stored,
    is_partitioned_check_result,
    kind_of,
    planned_rows,
    result_row,
)

_BUSY_SECONDS = 60
_BATCH = 1000
# A long-lived process (the daemon, the web server) meets a new database with every run.
_ENGINES = 8
_TEMPORARY = "CUSTOMER_PIPELINE_TEMPORARY_EVENT_LOG"


class PooledSqliteEventLogStorage(SqliteEventLogStorage):
    """`SqliteEventLogStorage` with kept connections and batched writes."""

    def __init__(self, base_dir: str, inst_data: ConfigurableClassData | None = None) -> None:
        self._engines: OrderedDict[str, sa.Engine] = OrderedDict()
        self._held_back: list[EventLogEntry] = []
        self._tables_seen: set[str] = set()
        self._has_key_columns: bool | None = None
        # The index connection that Dagster's own methods are to use while a batch is indexed.
        self._open: sa.Connection | None = None
        super().__init__(base_dir, inst_data)
        # Reentrant, because what is held back is written when the next connection is asked for.
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
        return cls(config_value.get("base_dir") or _default_folder(), inst_data)

    def store_event(self, event: EventLogEntry) -> None:
        """Store an event; a step's partitioned check results wait for the next event of another
        kind, which is the end of the step at the latest."""
        with self._db_lock:
            if is_partitioned_check_result(event) and event.get_dagster_event().step_key:
                self._held_back.append(event)
                if len(self._held_back) >= _BATCH:
                    self._write_held_back()
            else:
                super().store_event(event)

    def store_event_batch(self, events: Sequence[EventLogEntry]) -> None:
        """Store events with a few statements; per database all of them are stored, or none."""
        by_run: dict[str, list[dict[str, Any]]] = defaultdict(list)
        indexed: list[tuple[EventLogEntry, dict[str, Any]]] = []
        for event in events:
            row = self._event_to_row(event)
            by_run[event.run_id].append(row)
            if event.dagster_event_type in ASSET_EVENTS | ASSET_CHECK_EVENTS:
                indexed.append((event, row))
        with self._db_lock:
            for run_id, rows in by_run.items():
                with self.run_connection(run_id) as connection:
                    connection.execute(INSERT_EVENTS, rows)
            if indexed:
                with self.index_connection() as connection:
                    self._index(connection, indexed)

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

    def _index(
        self, connection: sa.Connection, events: Sequence[tuple[EventLogEntry, dict[str, Any]]]
    ) -> None:
        """Mirror events in the database that spans all runs, as `store_event` does singly."""
        ids = connection.execute(INSERT_EVENTS_FOR_IDS, [row for _, row in events]).scalars().all()
        by_kind: dict[str, list[Stored]] = defaultdict(list)
        for (event, row), event_id in zip(events, ids, strict=True):
            by_kind[kind_of(event)].append(Stored(event, row, event_id))
        if of_assets := by_kind["asset"]:
            self._store_asset_event_tags(
                connection, [one.event for one in of_assets], [one.event_id for one in of_assets]
            )
            newest = {one.event.get_dagster_event().asset_key: one for one in of_assets}
            for one in newest.values():
                self._store_asset_event(connection, one.event, one.event_id)
        if planned := list(planned_rows(by_kind["planned check"])):
            connection.execute(AssetCheckExecutionsTable.insert(), planned)
        if results := by_kind["check result"]:
            self._index_results(connection, results)
        for one in by_kind["other check"]:
            self._index_check(connection, one)

    def _index_results(self, connection: sa.Connection, results: Sequence[Stored]) -> None:
        rows = [result_row(result) for result in results]
        if connection.execute(UPDATE_CHECK, rows).rowcount != len(rows):
            # Results that were not planned have no row yet; Dagster's own way makes one.
            for result in results:
                self._index_check(connection, result)

    def _index_check(self, connection: sa.Connection, stored: Stored) -> None:
        self._open = connection
        try:
            self.store_asset_check_event(stored.event, stored.event_id)
        finally:
            self._open = None

    @contextmanager
    def _connect(self, shard: str) -> Iterator[sa.Connection]:
        with self._db_lock:
            if self._open is not None:
                yield self._open
                return
            self._write_held_back()
            with self._engine(shard).connect() as connection, connection.begin():
                yield connection

    def _write_held_back(self) -> None:
        held_back, self._held_back = self._held_back, []
        if held_back:
            self.store_event_batch(held_back)

    def _engine(self, shard: str) -> sa.Engine:
        if shard not in self._engines:
            engine = sa.create_engine(
                self.conn_string_for_shard(shard), connect_args={"timeout": _BUSY_SECONDS}
            )
            sa_event.listen(engine, "connect", _sync_at_checkpoints)
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

    def _has_asset_key_index_cols_on_connection(self, conn: sa.Connection) -> bool:
        # The schema does not change under a running process, but Dagster asks at every event.
        if self._has_key_columns is None:
            self._has_key_columns = super()._has_asset_key_index_cols_on_connection(conn)
        return self._has_key_columns


def _default_folder() -> str:
    if home := os.environ.get("DAGSTER_HOME"):
        return str(Path(home) / "history" / "runs")
    # A temporary instance. The processes that the first one starts inherit its folder.
    if _TEMPORARY not in os.environ:
        logging.getLogger("customer_pipeline").warning(
            "DAGSTER_HOME is not set: Dagster's own history of this run is not kept; the ledger is"
        )
        os.environ[_TEMPORARY] = tempfile.mkdtemp(prefix="dagster-event-log-")
    return os.environ[_TEMPORARY]


def _sync_at_checkpoints(connection: Any, _record: Any) -> None:
    connection.execute("PRAGMA synchronous = NORMAL")
