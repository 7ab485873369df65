"""What a backfill costs, against the same SQL in one process of DuckDB alone.

    python -m benchmarks.backfill --days 90 --customers 2000 --lines 10000

Prints the wall time of one range run, of a single day, and their split. Compare ratios of one call,
never times of two: the machine is noisy.
"""

from __future__ import annotations

import argparse
import json
import os
import shutil
import subprocess
import sys
import tempfile
import time
from pathlib import Path

import duckdb
from rich.console import Console
from rich.table import Table

from benchmarks.deliveries import make_deliveries
from customer_pipeline.dbt_adapter.manifest import DbtProject
from customer_pipeline.warehouse.schema import ensure_table
from tests.support.compiled_models import CompiledModels

PROJECT = Path(__file__).resolve().parents[1]
_PIPELINE = "daily_customers"
_TYPED = {
    "customers": "customer_id, name, email, country, updated_at::timestamptz as updated_at",
    "orders": "order_id, stock_code, description, quantity::bigint as quantity,"
    " ordered_at::timestamptz as ordered_at, unit_price::decimal(18, 4) as unit_price,"
    " customer_id, country",
}


def main() -> None:
    parser = argparse.ArgumentParser(description="What a backfill costs.")
    for name, default in (("days", 90), ("customers", 2000), ("lines", 10_000), ("repeats", 2)):
        parser.add_argument(f"--{name}", type=int, default=default)
    asked = parser.parse_args()
    with tempfile.TemporaryDirectory() as folder:
        work = Path(folder)
        keys = make_deliveries(
            work / "source", days=asked.days, customers=asked.customers, lines=asked.lines
        )
        environment = prepared_environment(work)
        # The first run of all parses the dbt project; nobody pays for that twice.
        one_day = [timed_run(environment, keys[0], keys[0]) for _ in range(asked.repeats + 1)][1:]
        backfill = [timed_run(environment, keys[0], keys[-1]) for _ in range(asked.repeats)]
        alone = [_duckdb_alone(work) for _ in range(asked.repeats)]
    _show(asked, min(one_day, key=_total), min(backfill, key=_total), min(alone))


def prepared_environment(work: Path) -> dict[str, str]:
    """What a run over the deliveries in `work/source` needs; its data and Dagster's home are new."""
    home = work / "home"
    home.mkdir()
    shutil.copy(PROJECT / "dagster.yaml", home)
    environment = os.environ | {
        "DAGSTER_HOME": str(home),
        "CUSTOMER_PIPELINE_SOURCE": str(work / "source" / "source.yaml"),
        "CUSTOMER_PIPELINE_DATA_DIR": str(work / "data"),
        "CUSTOMER_PIPELINE_MAX_RETRIES": "0",
    }
    dagster = Path(sys.executable).with_name("dagster")
    subprocess.run(
        [dagster, "instance", "migrate"], env=environment, check=True, capture_output=True
    )
    return environment


def timed_run(environment: dict[str, str], first: str, last: str) -> dict[str, float]:
    """Seconds by part of one run over the days from `first` to `last`, in a process of its own."""
    done = subprocess.run(
        [sys.executable, "-m", "benchmarks.timed_run", first, last],
        cwd=PROJECT,
        env=environment,
        stdout=subprocess.PIPE,
        stderr=subprocess.DEVNULL,
        text=True,
        check=True,
    )
    return json.loads(done.stdout.splitlines()[-1])


def _duckdb_alone(work: Path) -> float:
    """Seconds to read all files, type them, keep them and build the models, set-based."""
    models = CompiledModels.of(PROJECT / "dbt_project", work / "compiled")
    raw_tables = DbtProject(PROJECT / "dbt_project", work / "parsed").raw_tables_of(_PIPELINE)
    file = work / "alone" / "candidate.duckdb"
    shutil.rmtree(file.parent, ignore_errors=True)
    file.parent.mkdir()
    begun = time.perf_counter()
    with duckdb.connect(str(file)) as connection:
        connection.execute("set TimeZone = 'UTC'; create schema raw")
        for feed, columns in _TYPED.items():
            connection.execute(
                f"create table raw.{feed} as select parse_filename(filename, true)::date as _date,"
                f" row_number() over () as _line, {columns}"
                f" from read_csv('{work}/source/{feed}/*.csv', all_varchar = true, filename = true)"
            )
        for table in raw_tables.keys() - _TYPED.keys():
            ensure_table(connection, "raw", table, raw_tables[table])
        for table in models.tables_of(_PIPELINE):
            connection.execute(f"create table {table.relation} as {table.sql}")
    return time.perf_counter() - begun


def _total(run: dict[str, float]) -> float:
    return run["total"]


def _show(asked, one_day: dict[str, float], backfill: dict[str, float], alone: float) -> None:
    table = Table(
        title=f"{asked.days} days, {asked.customers} customers and {asked.lines} lines a day"
    )
    for name in ("part", "one day (s)", f"{asked.days} days (s)", "share"):
        table.add_column(name, justify="left" if name == "part" else "right")
    for part, seconds in backfill.items():
        share = "" if "memory" in part else f"{seconds / backfill['total']:.0%}"
        table.add_row(part, f"{one_day[part]:.2f}", f"{seconds:.2f}", share)
    console = Console()
    console.print(table)
    console.print(
        f"DuckDB alone, same SQL: {alone:.2f} s; the backfill takes {backfill['total'] / alone:.1f}"
        f" times that, or {1000 * (backfill['total'] - one_day['total']) / asked.days:.0f} ms a"
        " further day"
    )


if __name__ == "__main__":
    main()
