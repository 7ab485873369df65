"""The reporting tables: brought up to what is published, because something was published.

Customers are brought up to date for what changed (`customers.py`); the other tables are dbt models
over the published marts (`dbt_project/models/<pipeline>_reporting`), built whole in a file of the
run's own and tested there. All of them change in one transaction, together with the number of the publication
that they hold. What is published while that goes on is taken in by the next refresh.

What belongs here: the order of a refresh. What does not: when there is one (a sensor's business).
"""

from __future__ import annotations

import shutil
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime
from pathlib import Path

import duckdb

from customer_pipeline.dbt_adapter.invocation import build
from customer_pipeline.dbt_adapter.manifest import DbtProject, Test
from customer_pipeline.errors import StageError
from customer_pipeline.partition_column import PartitionColumn
from customer_pipeline.quoting import quoted
from customer_pipeline.reporting.customers import MART, MERGED, Updated, update_customers
from customer_pipeline.warehouse.connection import Warehouse, prepare
from customer_pipeline.warehouse.publications import (
    Mark,
    first_published_since,
    mark_of,
    newest_publication,
    published_since,
    record_mark,
)
from customer_pipeline.warehouse.schema import ensure_ledger, has_ledger
from customer_pipeline.warehouse.sql import columns_of, stream_into, transaction

# The schema of the tables.
REPORTING = "reporting"
# A publication in the middle of a refresh sends it back to its start; at some point it goes on.
_ATTEMPTS = 3


@dataclass(frozen=True)
class Standing:
    """How far the reporting tables are behind what is published.

    `publication` is the newest one; `partitions` those that were published since the one that the
    tables hold, oldest first: all of them, when another version has made the tables. `waiting_since`
    is when the first was published that no version has taken in; None when there is none.
    """

    publication: int
    partitions: tuple[str, ...]
    waiting_since: datetime | None


@dataclass(frozen=True)
class Refreshed:
    """What a refresh took in, and what it did, by table. `failed_tests` are those of the models; with
    one of them that holds back, nothing was changed and `tables` is empty. `publication` is 0 where
    only other pipelines have published anything, and there was nothing to do."""

    publication: int
    partitions: tuple[str, ...]
    tables: Mapping[str, Updated]
    failed_tests: tuple[Test, ...]

    @property
    def held_back(self) -> bool:
        return any(not test.warn_only for test in self.failed_tests)


@dataclass(frozen=True)
class Reporting:
    """The reporting tables of a pipeline.

    Args:
        folder: of their dbt models, and their name among the ledger's followers.
        marts: what the pipeline publishes.
        column: the partition column of the marts.
        version: of the code that makes the tables; with another one they are made anew.
    """

    pipeline: str
    folder: str
    marts: Sequence[str]
    column: PartitionColumn
    version: str
    warehouse: Warehouse
    project: DbtProject

    @property
    def models(self) -> tuple[str, ...]:
        """The tables that dbt makes."""
        return tuple(sorted(self.project.models_of(self.folder)))

    @property
    def tables(self) -> tuple[str, ...]:
        """All reporting tables, by name."""
        return tuple(sorted((*self.models, *(MERGED if self._has_customers else ()))))

    @property
    def _has_customers(self) -> bool:
        return MART in self.marts

    def standing(self, connection: duckdb.DuckDBPyConnection) -> Standing:
        """How far the tables are, compared with the ledger behind `connection`."""
        if not has_ledger(connection):
            return Standing(0, (), None)
        mark = self._mark(connection)
        return Standing(
            newest_publication(connection, self.pipeline),
            tuple(published_since(connection, self.pipeline, mark.publication)),
            first_published_since(
                connection, self.pipeline, mark_of(connection, self.folder).publication
            ),
        )

    def refresh(self, scratch: Path, *, run_id: str) -> Refreshed:
        """Bring all tables up to what is published now.

        Args:
            scratch: a folder of the run's own, removed when the tables were changed.

        Raises:
            StageError: nothing has been published yet, or a model or a test does not run.
            TransientError: the warehouse is held.
        """
        for attempts_left in reversed(range(_ATTEMPTS)):
            newest = self._newest_publication()
            if not newest:
                return Refreshed(0, (), {}, ())
            file, failed = self._build(scratch)
            refreshed = Refreshed(newest, (), {}, failed)
            if refreshed.held_back:
                return refreshed
            with self.warehouse.write() as connection, duckdb.connect(str(file)) as built:
                prepare(built)
                if newest_publication(connection, self.pipeline) == newest or not attempts_left:
                    refreshed = self._swap_in(connection, built, newest, failed, run_id)
                    break
        shutil.rmtree(scratch, ignore_errors=True)
        return refreshed

    def _newest_publication(self) -> int:
        with self.warehouse.write() as connection:
            ensure_ledger(connection)
            newest = newest_publication(connection, self.pipeline)
            if not newest and not newest_publication(connection):
                raise StageError("nothing has been published yet", todo="run a partition first")
        return newest

    def _build(self, scratch: Path) -> tuple[Path, tuple[Test, ...]]:
        """The models in a file of their own, and which of their tests failed."""
        shutil.rmtree(scratch, ignore_errors=True)
        scratch.mkdir(parents=True)
        file = scratch / "candidate.duckdb"
        results = build(self.project, file, folder=self.folder, reading=self.warehouse)
        tests = self.project.tests_of(self.folder)
        return file, tuple(test for test in tests if not results[test.unique_id].passed)

    def _swap_in(
        self,
        connection: duckdb.DuckDBPyConnection,
        built: duckdb.DuckDBPyConnection,
        publication: int,
        failed: tuple[Test, ...],
        run_id: str,
    ) -> Refreshed:
        with transaction(connection):
            connection.execute("create schema if not exists reporting")
            held = self._mark(connection).publication
            changed = published_since(connection, self.pipeline, held)
            tables: dict[str, Updated] = {}
            if self._has_customers:
                tables |= update_customers(connection, self.column, changed, from_nothing=held == 0)
            tables |= {model: _replace_whole(connection, built, model) for model in self.models}
            mark = Mark(publication, self._version(connection))
            record_mark(connection, self.folder, mark, run_id=run_id)
        return Refreshed(publication, tuple(changed), tables, failed)

    def _mark(self, connection: duckdb.DuckDBPyConnection) -> Mark:
        """The publication that the tables hold: none, when another version has made them."""
        mark = mark_of(connection, self.folder)
        return mark if mark.version == self._version(connection) else Mark()

    def _version(self, connection: duckdb.DuckDBPyConnection) -> str:
        if not self._has_customers:
            return self.version
        return f"{self.version} {','.join(columns_of(connection, 'marts', MART))}"


def _replace_whole(
    connection: duckdb.DuckDBPyConnection, built: duckdb.DuckDBPyConnection, model: str
) -> Updated:
    table = f"reporting.{quoted(model)}"
    deleted = _count(connection, table) if columns_of(connection, "reporting", model) else 0
    columns = columns_of(built, "main", model)
    declared = ", ".join(f"{quoted(name)} {kind}" for name, kind in columns.items())
    connection.execute(f"create or replace table {table} ({declared})")
    stream_into(connection, table, built.execute(f"select * from main.{quoted(model)}"))
    rows = _count(connection, table)
    return Updated(inserted=rows, updated=0, deleted=deleted, rows=rows)


def _count(connection: duckdb.DuckDBPyConnection, relation: str) -> int:
    return (connection.execute(f"select count(*) from {relation}").fetchone() or (0,))[0]
