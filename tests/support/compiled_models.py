"""The project's models and tests as dbt compiles them, run without dbt: milliseconds, not seconds.

For tests in which the models must be the real ones and dbt itself does not matter. That the two do
the same is a test in `tests/stages/test_transform.py`.
"""

from __future__ import annotations

import json
import os
import subprocess
import sys
from collections.abc import Iterable, Mapping
from contextlib import nullcontext
from dataclasses import asdict, dataclass, replace
from pathlib import Path
from typing import Any

import duckdb
from filelock import FileLock

from customer_pipeline.dbt_adapter.invocation import TestResult
from customer_pipeline.dbt_adapter.manifest import DbtProject
from customer_pipeline.warehouse.connection import Warehouse


@dataclass(frozen=True)
class Compiled:
    """A model or a test: the relation that it makes (with its columns, where declared), and its SQL.

    `folder` is that of its model in `models/`.
    """

    folder: str
    unique_id: str
    relation: str
    sql: str
    columns: str = ""


@dataclass(frozen=True)
class CompiledModels:
    """All tables in an order in which they can be built, and all data tests.

    `changes` is SQL that is run between the two: what a mistake in a model would have done.
    """

    tables: tuple[Compiled, ...]
    tests: tuple[Compiled, ...]
    changes: tuple[str, ...] = ()

    @classmethod
    def of(cls, project: Path, cache: Path) -> CompiledModels:
        """Compiled by dbt, once for all processes that share `cache`."""
        cache.mkdir(parents=True, exist_ok=True)
        file = cache / "compiled_models.json"
        with FileLock(cache / ".lock"):
            if not file.exists():
                nodes = _compile(project, cache / "target")
                cls(tuple(_tables(nodes)), tuple(_tests(nodes))).write(file)
        return cls.read(file)

    @classmethod
    def read(cls, file: Path) -> CompiledModels:
        found = json.loads(file.read_text())
        tables, tests = (
            tuple(Compiled(**one) for one in found[part]) for part in ("tables", "tests")
        )
        return cls(tables, tests)

    def write(self, file: Path) -> None:
        file.write_text(json.dumps(asdict(self)))

    def changed_by(self, *changes: str) -> CompiledModels:
        return replace(self, changes=changes)

    def tables_of(self, folder: str) -> list[Compiled]:
        return [table for table in self.tables if table.folder == folder]

    def build(
        self,
        _project: DbtProject,
        candidate: Path,
        *,
        folder: str,
        reading: Warehouse | None = None,
    ) -> dict[str, TestResult]:
        """What `dbt_adapter.invocation.build` does."""
        with (
            duckdb.connect(str(candidate)) as connection,
            reading.attached_to(connection, "warehouse") if reading else nullcontext(),
        ):
            connection.execute("set TimeZone = 'UTC'; create schema failures")
            for table in self.tables_of(folder):
                if not table.columns:
                    connection.execute(f"create table {table.relation} as {table.sql}")
                    continue
                connection.execute(f"create table {table.relation} ({table.columns})")
                connection.execute(f"insert into {table.relation} by name {table.sql}")
            for change in self.changes:
                connection.execute(change)
            found = {}
            for test in self.tests:
                if test.folder != folder:
                    continue
                connection.execute(f"create table {test.relation} as {test.sql}")
                failing = connection.execute(f"select * from {test.relation} limit 1").fetchone()
                found[test.unique_id] = TestResult(test.unique_id, passed=failing is None)
        return found


def _compile(project: Path, target: Path) -> list[dict[str, Any]]:
    target.mkdir(parents=True, exist_ok=True)
    candidate = target / "candidate.duckdb"
    subprocess.run(
        [
            *(str(Path(sys.executable).with_name("dbt")), "--quiet", "compile"),
            *(f"--project-dir={project}", f"--profiles-dir={project}", "--target=pipeline"),
            *(f"--target-path={target}", f"--log-path={target}"),
        ],
        env=os.environ | {"CUSTOMER_PIPELINE_CANDIDATE": str(candidate)},
        check=True,
        timeout=120,
    )
    nodes = json.loads((target / "manifest.json").read_text())["nodes"]
    return [node for node in nodes.values() if node.get("compiled")]


def _tables(nodes: Iterable[Mapping[str, Any]]) -> list[Compiled]:
    waiting = {node["unique_id"]: node for node in nodes if _is_table(node)}
    ordered: list[Compiled] = []
    while waiting:
        for unique_id, node in list(waiting.items()):
            if not waiting.keys() & set(node["depends_on"]["nodes"]):
                columns = ", ".join(
                    f"{column['name']} {column['data_type']}" for column in node["columns"].values()
                )
                relation = f"main.{node['alias']}"
                ordered.append(
                    Compiled(node["fqn"][1], unique_id, relation, node["compiled_code"], columns)
                )
                del waiting[unique_id]
    return ordered


def _tests(nodes: Iterable[Mapping[str, Any]]) -> list[Compiled]:
    return [
        Compiled(
            node["fqn"][1],
            node["unique_id"],
            f"{node['schema']}.{node['alias']}",
            node["compiled_code"],
        )
        for node in nodes
        if node["resource_type"] == "test"
    ]


def _is_table(node: Mapping[str, Any]) -> bool:
    return node["resource_type"] == "model" and node["config"]["materialized"] == "table"
