"""The DuckDB files that dbt works on: candidates and warehouses, written without the pipeline.

What does not belong here: calling dbt on them (`dbt_call.py`).
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from contextlib import closing, contextmanager
from dataclasses import astuple
from datetime import date
from pathlib import Path
from typing import Any

import duckdb
import pyarrow as pa
from made_tables import MARTS, RAW, TRIPS_MARTS, TRIPS_RAW, Tables
from shop_days import Rows
from taxi_months import Trip

from customer_pipeline.warehouse.connection import Warehouse
from customer_pipeline.warehouse.schema import ensure_ledger


def write_candidate(folder: Path, rows: Rows) -> Path:
    """A candidate file with these raw rows."""
    with _new_candidate(folder) as (path, connection):
        _write_raw(connection, rows)
    return path


def write_trips_candidate(folder: Path, trips: Sequence[Trip]) -> Path:
    """A candidate file with these raw trips."""
    with _new_candidate(folder) as (path, connection):
        _write_trips(connection, trips)
    return path


def write_trips_warehouse(
    path: Path, trips: Sequence[Trip], marts: Mapping[str, Sequence[tuple]]
) -> Warehouse:
    """A warehouse with these raw trips and their marts, and with nothing of the daily pipeline."""
    with _new_warehouse(path) as (warehouse, connection):
        _write_trips(connection, trips)
        _write_marts(connection, TRIPS_MARTS, marts)
    return warehouse


def write_warehouse(
    path: Path, rows: Rows, marts: Mapping[str, Sequence[tuple]], ledger: Mapping[date, str]
) -> Warehouse:
    """A warehouse with these raw rows and marts, and a ledger that has a status for these days, and
    in which another pipeline has come further."""
    with _new_warehouse(path) as (warehouse, connection):
        _write_raw(connection, rows)
        _write_marts(connection, MARTS, marts)
        _write_ledger(connection, "daily_customers", ledger)
        _write_ledger(connection, "another_pipeline", {date(2026, 12, 31): "published"})
    return warehouse


def rows_of(file: Path, sql: str, parameters: Sequence[Any] = ()) -> list[tuple]:
    """The rows of a statement on a file that nobody else holds."""
    with closing(duckdb.connect(str(file))) as connection:
        connection.execute("set TimeZone = 'UTC'")
        return connection.execute(sql, parameters).fetchall()


def tables(file: Path, made: Tables) -> dict[str, list[tuple]]:
    """All rows of these tables that dbt has made, sorted."""
    return {name: sorted(rows_of(file, f"from main.{name}"), key=repr) for name in made}


def types(file: Path, made: Tables, schema: str = "main") -> dict[str, list[tuple[str, str]]]:
    """The columns of these tables in their order, and their types."""
    return {
        name: [row[:2] for row in rows_of(file, f"describe {schema}.{name}")]  # type: ignore[misc]
        for name in made
    }


@contextmanager
def _new_candidate(folder: Path) -> Iterator[tuple[Path, duckdb.DuckDBPyConnection]]:
    folder.mkdir(parents=True, exist_ok=True)
    path = folder / "candidate.duckdb"
    with closing(duckdb.connect(str(path))) as connection:
        connection.execute("create schema raw")
        yield path, connection


@contextmanager
def _new_warehouse(path: Path) -> Iterator[tuple[Warehouse, duckdb.DuckDBPyConnection]]:
    path.parent.mkdir(parents=True, exist_ok=True)
    warehouse = Warehouse(path, lock_timeout=10)
    with warehouse.write() as connection:
        ensure_ledger(connection)
        yield warehouse, connection


def _write_raw(connection: duckdb.DuckDBPyConnection, rows: Rows) -> None:
    for feed, columns in RAW.items():
        delivered = [astuple(row) for row in getattr(rows, feed)]
        _write_table(connection, f"raw.{feed}", columns, delivered)


def _write_trips(connection: duckdb.DuckDBPyConnection, trips: Sequence[Trip]) -> None:
    rows = [astuple(trip) for trip in trips]
    _write_table(connection, "raw.trips", TRIPS_RAW["trips"], rows)


def _write_marts(
    connection: duckdb.DuckDBPyConnection, made: Tables, marts: Mapping[str, Sequence[tuple]]
) -> None:
    for table, columns in made.items():
        _write_table(connection, f"marts.{table}", columns, marts[table])


def _write_table(
    connection: duckdb.DuckDBPyConnection,
    table: str,
    columns: Mapping[str, str],
    rows: Sequence[tuple],
) -> None:
    declared = ", ".join(f"{name} {kind}" for name, kind in columns.items())
    connection.execute(f"create table {table} ({declared})")
    if rows:
        values = dict(zip(columns, map(list, zip(*rows, strict=True)), strict=True))
        connection.register("rows_to_write", pa.table(values))
        connection.execute(f"insert into {table} by name from rows_to_write")
        connection.unregister("rows_to_write")


def _write_ledger(
    connection: duckdb.DuckDBPyConnection, pipeline: str, statuses: Mapping[date, str]
) -> None:
    for day, status in statuses.items():
        connection.execute(
            "insert into ops.partitions (pipeline, partition_key, status, published_at)"
            " values (?, ?, ?, now())",
            [pipeline, str(day), status],
        )
