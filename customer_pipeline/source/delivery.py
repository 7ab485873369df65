"""What a reader hands over: the delivered records, and what could not be read as a record.

What belongs here: the values that every reader returns. What does not: reading (see `readers/`) and
mapping delivered columns to loaded ones (see `mapping/`).
"""

from __future__ import annotations

from dataclasses import dataclass, field

import pyarrow as pa

from customer_pipeline.source.drift import Drift
from customer_pipeline.source.readers.delivered_file import FileState

LINE = "_line"


@dataclass(frozen=True)
class RejectedRow:
    """A row that goes to quarantine: its line (or row) number, why, and its raw text."""

    line: int
    reason: str
    raw: str


@dataclass(frozen=True)
class Delivery:
    """One feed's delivery for one partition.

    `rows` has one column per delivered column, named as delivered, and `_line` (int64): the
    physical line on which the record starts (text files, the header is line 1) or the row number
    from 1 (Parquet, Python). Columns of text formats are strings, null where the field was empty;
    typed formats keep their types. `fingerprint` is the SHA-256 of what was delivered, `size` its
    bytes as delivered (before decompression). `warnings` are for people: a column that is new, or
    an optional one that is gone; `drift` says the same as values, and nothing without
    `columns_seen`: then nothing in it has columns, as in a JSON Lines file without a line. `file` is
    how the file was when it was read, and `version` which one of several it is; None where there is
    no such thing.
    """

    rows: pa.Table
    rejected: tuple[RejectedRow, ...]
    fingerprint: str
    size: int
    warnings: tuple[str, ...] = field(default=())
    drift: tuple[Drift, ...] = field(default=())
    columns_seen: bool = True
    file: FileState | None = None
    version: str | None = None

    @property
    def row_count(self) -> int:
        """Records delivered: those that could be read and those that could not."""
        return self.rows.num_rows + len(self.rejected)
