"""How the dbt tests call dbt, and the candidate files that they call it on.

What does not belong here: rows (`shop_days.py`) and extra models (`probe_models.py`).
"""

from __future__ import annotations

import os
from collections.abc import Iterable, Sequence
from contextlib import closing
from dataclasses import asdict, dataclass, fields
from datetime import date
from pathlib import Path
from typing import Any
from unittest.mock import patch

import duckdb
import pyarrow as pa
from dbt.cli.main import dbtRunner
from dbt.contracts.graph.manifest import Manifest
from shop_days import Customer, OrderLine

from customer_pipeline.stages.reconcile import Rule, compare, rules_of

PROJECT = Path(__file__).resolve().parents[2] / "dbt_project"
OF_THE_PROJECT = ("--exclude", "*probe*", "plain")

# All that the project publishes: tables, columns in their order, types.
MARTS = {
    "dim_customers": {
        "_date": "DATE",
        "customer_id": "VARCHAR",
        "name": "VARCHAR",
        "email": "VARCHAR",
        "country": "VARCHAR",
        "updated_at": "TIMESTAMP WITH TIME ZONE",
    },
    "fct_orders": {
        "_date": "DATE",
        "order_id": "VARCHAR",
        "customer_id": "VARCHAR",
        "country": "VARCHAR",
        "ordered_at": "TIMESTAMP WITH TIME ZONE",
        "is_cancelled": "BOOLEAN",
        "order_lines": "BIGINT",
        "units": "BIGINT",
        "lines_without_customer": "BIGINT",
        "net_sales": "DECIMAL(38,4)",
    },
    "daily_summary": {
        "_date": "DATE",
        "order_lines": "BIGINT",
        "orders": "BIGINT",
        "cancelled_orders": "BIGINT",
        "customers": "BIGINT",
        "lines_without_customer": "BIGINT",
        "gross_sales": "DECIMAL(38,4)",
        "cancelled_sales": "DECIMAL(38,4)",
        "net_sales": "DECIMAL(38,4)",
    },
    "sales_summary": {
        "_date": "DATE",
        "country": "VARCHAR",
        "orders": "BIGINT",
        "units": "BIGINT",
        "net_sales": "DECIMAL(38,4)",
    },
}

_INSTANT = pa.timestamp("us", "UTC")
_RAW_TYPES = {
    "_date": pa.date32(),
    "_line": pa.int64(),
    "quantity": pa.int64(),
    "updated_at": _INSTANT,
    "ordered_at": _INSTANT,
    "unit_price": pa.decimal128(18, 4),
}


@dataclass(frozen=True)
class Dbt:
    """A parsed copy of the project, on which dbt is called as the pipeline does it."""

    project: Path
    parsed: bytes

    @property
    def manifest(self) -> Manifest:
        """A fresh one for each call, since dbt compiles into the manifest that it is given."""
        return Manifest.from_msgpack(self.parsed)

    def invoke(self, candidate: Path, *command: str) -> Sequence[Any]:
        """The results of a dbt command on a candidate file."""
        with patch.dict(os.environ, CUSTOMER_PIPELINE_CANDIDATE=str(candidate)):
            outcome = dbtRunner(manifest=self.manifest).invoke(
                [*command, *places(self.project, candidate.parent)]
            )
        if outcome.exception is not None:
            raise outcome.exception
        return outcome.result.results  # type: ignore[union-attr, return-value]

    def run(self, candidate: Path) -> None:
        """Build the project's own models."""
        results = self.invoke(candidate, "run", *OF_THE_PROJECT)
        outcomes = {result.node.name: (result.status, result.message) for result in results}
        assert outcomes == dict.fromkeys(MARTS, ("success", "OK")), outcomes

    def failing_rows(self, candidate: Path, *selection: str) -> dict[str, dict[date, int]]:
        """Failing rows by test and day, of those data tests that find any."""
        results = self.invoke(candidate, "test", "--exclude-resource-type", "unit_test", *selection)
        errors = [result.message for result in results if result.status == "error"]
        assert not errors, errors
        return {
            result.node.name: dict(
                rows_of(
                    candidate, f"select _date, count(*) from {result.node.relation_name} group by 1"
                )
            )
            for result in results
            if result.failures
        }

    def models_of_the_project(self) -> list[Any]:
        return [
            node
            for node in self.manifest.nodes.values()
            if node.resource_type == "model" and not {"probe", "plain"} & set(node.fqn)
        ]

    def rules(self) -> list[Rule]:
        return rules_of({node.name: node.config.meta for node in self.models_of_the_project()})

    def broken_rules(self, candidate: Path, days: Iterable[date]) -> set[tuple[str, str]]:
        """The reconciliation rules that do not hold, each with the day."""
        keys = [str(day) for day in days]
        with closing(duckdb.connect(str(candidate))) as connection:
            connection.execute("set TimeZone = 'UTC'")
            results = list(compare(connection, self.rules(), column="_date", keys=keys))
        return {(result.check, result.partition_key) for result in results if not result.passed}


def places(project: Path, folder: Path, target: str = "pipeline") -> list[str]:
    """Arguments: the project in one folder, all that dbt writes in the other."""
    return [
        f"--project-dir={project}",
        f"--profiles-dir={project}",
        f"--target={target}",
        f"--target-path={folder}",
        f"--log-path={folder}",
        "--log-level=none",
        "--log-level-file=none",
        "--no-partial-parse",
        "--no-write-json",
    ]


def write_candidate(
    folder: Path, customers: Iterable[Customer], orders: Iterable[OrderLine]
) -> Path:
    """A candidate file with these raw rows."""
    folder.mkdir(parents=True, exist_ok=True)
    path = folder / "candidate.duckdb"
    feeds = {"customers": (Customer, customers), "orders": (OrderLine, orders)}
    with closing(duckdb.connect(str(path))) as connection:
        connection.execute("create schema raw")
        for feed, (kind, rows) in feeds.items():
            columns = [field.name for field in fields(kind)]
            schema = pa.schema([(name, _RAW_TYPES.get(name, pa.string())) for name in columns])
            delivered = pa.Table.from_pylist([asdict(row) for row in rows], schema=schema)
            connection.register("delivered", delivered)
            connection.execute(f"create table raw.{feed} as from delivered")
    return path


def rows_of(candidate: Path, sql: str, parameters: Sequence[Any] = ()) -> list[tuple]:
    """The rows of a statement on a candidate file that nobody else holds."""
    with closing(duckdb.connect(str(candidate))) as connection:
        connection.execute("set TimeZone = 'UTC'")
        return connection.execute(sql, parameters).fetchall()


def tables(candidate: Path) -> dict[str, list[tuple]]:
    """All rows of all marts, sorted."""
    return {name: sorted(rows_of(candidate, f"from main.{name}"), key=repr) for name in MARTS}
