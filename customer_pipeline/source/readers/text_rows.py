"""Records of texts on their way into Arrow.

What belongs here: collecting rows one by one without holding a whole file as Python objects.
What does not: what a row is (the readers).
"""

from __future__ import annotations

from collections.abc import Sequence

import pyarrow as pa

_BATCH_ROWS = 20_000


class TextRows:
    """Collects rows of texts, each with its line, and turns them into Arrow batch by batch."""

    def __init__(self, names: Sequence[str]) -> None:
        self._schema = pa.schema([(name, pa.string()) for name in names])
        self._rows: list[Sequence[str | None]] = []
        self._lines: list[int] = []
        self._batches: list[pa.RecordBatch] = []
        self._line_batches: list[pa.Array] = []

    def add(self, values: Sequence[str | None], line: int) -> None:
        """Adds a row: one value per column."""
        self._rows.append(values)
        self._lines.append(line)
        if len(self._rows) == _BATCH_ROWS:
            self._flush()

    def finish(self) -> tuple[pa.Table, pa.ChunkedArray]:
        """All rows as strings, and their lines as int64."""
        if self._rows:
            self._flush()
        rows = pa.Table.from_batches(self._batches, self._schema)
        return rows, pa.chunked_array(self._line_batches, pa.int64())

    def _flush(self) -> None:
        columns = [pa.array(values, pa.string()) for values in zip(*self._rows, strict=True)]
        self._batches.append(pa.record_batch(columns, self._schema))
        self._line_batches.append(pa.array(self._lines, pa.int64()))
        self._rows, self._lines = [], []
