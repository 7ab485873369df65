"""JSON Lines files: values as texts, rejected lines, and keys as columns."""

from __future__ import annotations

import gzip
import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pyarrow as pa
import pytest
from hypothesis import given
from hypothesis import strategies as st

from customer_pipeline.errors import DeliveryError
from customer_pipeline.source.delivery import Delivery
from customer_pipeline.source.drift import ColumnsError, Drift
from customer_pipeline.source.feed import Feed
from customer_pipeline.source.readers.json_text import BadJsonError, parse_line
from customer_pipeline.source.readers.jsonl_file import read_jsonl

Read = Callable[..., Delivery]


@pytest.fixture
def read(tmp_path: Path) -> Read:
    """Reads bytes as a JSON Lines file of the columns given (default: id, v)."""

    def read(content: bytes, *, columns: dict[str, Any] | None = None, **fields: Any) -> Delivery:
        path = tmp_path / "events.jsonl"
        path.write_bytes(content)
        declared = {"reader": "jsonl", "path": str(path), "columns": columns or {"id": {}, "v": {}}}
        return read_jsonl(path, Feed.model_validate(declared | fields))

    return read


@pytest.mark.parametrize(
    ("value", "text"),
    [
        ('"NULL"', "NULL"),
        ('""', ""),
        ('" \\u00e9\\n"', " é\n"),
        ('"\\ud83d\\udc36"', "🐶"),
        ("null", None),
        ("true", "true"),
        ("false", "false"),
        ("0", "0"),
        ("-0", "-0"),
        ("1.50", "1.50"),
        ("9007199254740993", "9007199254740993"),
        ("12345678901234567890.12345678901234567890", "12345678901234567890.12345678901234567890"),
        ("1E400", "1E400"),
        ("9" * 5000, "9" * 5000),
        ('[1.50, "1.50", null, true]', '[1.50,"1.50",null,true]'),
        ('{"a": {"é\\"": []}, "b": {}}', '{"a":{"é\\"":[]},"b":{}}'),
        ('["\\u0000"]', '["\\u0000"]'),
    ],
)
def test_a_value_becomes_a_text_that_loses_nothing(
    read: Read, value: str, text: str | None
) -> None:
    delivery = read(f'{{"id": 1, "v": {value}}}\n'.encode())
    assert delivery.rows.to_pylist() == [{"id": "1", "v": text, "_line": 1}]
    assert delivery.rows.schema.types == [pa.string(), pa.string(), pa.int64()]


@pytest.mark.parametrize(
    ("line", "reason"),
    [
        (b"", "a blank line"),
        (b" \t", "a blank line"),
        (b"7", "not a JSON object"),
        (b'[{"id": 7}]', "not a JSON object"),
        (b'{"id": 7', "not JSON: "),
        (b'{"id": "7}', "not JSON: "),
        (b'{"id": 7,}', "not JSON: "),
        (b"{'id': 7}", "not JSON: "),
        (b'{"id": 07}', "not JSON: "),
        (b'{"id": "a\tb"}', "not JSON: "),
        (b'\xef\xbb\xbf{"id": 7}', "not JSON: "),
        (b'{"id": 7}{"id": 8}', "more than one JSON value: the second begins at character 10"),
        (b'{"id": 7}\r{"id": 8}', "more than one JSON value"),
        (b'{"id": 7} TRAILER', "more than one JSON value"),
        (b'{"id": NaN}', "NaN is not JSON"),
        (b'{"id": -Infinity}', "-Infinity is not JSON"),
        (b'{"id": 7, "v": 1, "id": 8}', "the key 'id' occurs twice in one object"),
        (b'{"id": 7, "v": {"a": 1, "a": 1}}', "the key 'a' occurs twice in one object"),
        (b'{"id": "\xff"}', "byte 0xff at byte offset 26 is not valid utf-8"),
        (b'{"id": "\\u0000"}', "a NUL character in a string"),
        (b'{"id": "\\ud83d"}', "half a surrogate pair in a string"),
        (b'{"id": ["\\udc36"]}', "half a surrogate pair in a string"),
        (b'{"id": ' + b"[" * 100_000 + b"]" * 100_000 + b"}", "nested too deeply"),
    ],
)
@pytest.mark.parametrize("end", [b"\n", b"\r\n"])
def test_a_line_that_is_no_record_is_rejected_alone(
    read: Read, line: bytes, reason: str, end: bytes
) -> None:
    delivery = read(b'{"id": 1, "v": 2}\n' + line + end + b'{"id": 3, "v": 4}\n')
    assert delivery.rows["id"].to_pylist() == ["1", "3"]
    assert delivery.rows["_line"].to_pylist() == [1, 3]
    assert [(row.line, row.raw) for row in delivery.rejected] == [
        (2, line.decode("utf-8", "backslashreplace"))
    ]
    assert delivery.rejected[0].reason.startswith(reason)


def test_a_key_absent_on_some_lines_is_null_there(read: Read) -> None:
    delivery = read(b'{"id": 1}\n{"v": 2}\n')
    assert delivery.rows["id"].to_pylist() == ["1", None]
    assert delivery.rows["v"].to_pylist() == [None, "2"]
    assert delivery.warnings == ()


def test_a_key_absent_on_all_lines_is_an_absent_column(read: Read) -> None:
    content = b'{"id": 1}\n{"id": 2}\n'
    with pytest.raises(DeliveryError, match="lacks columns that the feed declares: 'v'"):
        read(content)
    delivery = read(content, columns={"id": {}, "v": {"optional": True}})
    assert delivery.rows["v"].to_pylist() == [None, None]
    assert delivery.warnings == ("column 'v' is absent: its values are null",)


def test_a_new_key_stops_the_file_or_is_ignored_with_a_warning(read: Read) -> None:
    content = b'{"id": 1, "v": 2}\n{"id": 1, "v": 2, "loyalty": "gold"}\n'
    with pytest.raises(DeliveryError, match=r"'loyalty' \(first on line 2\)"):
        read(content)
    delivery = read(content, new_columns="ignore")
    assert delivery.rows.column_names == ["id", "v", "_line"]
    assert delivery.warnings == ("new columns are ignored: 'loyalty'",)


def test_a_renamed_key_suggests_the_rename(read: Read) -> None:
    with pytest.raises(DeliveryError, match=r"set 'from: \[e_mail, email\]'"):
        read(b'{"id": 1, "e_mail": "a@b"}\n', columns={"id": {}, "email": {}})


@pytest.mark.parametrize("content", [b"", b"\xef\xbb\xbf"])
def test_a_file_without_bytes_is_an_empty_delivery_only_where_it_is_known_to_be_complete(
    read: Read, content: bytes
) -> None:
    with pytest.raises(DeliveryError, match=r"only just being written .*'ready_when'"):
        read(content)
    with pytest.raises(DeliveryError, match="the file is empty"):
        read(content, final_newline="optional")
    # gzip has an end of its own, which a file that is being written lacks.
    assert read(gzip.compress(content), compression="gzip").row_count == 0
    delivery = read(content, ready_when={"quiet_for": 60})
    assert delivery.row_count == 0
    assert delivery.rows.column_names == ["id", "v", "_line"]


def test_a_key_that_is_called_otherwise_from_some_line_on_stops_the_file(read: Read) -> None:
    content = b'{"id": 1, "email": "a@b"}\n{"id": 2, "e_mail": "c@d"}\n'
    columns = {"id": {}, "email": {}}
    with pytest.raises(ColumnsError, match=r"called 'e_mail' .*first on line 2") as refused:
        read(content, columns=columns, new_columns="ignore")
    assert refused.value.drift == (Drift("email", "renamed", "e_mail", refuses=True),)
    fields = {"new_columns": "ignore", "ignored_columns": ["e_mail"]}
    assert read(content, columns=columns, **fields).drift == ()


def test_a_new_key_beside_the_one_that_it_is_like_or_in_place_of_one_unlike_it_is_new(
    read: Read,
) -> None:
    content = (
        b'{"id": 1, "email": "a@b"}\n{"id": 2, "e_mail": "c@d"}\n'
        b'{"id": 3, "email": "e@f", "e_mail": "g@h"}\n{"id": 4, "loyalty": "gold"}\n'
    )
    delivery = read(content, columns={"id": {}, "email": {}}, new_columns="ignore")
    assert delivery.drift == (Drift("e_mail", "new"), Drift("loyalty", "new"))


def test_a_byte_order_mark_is_no_part_of_the_first_line(read: Read) -> None:
    assert read(b'\xef\xbb\xbf{"id": 1, "v": 2}\n').row_count == 1


def test_a_file_whose_lines_are_all_rejected_has_no_rows(read: Read) -> None:
    delivery = read(b"id,v\n1,2\n")
    assert (delivery.rows.num_rows, len(delivery.rejected)) == (0, 2)


def test_a_file_that_is_cut_off_is_refused_unless_the_feed_says_otherwise(read: Read) -> None:
    content = b'{"id": 1, "v": 2}\n{"id": 3, "v": 4}'
    with pytest.raises(DeliveryError, match="cut off on line 2"):
        read(content)
    assert read(content, final_newline="optional").row_count == 2


JSON = st.recursive(
    st.none() | st.booleans() | st.integers() | st.text(st.characters(codec="utf-8")),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.text(max_size=3), inner),
    max_leaves=8,
)


@given(JSON, st.booleans())
def test_the_text_of_a_value_says_what_the_json_said(value: Any, ascii_only: bool) -> None:
    line = json.dumps({"v": value}, ensure_ascii=ascii_only)
    if isinstance(value, str) and "\0" in value:
        with pytest.raises(BadJsonError, match="NUL"):
            parse_line(line, ["v"])
        return
    _, [text] = parse_line(line, ["v"])
    if value is None or isinstance(value, str):
        assert text == value
    else:
        assert text is not None and json.loads(text) == value
        assert text == json.dumps(value, ensure_ascii=False, separators=(",", ":"))
