"""A faster CSV parser, Arrow's, and only where it is known to read what `csv_strict.py` would.

What belongs here: the conditions under which the two agree. What does not: a second opinion on
what a record is. `tests/source/test_readers_csv_parsers.py` compares the two.
"""

from __future__ import annotations

import re

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
from pyarrow import csv as arrow_csv

from customer_pipeline.source.readers.csv_strict import Header, Parsed, folded
from customer_pipeline.source.readers.text import Text


def parse_fast(text: Text, header: Header, delimiter: str) -> Parsed | None:
    """Reads all records after the header, or returns None when the strict parser must do it.

    It must where the two may differ, or where the strict one would reject a line: NULs, carriage
    returns inside a line, blank or ragged lines, invalid UTF-8, the header in the data, and quotes
    unless they enclose whole fields of one line.
    """
    if text.encoding != "utf-8" or not delimiter.isascii():
        return None
    if not _is_plain(text, header, delimiter):
        return None
    rows = _parse(text, header, delimiter)
    if rows is None or rows.num_rows != _line_count(text, header):
        return None
    if _may_hold(rows.column(0), header.names[0]):
        return None
    first_line = header.lines + 1
    lines = pa.array(np.arange(first_line, first_line + rows.num_rows, dtype=np.int64))
    return Parsed(rows, pa.chunked_array([lines]), ())


def _is_plain(text: Text, header: Header, delimiter: str) -> bool:
    content, start = text.content, header.end
    if content.find(b"\0", start) >= 0:
        return False
    if content.count(b"\r", start) != content.count(b"\r\n", start):
        return False
    quotes = content.count(b'"', start)
    return quotes == 0 or quotes == _quotes_around_fields(content, start, delimiter)


def _quotes_around_fields(content: bytes, start: int, delimiter: str) -> int:
    """How many quotes belong to fields that are quoted from end to end and hold no line end."""
    edge = re.escape(delimiter.encode())
    # Begins with the quote itself and looks back from there: a literal is what is found fastest.
    quoted_field = re.compile(
        rb'"(?<=[%b\n]")[^"\r\n]*+(?:""[^"\r\n]*+)*+"(?=[%b\r\n]|\Z)' % (edge, edge)
    )
    return sum(found[0].count(b'"') for found in quoted_field.finditer(content, start))


def _line_count(text: Text, header: Header) -> int:
    return text.content.count(b"\n", header.end) + (not text.content.endswith(b"\n"))


def _parse(text: Text, header: Header, delimiter: str) -> pa.Table | None:
    try:
        return arrow_csv.read_csv(
            pa.py_buffer(text.content),
            arrow_csv.ReadOptions(column_names=header.names, skip_rows=header.lines),
            arrow_csv.ParseOptions(delimiter=delimiter, quote_char='"', double_quote=True),
            arrow_csv.ConvertOptions(
                column_types={name: pa.string() for name in header.names},
                null_values=[""],
                strings_can_be_null=True,
                quoted_strings_can_be_null=True,
            ),
        )
    except pa.ArrowInvalid:
        # Ragged, not UTF-8, a line longer than a block, no data at all: the strict parser says.
        return None


def _may_hold(values: pa.ChunkedArray, name: str) -> bool:
    """Whether the header may be among the records: its first name is, in any case, with or without a
    byte order mark before it."""
    low, lows = folded(name).decode(), pc.call_function("ascii_lower", [values])
    return any(lows.index(one).as_py() >= 0 for one in (low, f"\ufeff{low}"))
