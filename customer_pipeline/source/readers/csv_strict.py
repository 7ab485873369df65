"""The CSV parser that defines what a record is: Python's `csv`, strictly, one record at a time.

What belongs here: how a record is read and why one is rejected. What does not: the file as a whole
(`csv_file.py`) and speed (`csv_fast.py`).
"""

from __future__ import annotations

import csv
import io
from collections.abc import Iterator
from dataclasses import dataclass
from typing import NamedTuple

import pyarrow as pa

from customer_pipeline.errors import DeliveryError
from customer_pipeline.source.delivery import RejectedRow
from customer_pipeline.source.readers.text import Lines, Text, readable
from customer_pipeline.source.readers.text_rows import TextRows

# The largest that every platform takes; the csv module's own, 128 KiB, would reject long texts.
_FIELD_LIMIT = 2**31 - 1
_OPEN_QUOTE = "a quoted field is still open at the end of the file"
_LONE_RETURN = "a carriage return that is not part of a line end"


@dataclass(frozen=True)
class Header:
    """A file's column names, the physical lines that they take, and the byte after them."""

    names: tuple[str, ...]
    lines: int
    end: int


@dataclass(frozen=True)
class Parsed:
    """A file's records. `rows` has the file's columns as strings, null where a field is empty;
    `lines` (int64) the physical line on which each begins."""

    rows: pa.Table
    lines: pa.ChunkedArray
    rejected: tuple[RejectedRow, ...]


def read_header(text: Text, delimiter: str, where: str) -> Header:
    """Reads the first record as column names.

    Raises:
        DeliveryError: when there is none, it is blank, or it cannot be read.
    """
    lines = Lines(text, text.start)
    record = next(_records(lines, delimiter), None)
    if record is None:
        raise DeliveryError(
            "the file is empty: it has not even a header line",
            where=where,
            todo="have it delivered again; a delivery without rows is a header line alone",
        )
    if record.problem:
        raise DeliveryError(
            f"the header line cannot be read: {record.problem}",
            where=where,
            todo="have the file delivered again, or correct the feed's encoding and delimiter",
        )
    return Header(tuple(record.fields), record.end_line, lines.offset)


def parse_strict(text: Text, header: Header, delimiter: str, where: str) -> Parsed:
    """Reads all records after the header.

    Raises:
        DeliveryError: when a quoted field is still open at the end of the file.
    """
    names = list(map(folded, header.names))
    rows = TextRows(header.names)
    rejected: list[RejectedRow] = []
    line = header.lines + 1
    for record in _records(Lines(text, header.end), delimiter):
        end_line = header.lines + record.end_line
        problem = record.problem or _fields_problem(record.fields, names)
        if problem is None:
            rows.add([field or None for field in record.fields], line)
        elif problem == _OPEN_QUOTE:
            raise DeliveryError(
                problem,
                where=f"{where} line {line}",
                todo="have the file delivered again, or have the source close or double the quote",
            )
        elif record.is_torn and end_line > line:
            problem = (
                f"{problem}, in the record that begins on line {line} and ends on line {end_line}"
            )
            for number, raw in enumerate(io.BytesIO(record.raw), start=line):
                rejected.append(RejectedRow(number, problem, readable(raw, text.encoding)))
        else:
            rejected.append(RejectedRow(line, problem, readable(record.raw, text.encoding)))
        line = end_line + 1
    return Parsed(*rows.finish(), tuple(rejected))


class _Record(NamedTuple):
    """What was read as one record. A torn one has a misplaced quote or carriage return, so nobody
    knows how many records its lines were: each of them counts as one."""

    fields: list[str]
    raw: bytes
    end_line: int
    is_torn: bool
    problem: str | None


def _records(lines: Lines, delimiter: str) -> Iterator[_Record]:
    """Each record with the bytes it was read from, its last line, and why it cannot be used."""
    csv.field_size_limit(_FIELD_LIMIT)
    reader = csv.reader(lines, delimiter=delimiter, strict=True)
    while True:
        fields, torn = [], None
        try:
            fields = next(reader)
        except StopIteration:
            return
        except csv.Error as error:
            torn = _reason(error)
        raw, invalid = lines.take()
        problem = invalid or torn or _bytes_problem(raw) or (None if fields else "a blank line")
        if torn == _OPEN_QUOTE:
            problem = torn
        yield _Record(fields, raw, reader.line_num, torn is not None, problem)


def _reason(error: csv.Error) -> str:
    message = str(error)
    if message == "unexpected end of data":
        return _OPEN_QUOTE
    if message.startswith("new-line character"):
        return _LONE_RETURN
    if message.endswith("expected after '\"'"):
        return "text after a closing quote"
    return message


def _bytes_problem(raw: bytes) -> str | None:
    if b"\0" in raw:
        return "a NUL byte"
    # The csv module takes these two for line ends.
    if raw.endswith((b"\r\r\n", b"\r")):
        return _LONE_RETURN
    return None


def folded(name: str) -> bytes:
    """What is equal for names that differ in nothing but the case of ASCII letters."""
    return name.encode().lower()


def _fields_problem(fields: list[str], names: list[bytes]) -> str | None:
    if len(fields) != len(names):
        count = "1 field" if len(fields) == 1 else f"{len(fields)} fields"
        return f"{count} instead of {len(names)}"
    # Exports that were joined repeat the header, perhaps in capitals, and with a byte order mark
    # before it.
    first, *others = fields
    if folded(first.removeprefix("\ufeff")) == names[0] and list(map(folded, others)) == names[1:]:
        return "the header line again"
    return None
