"""How the dbt tests call dbt, and what they ask the parsed project.

What does not belong here: the files that it is called on (`duckdb_files.py`), rows (`shop_days.py`,
`taxi_months.py`) and extra models (`probe_models.py`).
"""

from __future__ import annotations

import os
from collections.abc import Collection, Iterable, Mapping, Sequence
from contextlib import closing
from dataclasses import dataclass
from datetime import date
from pathlib import Path
from typing import Any, Literal
from unittest.mock import patch

import duckdb
from dbt.cli.main import dbtRunner
from dbt.contracts.graph.manifest import Manifest
from duckdb_files import rows_of
from made_tables import MARTS

from customer_pipeline.source.calendars import DailyPartitions
from customer_pipeline.stages.reconcile import Rule, compare, rules_of

PROJECT = Path(__file__).resolve().parents[2] / "dbt_project"
# The project's own models of each folder, and their tests.
DAILY = (
    *("--select", "path:models/daily_customers"),
    *("--exclude", "path:models/daily_customers/probe"),
)
DAILY_REPORTING = ("--select", "path:models/daily_customers_reporting")
TRIPS = ("--select", "path:models/monthly_trips")
TRIPS_REPORTING = ("--select", "path:models/monthly_trips_reporting")


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

    def run(
        self,
        candidate: Path,
        selection: Sequence[str] = DAILY,
        *,
        makes: Collection[str] = tuple(MARTS),
    ) -> None:
        """Build the project's own daily models, or other ones."""
        results = self.invoke(candidate, "run", *selection)
        outcomes = {result.node.name: (result.status, result.message) for result in results}
        assert outcomes == dict.fromkeys(makes, ("success", "OK")), outcomes

    def test(self, candidate: Path, *selection: str) -> dict[str, Any]:
        """The results of those data tests that find failing rows, by test."""
        results = self.invoke(candidate, "test", "--exclude-resource-type", "unit_test", *selection)
        errors = [result.message for result in results if result.status == "error"]
        assert not errors, errors
        return {result.node.name: result for result in results if result.failures}

    def failing_rows(self, candidate: Path, *selection: str) -> dict[str, dict[date, int]]:
        """Failing rows by test and partition, of those data tests that find any."""
        return {
            name: dict(
                rows_of(
                    candidate, f"select _date, count(*) from {result.node.relation_name} group by 1"
                )
            )
            for name, result in self.test(candidate, *selection).items()
        }

    def own(self, kind: Literal["model", "test"], folder: str) -> Mapping[str, Any]:
        """The project's own models, or data tests, of a folder below `models`, by name."""
        return {
            node.name: node
            for node in self.manifest.nodes.values()
            if node.resource_type == kind and node.fqn[1] == folder and "probe" not in node.fqn
        }

    def rules(self, pipeline: str = "daily_customers") -> list[Rule]:
        models = self.own("model", pipeline)
        return rules_of({name: node.config.meta for name, node in models.items()})

    def broken_rules(
        self, candidate: Path, partitions: Iterable[date], pipeline: str = "daily_customers"
    ) -> set[tuple[str, str]]:
        """The reconciliation rules that do not hold, each with the partition."""
        column, keys = DailyPartitions.column, [str(first_day) for first_day in partitions]
        with closing(duckdb.connect(str(candidate))) as connection:
            connection.execute("set TimeZone = 'UTC'")
            results = list(compare(connection, self.rules(pipeline), column=column, keys=keys))
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
