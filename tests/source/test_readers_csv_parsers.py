"""The two CSV parsers against each other, and the strict one against files whose truth is known."""

from __future__ import annotations

import csv
import io
from dataclasses import dataclass

import pytest
from hypothesis import event, example, given, settings
from hypothesis import strategies as st

from customer_pipeline.errors import DeliveryError
from customer_pipeline.source.readers.csv_fast import parse_fast
from customer_pipeline.source.readers.csv_strict import Header, Parsed, parse_strict, read_header
from customer_pipeline.source.readers.text import Text, text_of

# What makes CSV parsers differ: delimiters, quotes, line ends of all kinds, marks, bad bytes.
PIECES = st.sampled_from(
    [
        *(b"a", b"b", b"id", b"NULL", b" ", b",", b",", b";", b'"', b'""'),
        *(b"\n", b"\n", b"\r\n", b"\r", b"\0", b"\t", b"\\", b"'", b"#"),
        *(b"\xff", b"\xed\xa0\x80", b"\xc3", b"\x0b", b"\x0c", b"\x1c"),
        *(text.encode() for text in ("é", "\x85", "\u2028", "\ufeff", "🐶", "\ufffd")),
    ]
)
FIELDS = st.sampled_from(
    [
        *(b"", b"", b"a", b"id", b"NULL", b"nan", b" b ", b"\\", b"\x0c"),
        *("é🐶".encode(), "\ufeffid".encode()),
        *(b'""', b'"a"', b'"a,b"', b'"a""b"', b'""""', b'",",",",""', b'"a;b"'),
    ]
)
HEADERS = {1: b"id", 2: b"id,name", 3: b'"id",x,"y ""z"', 4: b'a,"b\nc",d,e'}


@st.composite
def _tame_files(draw: st.DrawFn) -> bytes:
    """Well-formed but for a rare surprise: what the fast parser is for."""
    width = draw(st.sampled_from([1, 2, 3, 4]))
    end = draw(st.sampled_from([b"\n", b"\r\n"]))
    records = draw(st.lists(st.lists(FIELDS, min_size=width, max_size=width), max_size=8))
    lines = [HEADERS[width], *(b",".join(record) for record in records)]
    if draw(st.integers(0, 4)) == 0:
        lines.insert(draw(st.integers(1, len(lines))), draw(PIECES))
    last = draw(st.sampled_from([end, end, b"", b"\n\n"]))
    return end.join(lines) + last


WILD_FILES = st.tuples(
    st.sampled_from([b"id\n", b"id,name\n", b"\xef\xbb\xbfid,name\r\n"]),
    st.lists(PIECES, max_size=30).map(b"".join),
).map(b"".join)


@settings(max_examples=600, deadline=None)
@given(st.one_of(_tame_files(), WILD_FILES), st.sampled_from([",", ",", ";"]))
@example(b"id,name\n\xef\xbb\xbfid,name\n", ",")
@example(b"id\n\xef\xbb\xbf1\n", ",")
@example(b"id\n\n\r1\n", ",")
@example(b'id,name\n"a\nb",c\n', ",")
@example(b'id,name\n"",",x"\n', ",")
def test_the_fast_parser_reads_what_the_strict_one_reads_or_nothing(
    content: bytes, delimiter: str
) -> None:
    text, header = _opened(content.replace(b",", delimiter.encode()), delimiter)
    fast = parse_fast(text, header, delimiter)
    event(f"fast parser used: {fast is not None}")
    if fast is not None:
        assert _plainly(fast) == _plainly(parse_strict(text, header, delimiter, "file"))
        assert fast.rejected == ()


@pytest.mark.parametrize(
    "body",
    [
        b"1,Ada\n2,\n",
        b"1,Ada\r\n2,Bob\n",
        "1,José\n2,🐶".encode(),
        b'"1","Ada, Lady"\n2,"say ""hi"""\n"",""\n',
    ],
)
def test_the_fast_parser_is_used_for_plain_files(body: bytes) -> None:
    text, header = _opened(b"id,name\n" + body, ",")
    assert parse_fast(text, header, ",") is not None


@dataclass(frozen=True)
class Line:
    """A record as it is written, and as it is to be read: as a row, or rejected."""

    written: bytes
    row: tuple[str | None, ...] | None


VALUES = st.text(
    st.characters(codec="utf-8", exclude_characters="\0\r") | st.sampled_from(",\n\"'; "),
    max_size=6,
)


@st.composite
def _good_lines(draw: st.DrawFn) -> Line:
    values = draw(st.tuples(VALUES, VALUES))
    out = io.StringIO()
    quoting = csv.QUOTE_ALL if draw(st.booleans()) else csv.QUOTE_MINIMAL
    csv.writer(out, quoting=quoting, lineterminator="\n").writerow(values)
    return Line(
        out.getvalue().removesuffix("\n").encode(), tuple(value or None for value in values)
    )


BAD_LINES = st.sampled_from(
    [b"", b"x", b"x,y,z", b'"x"y,z', b"x,\xff", b"x,\0", b"x\ry,z", b"id,name", b'x,"y\nz",w']
).map(lambda written: Line(written, None))


@settings(max_examples=300, deadline=None)
@given(st.lists(_good_lines() | BAD_LINES, max_size=12), st.sampled_from([b"\n", b"\r\n"]))
def test_every_record_becomes_its_row_or_one_rejected_row_on_its_own_line(
    lines: list[Line], end: bytes
) -> None:
    expected_rows, expected_rejected, number = [], [], 2
    for line in lines:
        if line.row is None or line.row == ("id", "name"):
            expected_rejected.append(number)
        else:
            expected_rows.append((*line.row, number))
        number += line.written.count(b"\n") + 1
    content = b"".join(line.written + end for line in [Line(b"id,name", None), *lines])
    text, header = _opened(content, ",")
    parsed = parse_strict(text, header, ",", "file")
    assert [(*row, line) for row, line in zip(*_plainly(parsed), strict=True)] == expected_rows
    assert [row.line for row in parsed.rejected] == expected_rejected


@settings(max_examples=300, deadline=None)
@given(WILD_FILES)
def test_every_byte_of_a_file_is_in_a_row_or_in_a_rejected_one(content: bytes) -> None:
    text, header = _opened(content, ",")
    try:
        parsed = parse_strict(text, header, ",", "file")
    except DeliveryError:
        return
    starts = sorted([*parsed.lines.to_pylist(), *(row.line for row in parsed.rejected)])
    assert len(set(starts)) == len(starts)
    assert (starts[:1] or [2]) == [2]
    rejected_lines = sum(row.raw.count("\n") + 1 for row in parsed.rejected)
    row_lines = sum(
        1 + sum((value or "").count("\n") for value in row) for row in _plainly(parsed)[0]
    )
    body = content[header.end :]
    assert rejected_lines + row_lines == body.count(b"\n") + (body[-1:] not in (b"", b"\n"))


def _opened(content: bytes, delimiter: str) -> tuple[Text, Header]:
    text = text_of(content, "utf-8", "file")
    return text, read_header(text, delimiter, "file")


def _plainly(parsed: Parsed) -> tuple[list[tuple[str | None, ...]], list[int]]:
    columns = [column.to_pylist() for column in parsed.rows.columns]
    return list(zip(*columns, strict=True)), parsed.lines.to_pylist()
