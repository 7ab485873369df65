"""Parquet files: typed columns as they are.

What belongs here: reading a Parquet file whole, or saying that it is damaged. What does not: types
(`mapping/`).
"""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pyarrow as pa
from pyarrow import parquet

from customer_pipeline.errors import DeliveryError
from customer_pipeline.source.delivery import Delivery
from customer_pipeline.source.feed import Feed
from customer_pipeline.source.readers.columns import match_columns, with_lines
from customer_pipeline.source.readers.delivered_file import read_file


def read_parquet(path: Path, feed: Feed) -> Delivery:
    """Reads the Parquet file `path` as `feed` declares it. Columns keep their types, nested ones
    too; `_line` is the row's number from 1. No row is rejected: a damaged file is refused whole.

    Raises:
        MissingDeliveryError: when there is no such file.
        DeliveryError: when it is no Parquet file, is cut off or damaged (page checksums are
            verified where there are any), or has columns absent or new.
        TransientError: when the system fails to read it.
    """
    where = str(path)
    file = read_file(path, feed.compression)
    table = _table(file.content, where)
    match = match_columns(table.column_names, feed, where)
    numbers = pa.array(np.arange(1, table.num_rows + 1, dtype=np.int64))
    return Delivery(
        rows=with_lines(match.select(table), numbers),
        rejected=(),
        fingerprint=file.fingerprint,
        size=file.size,
        warnings=match.warnings,
        drift=match.drift,
    )


def _table(content: bytes, where: str) -> pa.Table:
    # Damaged files make Arrow raise whatever came up on the way, so anything here is the file's.
    try:
        with parquet.ParquetFile(pa.BufferReader(content), page_checksum_verification=True) as file:
            table = file.read()
        # Texts that are no valid UTF-8, which reading does not look at.
        table.validate(full=True)
        return table
    except Exception as error:
        raise DeliveryError(
            f"the file cannot be read as Parquet: {error}",
            where=where,
            todo="have the file delivered again",
        ) from error
