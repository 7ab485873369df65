"""Transform: dbt builds the run's partitions in the candidate file, and tests what it built.

Models first, then tests, so that a failing test never keeps a model from being built. A failing
test counts against the partitions that its failing rows carry; against every partition only where
the rows carry none. An error while testing is an error of the run, never a pass.

What does not belong here: how dbt is called (`dbt_adapter/`), and the verdict (`validate.py`).
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

import duckdb

from customer_pipeline.dbt_adapter.invocation import TestResult, build
from customer_pipeline.dbt_adapter.manifest import DbtProject, Test
from customer_pipeline.errors import StageError
from customer_pipeline.outcomes import Casualty, CheckResult
from customer_pipeline.partition_column import PartitionColumn
from customer_pipeline.phrases import counted
from customer_pipeline.quoting import quoted
from customer_pipeline.source.feed import Feed
from customer_pipeline.stages.candidate import Candidate, casualties, survivors
from customer_pipeline.stages.landing import Landing
from customer_pipeline.warehouse.connection import Warehouse
from customer_pipeline.warehouse.sql import columns_of, insert_rows, rows_by_partition

_TESTS = """
create table run.tests (
    test varchar, partition_key varchar, passed boolean, warn_only boolean,
    failing_rows bigint, description varchar
)
"""


@dataclass(frozen=True)
class Built:
    """What was built: rows by model and partition, every test's result per partition, casualties.

    `model_of` says by test name on which model it shows.
    """

    partition_keys: tuple[str, ...]
    rows: Mapping[tuple[str, str], int]
    tests: tuple[CheckResult, ...]
    model_of: Mapping[str, str]
    casualties: tuple[Casualty, ...]


def transform(
    candidate: Candidate,
    keys: Sequence[str],
    *,
    pipeline: str,
    feeds: Mapping[str, Feed],
    zone: str,
    landing: Landing,
    warehouse: Warehouse,
    project: DbtProject,
) -> Built:
    """Build the partitions that are loaded from what is landed now; the others are casualties.

    Raises:
        StageError: a model or a test does not run.
        TransientError: the warehouse is held.
    """
    candidate.snapshot(
        feeds,
        keys,
        zone=zone,
        landing=landing,
        warehouse=warehouse,
        raw_tables=project.raw_tables_of(pipeline),
    )
    with candidate.open() as connection:
        ready, lost = survivors(connection), casualties(connection)
    if not ready:
        return Built((), {}, (), {}, tuple(lost.values()))
    results = build(project, candidate.path, pipeline=pipeline)
    with candidate.open() as connection:
        tests = project.tests_of(pipeline)
        judged = [
            result
            for test in tests
            for result in _by_partition(connection, test, results, ready, candidate.column)
        ]
        _note(connection, judged)
        rows = _rows_by_model(connection, list(project.models_of(pipeline)), candidate.column)
    model_of = {test.name: test.model for test in tests}
    return Built(tuple(ready), rows, tuple(judged), model_of, tuple(lost.values()))


def failed_tests(connection: duckdb.DuckDBPyConnection) -> list[CheckResult]:
    """The dbt tests that failed in this run's candidate, per partition."""
    rows = connection.execute(
        "select test, partition_key, passed, description, warn_only from run.tests where not passed"
        " order by all"
    ).fetchall()
    return [CheckResult(*row) for row in rows]


def _by_partition(
    connection: duckdb.DuckDBPyConnection,
    test: Test,
    results: Mapping[str, TestResult],
    keys: Sequence[str],
    column: PartitionColumn,
) -> list[CheckResult]:
    result = results.get(test.unique_id)
    if result is None:
        raise StageError(
            f"dbt did not run the test {test.name}", todo="see dbt's log in the run's folder"
        )
    failing = {} if result.passed else _failing_rows(connection, test, keys, column)
    return [
        CheckResult(
            test.name,
            key,
            passed=key not in failing,
            warn_only=test.warn_only,
            description=_describe(failing[key]) if key in failing else "no failing rows",
            metadata={"failing_rows": failing.get(key, 0)},
        )
        for key in keys
    ]


def _failing_rows(
    connection: duckdb.DuckDBPyConnection, test: Test, keys: Sequence[str], column: PartitionColumn
) -> dict[str, int]:
    """Failing rows by partition; where they carry no partition, all of them blame every one, and so
    does a test that keeps no failing rows."""
    relation = ".".join(quoted(part) for part in test.failures.split("."))
    columns = columns_of(connection, *test.failures.split("."))
    if not columns:
        return dict.fromkeys(keys, 0)
    if column.name in columns:
        found = rows_by_partition(connection, relation, column)
        if found and found.keys() <= set(keys):
            return found
    (count,) = connection.execute(f"select count(*) from {relation}").fetchone() or (0,)
    return dict.fromkeys(keys, count)


def _describe(rows: int) -> str:
    if not rows:
        return "failing rows, which are not kept (store_failures is off)"
    return counted(rows, "failing row")


def _note(connection: duckdb.DuckDBPyConnection, judged: Sequence[CheckResult]) -> None:
    connection.execute(_TESTS)
    insert_rows(
        connection,
        "run.tests",
        [
            {
                "test": result.check,
                "partition_key": result.partition_key,
                "passed": result.passed,
                "warn_only": result.warn_only,
                "failing_rows": result.metadata["failing_rows"],
                "description": result.description,
            }
            for result in judged
        ],
    )


def _rows_by_model(
    connection: duckdb.DuckDBPyConnection, models: Sequence[str], column: PartitionColumn
) -> dict[tuple[str, str], int]:
    return {
        (model, key): rows
        for model in models
        for key, rows in rows_by_partition(connection, f"main.{quoted(model)}", column).items()
    }
