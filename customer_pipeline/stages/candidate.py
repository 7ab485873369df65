"""The candidate: a DuckDB file of the run's own, in which a window is built before it is published.

It holds the raw rows of exactly the run's partitions (schema `raw`), what dbt makes of them (schema
`main`), the failing rows of dbt's tests (schema `failures`), and what the stages of this run have
found out (schema `run`). Models therefore need no filter and cannot read outside their window, and
the warehouse is held only while the raw rows are copied.

What belongs here: making the file, and what stages note in it. What does not: dbt (`transform.py`).
"""

from __future__ import annotations

import shutil
from collections import defaultdict
from collections.abc import Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager, suppress
from dataclasses import asdict, dataclass
from datetime import UTC, datetime, timedelta
from pathlib import Path

import duckdb

from customer_pipeline.code_version import declaration_version
from customer_pipeline.errors import StageError
from customer_pipeline.outcomes import Casualty, first_reasons
from customer_pipeline.partition_column import PartitionColumn
from customer_pipeline.quoting import quoted
from customer_pipeline.source.feed import Feed
from customer_pipeline.stages.landing import Landing, Manifest
from customer_pipeline.stages.load import why_unusable
from customer_pipeline.warehouse.connection import Warehouse, prepare
from customer_pipeline.warehouse.schema import ensure_table
from customer_pipeline.warehouse.sql import columns_of, insert_rows

_NOTES = """
create schema raw;
create schema run;
create table run.partitions (partition_key varchar);
create table run.deliveries (
    feed varchar, partition_key varchar, state varchar, source_rows bigint,
    quarantined_rows bigint, raw_rows bigint, fingerprint varchar, declaration varchar
);
create table run.casualties (partition_key varchar, stage varchar, reason varchar);
"""
_CODE_VERSION = "code_version"
# A run that was killed leaves its folder behind; nobody looks at it after this time.
_KEEP_LEFTOVERS = timedelta(days=7)


@dataclass(frozen=True)
class Delivered:
    """What the snapshot holds of one feed's partition, as the load recorded it."""

    feed: str
    partition_key: str
    state: str
    source_rows: int
    quarantined_rows: int
    raw_rows: int
    fingerprint: str
    declaration: str

    def is_of(self, manifest: Manifest) -> bool:
        """Whether this delivery, landed under these rules, is the one that `manifest` tells of."""
        return (self.fingerprint, self.declaration) == (manifest.fingerprint, manifest.declaration)


@dataclass(frozen=True)
class Candidate:
    """The candidate file of one run. `column` is the partition column of all its tables, and
    `code_version` the version of the code that builds them."""

    folder: Path
    column: PartitionColumn
    code_version: str

    @property
    def path(self) -> Path:
        return self.folder / "candidate.duckdb"

    @contextmanager
    def open(self) -> Iterator[duckdb.DuckDBPyConnection]:
        """A connection to the file, in UTC, closed at the end.

        Raises:
            StageError: this run has built no candidate.
        """
        if not self.path.exists():
            raise StageError(
                "this run has built no candidate to work on",
                todo="run all steps, or select candidate/*, validation/* and marts/* together",
            )
        connection = duckdb.connect(str(self.path))
        try:
            prepare(connection)
            yield connection
        finally:
            connection.close()

    def snapshot(
        self,
        feeds: Mapping[str, Feed],
        keys: Sequence[str],
        *,
        zone: str,
        landing: Landing,
        warehouse: Warehouse,
        raw_tables: Mapping[str, Mapping[str, str]],
    ) -> None:
        """Make the file anew with the raw rows of those partitions that are fit to go on.

        A partition goes on when all its feeds are loaded from what is landed now; the others become
        casualties of this run. Of `raw_tables`, which the models read (name to columns and types),
        those that no feed fills are empty.

        Raises:
            TransientError: the warehouse is held.
        """
        declarations = {name: declaration_version(feed, zone) for name, feed in feeds.items()}
        self.remove()
        self._sweep_leftovers()
        self.folder.mkdir(parents=True)
        (self.folder / _CODE_VERSION).write_text(self.code_version)
        connection = duckdb.connect(str(self.path))
        try:
            prepare(connection)
            connection.execute(_NOTES)
            with warehouse.attached_to(connection, "warehouse"):
                recorded = _recorded(connection, keys)
                casualties = first_reasons(
                    _not_ready(declarations, keys, recorded=recorded, landing=landing)
                )
                ready = [key for key in keys if key not in casualties]
                for feed in feeds if ready else ():
                    connection.execute(
                        f"create table raw.{quoted(feed)} as"
                        f" select * from warehouse.raw.{quoted(feed)}"
                        f" where {self.column.among()}",
                        [ready],
                    )
            for table in raw_tables.keys() - feeds.keys():
                ensure_table(connection, "raw", table, raw_tables[table])
            insert_rows(connection, "run.partitions", [{"partition_key": key} for key in ready])
            insert_rows(
                connection,
                "run.deliveries",
                [asdict(recorded[feed, key]) for feed in feeds for key in ready],
            )
            note_casualties(connection, casualties.values())
        finally:
            connection.close()

    def take_over(self, other: Candidate) -> None:
        """Go on with what `other`, of a run that has ended, has built with the same code, unless
        this run has built something."""
        # There may be nothing left of it, or another run may be faster.
        with suppress(FileNotFoundError):
            same_code = (other.folder / _CODE_VERSION).read_text() == self.code_version
            if same_code and not self.folder.exists():
                other.folder.rename(self.folder)

    def remove(self) -> None:
        shutil.rmtree(self.folder, ignore_errors=True)

    def _sweep_leftovers(self) -> None:
        oldest = datetime.now(UTC) - _KEEP_LEFTOVERS
        for folder in self.folder.parent.glob("*"):
            try:
                changed = datetime.fromtimestamp(folder.stat().st_mtime, UTC)
            except FileNotFoundError:
                continue  # another run swept it
            if changed < oldest:
                shutil.rmtree(folder, ignore_errors=True)


def note_casualties(connection: duckdb.DuckDBPyConnection, casualties: Iterable[Casualty]) -> None:
    """Take these partitions out of the run from here on."""
    insert_rows(connection, "run.casualties", [asdict(casualty) for casualty in casualties])


def casualties(connection: duckdb.DuckDBPyConnection) -> dict[str, Casualty]:
    """The casualties noted so far, by partition key."""
    rows = connection.execute("select * from run.casualties order by rowid").fetchall()
    return first_reasons(Casualty(*row) for row in rows)


def survivors(connection: duckdb.DuckDBPyConnection) -> list[str]:
    """The partitions that are still in the run, oldest first."""
    rows = connection.execute(
        "select partition_key from run.partitions"
        " where partition_key not in (select partition_key from run.casualties) order by 1"
    ).fetchall()
    return [key for (key,) in rows]


def deliveries(connection: duckdb.DuckDBPyConnection) -> list[Delivered]:
    """What the snapshot holds, by feed and partition."""
    rows = connection.execute("select * from run.deliveries order by all").fetchall()
    return [Delivered(*row) for row in rows]


def by_partition(delivered: Iterable[Delivered]) -> Mapping[str, list[Delivered]]:
    """The feeds' deliveries of each partition; none for a partition without any."""
    found: dict[str, list[Delivered]] = defaultdict(list)
    for row in delivered:
        found[row.partition_key].append(row)
    return found


def _recorded(
    connection: duckdb.DuckDBPyConnection, keys: Sequence[str]
) -> dict[tuple[str, str], Delivered]:
    if not columns_of(connection, "ops", "deliveries", database="warehouse"):
        return {}
    rows = connection.execute(
        "select feed, partition_key, state, source_rows, quarantined_rows, raw_rows, fingerprint,"
        " declaration from warehouse.ops.deliveries where partition_key in (select unnest(?))",
        [list(keys)],
    ).fetchall()
    return {(row[0], row[1]): Delivered(*row) for row in rows}


def _not_ready(
    declarations: Mapping[str, str],
    keys: Sequence[str],
    *,
    recorded: Mapping[tuple[str, str], Delivered],
    landing: Landing,
) -> Iterator[Casualty]:
    for key in keys:
        for name, declaration in declarations.items():
            manifest = landing.read(name, key)
            delivered = recorded.get((name, key))
            if reason := why_unusable(name, declaration, manifest):
                yield Casualty(key, "extract", reason)
            elif delivered is None:
                yield Casualty(key, "load", f"{name}: never loaded; materialize raw/{name} first")
            elif manifest is not None and not delivered.is_of(manifest):
                yield Casualty(
                    key,
                    "load",
                    f"{name}: raw is not what has landed now (a newer delivery, or changed rules of"
                    f" the feed); materialize raw/{name} again",
                )
