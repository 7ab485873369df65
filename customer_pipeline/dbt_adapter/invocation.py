"""Calling dbt, inside this process: parse the project, build a candidate, test it.

dbt is imported only when it is called, since importing it takes longer than building a day. Its
parsed project is handed over, its artefacts and logs go to the run's own folder (the project's may
be read-only, and two runs may build at once), and its connection is closed before the call returns.
"""

from __future__ import annotations

import os
import threading
from collections.abc import Iterator, Sequence
from contextlib import closing, contextmanager, nullcontext
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING

import duckdb

from customer_pipeline.errors import StageError
from customer_pipeline.warehouse.connection import Warehouse

if TYPE_CHECKING:
    from dbt.artifacts.schemas.results import NodeResult
    from dbt.cli.main import dbtRunner, dbtRunnerResult

    from customer_pipeline.dbt_adapter.manifest import DbtProject

# dbt reads the candidate's path from the environment, which the threads of a process share.
_TURN = threading.Lock()
_CANDIDATE = "CUSTOMER_PIPELINE_CANDIDATE"
_QUIET = [
    "--quiet",
    "--no-use-colors",
    "--log-level=none",
    "--log-level-file=info",
    "--no-version-check",
    "--no-send-anonymous-usage-stats",
]


@dataclass(frozen=True)
class TestResult:
    """How one data test ended: `passed` is false when it found failing rows."""

    unique_id: str
    passed: bool


def parse(project_folder: Path, *, target: Path) -> None:
    """Parse the project; its manifest and dbt's own serialization of it are left in `target`.

    Raises:
        StageError: with dbt's words, when the project does not parse.
    """
    from dbt.cli.main import dbtRunner

    with _environment(target / "candidate.duckdb"):
        result = dbtRunner().invoke([*_QUIET, "parse", *_places(project_folder, target)])
    if not result.success:
        raise StageError(
            f"the dbt project does not parse: {result.exception}",
            where=str(project_folder),
            todo="correct the model or YAML named above",
        )


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
    places = [*_places(project.folder, candidate.parent), f"--select=path:models/{pipeline}"]
    # A connection of our own keeps the file open between dbt's many short ones, which therefore see
    # what is attached to it.
    with (
        _environment(candidate),
        closing(duckdb.connect(str(candidate))) as connection,
        reading.attached_to(connection, "warehouse") if reading else nullcontext(),
    ):
        built = runner.invoke([*_QUIET, "--no-write-json", "run", *places])
        _raise_for_errors("model", built)
        tested = runner.invoke(
            [*_QUIET, "--no-write-json", "test", *places, "--exclude-resource-type=unit_test"]
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

    from customer_pipeline.dbt_adapter.manifest import PARTIAL_PARSE

    parsed = (project.parsed / PARTIAL_PARSE).read_bytes()
    manifest = Manifest.from_msgpack(parsed, decoder=extended_mashumuro_decoder)
    # What macros see as `graph`; dbt makes it only where it parses.
    manifest.build_flat_graph()
    return dbtRunner(manifest=manifest)


def _places(project_folder: Path, target: Path) -> list[str]:
    return [
        f"--project-dir={project_folder}",
        f"--profiles-dir={project_folder}",
        "--target=pipeline",
        f"--target-path={target}",
        f"--log-path={target}",
    ]


@contextmanager
def _environment(candidate: Path) -> Iterator[None]:
    """The candidate's path where dbt's profile looks for it, and dbt's connections closed after."""
    from dbt.adapters.duckdb.connections import DuckDBConnectionManager
    from dbt.adapters.factory import reset_adapters

    with _TURN:
        os.environ[_CANDIDATE] = str(candidate)
        try:
            yield
        finally:
            del os.environ[_CANDIDATE]
            reset_adapters()
            DuckDBConnectionManager.close_all_connections()


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
