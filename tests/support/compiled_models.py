"""The project's models and tests as dbt compiles them, run without dbt: milliseconds, not seconds.

For tests in which the models must be the real ones, and dbt itself does not matter.
`test_compiled_models_are_what_dbt_builds` holds the two together.
"""

from __future__ import annotations

import json
from collections.abc import Sequence
from dataclasses import asdict, dataclass, replace
from pathlib import Path

import duckdb

from customer_pipeline.dbt_adapter.invocation import (
    _QUIET,
    TestResult,
    _environment,
    _places,
    _runner,
)
from customer_pipeline.dbt_adapter.manifest import DbtProject


@dataclass(frozen=True)
class CompiledModels:
    """SQL of all tables, in an order in which they can be built, and of all data tests by id.

    `changes` is SQL that is run between the two: what a mistake in a model would have done.
    """

    tables: Sequence[tuple[str, str]]
    tests: Sequence[tuple[str, str, str]]
    changes: tuple[str, ...] = ()

    @classmethod
    def of(cls, project: DbtProject, pipeline: str, folder: Path) -> CompiledModels:
        """Compiled by dbt, with its files in `folder`."""
        candidate = folder / "candidate.duckdb"
        with duckdb.connect(str(candidate)) as connection:
            connection.execute("create schema raw")
        runner = _runner(project)
        with _environment(candidate):
            compiled = runner.invoke(
                [
                    *_QUIET,
                    "compile",
                    *_places(project.folder, folder),
                    f"--select=path:models/{pipeline}",
                ]
            )
        assert compiled.success, compiled.exception
        sql = {
            result.node.unique_id: result.node.compiled_code for result in compiled.result.results
        }
        models = project.models_of(pipeline)
        return cls(
            tables=[
                (f"main.{name} ({_declared(models[name])})", sql[models[name]["unique_id"]])
                for name in _upstream_first(models)
            ],
            tests=[
                (test.unique_id, test.failures, sql[test.unique_id])
                for test in project.tests_of(pipeline)
            ],
        )

    @classmethod
    def read(cls, file: Path) -> CompiledModels:
        return cls(**json.loads(file.read_text()))

    def write(self, file: Path) -> None:
        file.write_text(json.dumps(asdict(self)))

    def changed_by(self, *changes: str) -> CompiledModels:
        return replace(self, changes=changes)

    def build(
        self, _project: DbtProject, candidate: Path, *, pipeline: str
    ) -> dict[str, TestResult]:
        """What `dbt_adapter.invocation.build` does."""
        with duckdb.connect(str(candidate)) as connection:
            connection.execute("set TimeZone = 'UTC'")
            for table, sql in self.tables:
                connection.execute(f"create table {table}")
                connection.execute(f"insert into {table.partition(' ')[0]} by name {sql}")
            for change in self.changes:
                connection.execute(change)
            connection.execute("create schema failures")
            found = {}
            for unique_id, failures, sql in self.tests:
                connection.execute(f"create table {failures} as {sql}")
                (count,) = connection.execute(f"select count(*) from {failures}").fetchone() or (0,)
                found[unique_id] = TestResult(unique_id, passed=count == 0)
        return found


def _declared(model: dict) -> str:
    return ", ".join(
        f'"{column["name"]}" {column["data_type"]}' for column in model["columns"].values()
    )


def _upstream_first(models: dict[str, dict]) -> list[str]:
    ordered: list[str] = []
    while left := [name for name in models if name not in ordered]:
        ids = {models[name]["unique_id"] for name in left}
        ordered += [name for name in left if not ids & set(models[name]["depends_on"]["nodes"])]
    return ordered
