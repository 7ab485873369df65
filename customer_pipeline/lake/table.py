"""One mart's Delta table: its mark, replacing partitions of it, reading it.

A mark is the number of the last publication that the table holds. It travels as a Delta application
transaction in the commit that brings the rows, so that the two can never disagree.

What belongs here: everything that knows the `deltalake` library, but for looking after the tables
(`maintenance.py`). What does not: what a table should hold (`follow.py`).
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path
from typing import TYPE_CHECKING

import pyarrow as pa
from deltalake import CommitProperties, DeltaTable, Schema, Transaction, write_deltalake
from deltalake.exceptions import TableNotFoundError

from customer_pipeline.errors import ConfigError, StageError
from customer_pipeline.partition_column import PartitionColumn
from customer_pipeline.quoting import literal

if TYPE_CHECKING:
    import pyarrow.dataset as ds

# How long a file that was replaced can still be read, unless maintenance is told otherwise.
KEEP_DAYS = 7

# In the path of a local table, `deltalake` aborts on some of these and takes others for its own.
_UNUSABLE = re.compile(r"[\[\]\\^|\x00-\x1f\x7f]|%[0-9A-Fa-f]{2}")


@dataclass(frozen=True)
class LakeTable:
    """The Delta table in `folder`, partitioned by `column`; it need not exist yet.

    Reading the log takes longer with every commit in it, so that is done once: such a value is for
    one look, or one change. All that it does raises ConfigError when no Delta table can be kept
    below such a path.
    """

    folder: Path
    column: PartitionColumn

    @cached_property
    def _opened(self) -> DeltaTable | None:
        return opened(self.folder)

    def mark(self, warehouse: str) -> int | None:
        """The last publication of that warehouse (see `warehouse_id`) that the table holds.

        None without a table, or with one that was made from another warehouse.

        Raises:
            StageError: the table is broken.
        """
        return self._opened.transaction_version(warehouse) if self._opened else None

    def takes(self, schema: pa.Schema) -> bool:
        """Whether rows of `schema` fit in: no column is gone or of another type; new ones may be.

        Raises:
            StageError: the table is broken, or Delta knows no such type.
        """
        if self._opened is None:
            return False
        with said_plainly(self.folder):
            offered = {field.name: field.type for field in Schema.from_arrow(schema).fields}
        held = self._opened.schema().fields
        return all(offered.get(field.name) == field.type for field in held)

    def replace(
        self,
        rows: pa.RecordBatchReader,
        *,
        warehouse: str,
        publication: int,
        keys: Sequence[str] | None = None,
    ) -> None:
        """One commit in which `rows` take the place of the partitions `keys`, or of everything.

        Args:
            rows: rows of no other partitions than `keys`; one that has none is emptied.
            publication: the new mark; it counts publications of `warehouse`.
            keys: None makes or remakes the table as a whole, with the columns of `rows`.

        Raises:
            StageError: the table cannot be written.
        """
        chosen = None
        if keys is not None:
            chosen = f"{self.column.quoted} in ({', '.join(literal(key) for key in keys)})"
        with said_plainly(self.folder):
            write_deltalake(
                self._opened or str(self.folder),
                rows,
                mode="overwrite",
                predicate=chosen,
                partition_by=[self.column.name],
                schema_mode="overwrite" if chosen is None else "merge",
                configuration=retention(KEEP_DAYS),
                commit_properties=CommitProperties(
                    app_transactions=[Transaction(warehouse, publication)]
                ),
            )

    def rows(self, keys: Sequence[str] | None = None) -> ds.Dataset:
        """The rows of the partitions `keys`, or all, as they are now: a snapshot.

        Raises:
            StageError: there is no table, or it is broken.
        """
        if self._opened is None:
            raise StageError(
                "there is no such table in the lake",
                where=str(self.folder),
                todo="run a partition: what is published is copied into the lake",
            )
        with said_plainly(self.folder):
            return self._opened.to_pyarrow_dataset(
                file_pruning_predicate=[(self.column.name, "in", list(keys))] if keys else None
            )


def opened(folder: Path) -> DeltaTable | None:
    """The table in `folder` as it is now; None when nothing was ever committed there.

    Raises:
        StageError: the table is broken.
    """
    with said_plainly(folder):
        try:
            return DeltaTable(str(folder))
        except TableNotFoundError:
            return None


def retention(keep_days: int) -> dict[str, str]:
    """The properties that tell a table for how long it remembers what was replaced."""
    kept = f"interval {keep_days} days"
    return {"delta.deletedFileRetentionDuration": kept, "delta.logRetentionDuration": kept}


@contextmanager
def said_plainly(folder: Path) -> Iterator[None]:
    """Turns what `deltalake` raises into a StageError: it has no one class for what may go wrong.

    Raises:
        StageError: the table is broken, or cannot be read or written.
        ConfigError: no Delta table can be kept in such a path.
    """
    if found := _UNUSABLE.search(str(folder.resolve())):
        raise ConfigError(
            f"Delta tables cannot be kept in a path with {found[0]!r} in it",
            where=str(folder),
            todo="choose another CUSTOMER_PIPELINE_DATA_DIR, or make"
            f" {folder.parent} a symbolic link to a folder with a plain name",
        )
    try:
        yield
    except Exception as error:
        # Below the first line there is a native backtrace.
        reason = str(error).splitlines()[0] if str(error) else type(error).__name__
        raise StageError(
            f"the lake's table cannot be used: {reason}",
            where=str(folder),
            todo="check the folder's permissions and the space on the disk; a broken table: delete"
            f" the folder {folder}, and the next run builds it anew from the warehouse",
        ) from error
