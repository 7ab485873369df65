"""Building a candidate with dbt, and testing it. The parsed project is handed over.

What belongs here: what is asked of dbt, and what its results mean. What does not: how any call of it
is made (`call.py`), and the parsed project (`manifest.py`).
"""

from __future__ import annotations

from collections.abc import Sequence
from contextlib import closing, nullcontext
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING

import duckdb

from customer_pipeline.dbt_adapter.call import QUIET, places, pointed_at
from customer_pipeline.dbt_adapter.manifest import PARTIAL_PARSE, DbtProject
from customer_pipeline.errors import StageError
from customer_pipeline.warehouse.connection import Warehouse

if TYPE_CHECKING:
    from dbt.artifacts.schemas.results import NodeResult
    from dbt.cli.main import dbtRunner, dbtRunnerResult


@dataclass(frozen=True)
class TestResult:
    """How one data test ended: `passed` is false when it found failing rows."""

    unique_id: str
    passed: bool


def build(
    project: DbtProject, candidate: Path, *, pipeline: str, reading: Warehouse | None = None
) -> dict[str, TestResult]:
    """Build all tables of a pipeline in the candidate file, then run their data tests.

    Args:
        reading: a warehouse that is attached meanwhile, read-only, as the database `warehouse`.

    Returns:
        The results of the data tests, by dbt's unique id.

    Raises:
        StageError: a model or a test could not be run, with dbt's words.
        TransientError: the warehouse is held.
    """
    runner = _runner(project)
    where = [*places(project.folder, candidate.parent), f"--select=path:models/{pipeline}"]
    # A connection of our own keeps the file open between dbt's many short ones, which therefore see
    # what is attached to it.
    with (
        pointed_at(candidate),
        closing(duckdb.connect(str(candidate))) as connection,
        reading.attached_to(connection, "warehouse") if reading else nullcontext(),
    ):
        built = runner.invoke([*QUIET, "--no-write-json", "run", *where])
        _raise_for_errors("model", built)
        tested = runner.invoke(
            [*QUIET, "--no-write-json", "test", *where, "--exclude-resource-type=unit_test"]
        )
        _raise_for_errors("test", tested)
    return {
        result.node.unique_id: TestResult(result.node.unique_id, result.status == "pass")
        for result in _results(tested)
    }


def _runner(project: DbtProject) -> dbtRunner:
    from dbt.cli.main import dbtRunner
    from dbt.contracts.graph.manifest import Manifest
    from dbt.parser.manifest import extended_mashumuro_decoder

    parsed = (project.parsed / PARTIAL_PARSE).read_bytes()
    return dbtRunner(manifest=Manifest.from_msgpack(parsed, decoder=extended_mashumuro_decoder))


def _raise_for_errors(what: str, outcome: dbtRunnerResult) -> None:
    if outcome.exception is not None:
        raise StageError(f"dbt could not run the {what}s: {outcome.exception}")
    wrong = [result for result in _results(outcome) if result.status in ("error", "skipped")]
    if wrong:
        first = next((result for result in wrong if result.status == "error"), wrong[0])
        message = " ".join(str(first.message).split())
        raise StageError(
            f"dbt {what} {first.node.name}: {message}",
            where=first.node.original_file_path,
            todo=f"correct it; {len(wrong)} could not be run" if len(wrong) > 1 else "correct it",
        )


def _results(outcome: dbtRunnerResult) -> Sequence[NodeResult]:
    return outcome.result.results  # type: ignore[union-attr, return-value]
