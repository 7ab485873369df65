"""Frames that a Python function gave, as one delivery.

What belongs here: joining pandas and Arrow frames, and a fingerprint of what they hold. What does
not: calling the function (`python_function.py`).
"""

from __future__ import annotations

import hashlib
import sys
from collections.abc import Sequence
from typing import Any

import numpy as np
import pyarrow as pa

from customer_pipeline.errors import DeliveryError
from customer_pipeline.source.delivery import Delivery
from customer_pipeline.source.feed import Feed
from customer_pipeline.source.readers.columns import match_columns, with_lines


def is_frame(value: Any) -> bool:
    """Whether `value` is a pandas DataFrame, an Arrow Table or an Arrow RecordBatch."""
    return isinstance(value, pa.Table | pa.RecordBatch) or _is_pandas(value)


def delivery_of_frames(frames: Sequence[Any], feed: Feed, where: str) -> Delivery:
    """The rows of all `frames`, in order, as one delivery of `feed`; columns keep their types.

    Each frame must have the declared columns; one with neither columns nor rows counts as empty.
    `fingerprint` and `size` are of the declared columns' content, however it was cut into frames.

    Raises:
        DeliveryError: for columns absent or new, a column of mixed values, and a column that is of
            one kind in one frame and of another in the next.
    """
    tables = [_arrow(frame, where) for frame in frames]
    tables = [table for table in tables if table.num_columns or table.num_rows]
    matches = [match_columns(table.column_names, feed, where) for table in tables]
    selected = [match.select(table) for match, table in zip(matches, tables, strict=True)]
    empty = pa.table({name: pa.nulls(0) for name in feed.delivered_columns})
    joined = _join([empty, *selected], where)
    fingerprint, size = _fingerprint(joined)
    numbers = pa.array(np.arange(1, joined.num_rows + 1, dtype=np.int64))
    return Delivery(
        rows=with_lines(joined, numbers),
        rejected=(),
        fingerprint=fingerprint,
        size=size,
        warnings=tuple(dict.fromkeys(text for match in matches for text in match.warnings)),
        drift=tuple(dict.fromkeys(one for match in matches for one in match.drift)),
        columns_seen=bool(tables),
    )


def _is_pandas(value: Any) -> bool:
    # Whoever holds a DataFrame has imported pandas; whoever does not is spared its import time.
    pandas = sys.modules.get("pandas")
    return pandas is not None and isinstance(value, pandas.DataFrame)


def _arrow(frame: Any, where: str) -> pa.Table:
    if isinstance(frame, pa.Table):
        return frame
    if isinstance(frame, pa.RecordBatch):
        return pa.Table.from_batches([frame])
    # An index with a name is data (the result of a group-by); one without is a row count.
    named_index = any(name is not None for name in frame.index.names)
    try:
        return pa.Table.from_pandas(frame, preserve_index=named_index)
    except (pa.ArrowException, ValueError, TypeError) as error:
        raise DeliveryError(
            f"a DataFrame does not fit Arrow: {' '.join(map(str, error.args))}",
            where=where,
            todo="give each column its own name and values of one type",
        ) from error


def _join(tables: Sequence[pa.Table], where: str) -> pa.Table:
    for name in tables[0].column_names:
        kinds = {_kind(table.schema.field(name).type) for table in tables} - {"null"}
        if len(kinds) > 1:
            raise DeliveryError(
                f"column {name!r} is {' in one frame and '.join(sorted(kinds))} in another",
                where=where,
                todo="give it one type in all frames (pandas: 'Int64' for integers with gaps)",
            )
    try:
        return pa.concat_tables(tables, promote_options="permissive")
    except pa.ArrowException as error:
        raise DeliveryError(
            f"the frames do not fit together: {error}",
            where=where,
            todo="give each column one type in all frames",
        ) from error


def _kind(data_type: pa.DataType) -> str:
    """Types of one kind can be joined without changing a value; others cannot."""
    if pa.types.is_string(data_type) or pa.types.is_large_string(data_type):
        return "text"
    if pa.types.is_integer(data_type):
        return "integer"
    if pa.types.is_floating(data_type):
        return "floating-point"
    if pa.types.is_decimal(data_type):
        return "decimal"
    if pa.types.is_timestamp(data_type):
        return f"timestamp with zone {data_type.tz}" if data_type.tz else "timestamp without zone"
    return "nested" if pa.types.is_nested(data_type) else str(data_type)


def _fingerprint(rows: pa.Table) -> tuple[str, int]:
    """SHA-256 of the rows' names, types and values, and the number of bytes of the values.

    Per column, which values are null and then the others, each in one piece: what lies in memory
    under a null, and how a table was cut into chunks, make no difference.
    """
    digest, size = hashlib.sha256(), 0
    for name, column in zip(rows.column_names, rows.columns, strict=True):
        if pa.types.is_dictionary(column.type):
            column = column.cast(column.type.value_type)
        digest.update(f"{name!r} {column.type}\n".encode())
        for part in (column.is_valid(), column.drop_null()):
            values = pa.record_batch([part.combine_chunks()], [name]).serialize()
            digest.update(values)
            size += values.size
    return digest.hexdigest(), size
