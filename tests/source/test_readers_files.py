"""Where a delivery is, and its bytes: paths, absent files, compression, encodings."""

from __future__ import annotations

import gzip
import hashlib
import re
from datetime import date
from pathlib import Path
from typing import Any, Literal
from zoneinfo import ZoneInfo

import pytest
import zstandard
from hypothesis import given
from hypothesis import strategies as st

from customer_pipeline.errors import (
    ConfigError,
    DeliveryError,
    MissingDeliveryError,
    TransientError,
)
from customer_pipeline.source.calendars import DailyPartitions
from customer_pipeline.source.delivery import Delivery
from customer_pipeline.source.feed import Feed
from customer_pipeline.source.partitions import Window
from customer_pipeline.source.places import delivery_path
from customer_pipeline.source.readers.delivered_file import read_file
from customer_pipeline.source.readers.text import readable
from customer_pipeline.source.reading import read_delivery

CSV = b"id,name\n1,Ada\n2,Grace\n"


@pytest.fixture
def window() -> Window:
    return DailyPartitions(date(2026, 1, 1), None, ZoneInfo("Asia/Tokyo")).window("2026-03-04")


def feed(path: Path | str, **fields: Any) -> Feed:
    return Feed.model_validate(
        {"reader": "csv", "path": str(path), "columns": {"id": {}, "name": {}}, **fields}
    )


def zstd(content: bytes) -> bytes:
    return zstandard.ZstdCompressor(write_checksum=True).compress(content)


@pytest.mark.parametrize(
    ("template", "path"),
    [
        ("/in/orders/{date}.csv", "/in/orders/2026-03-04.csv"),
        ("/in/{date:%Y/%m}/orders_{date:%Y%m%d}.csv", "/in/2026/03/orders_20260304.csv"),
        ("/in/{{date}}.csv", "/in/{date}.csv"),
        ("/in/latest.csv", "/in/latest.csv"),
    ],
)
def test_a_path_takes_the_partitions_day(template: str, path: str, window: Window) -> None:
    assert delivery_path(feed(template), window) == Path(path)


@pytest.mark.parametrize(
    "template",
    [
        "/in/{day}.csv",
        "/in/{date.__class__}.csv",
        "/in/{date!r}.csv",
        "/in/{date:{date}}.csv",
        "/in/{}.csv",
        "/in/{date.csv",
        "/in/date}.csv",
    ],
)
def test_a_path_that_names_anything_else_is_refused(template: str, window: Window) -> None:
    with pytest.raises(ConfigError, match="cannot be used"):
        delivery_path(feed(template), window)


def test_a_file_is_read_by_its_feeds_reader(tmp_path: Path, window: Window) -> None:
    (tmp_path / "2026-03-04.csv").write_bytes(CSV)
    (tmp_path / "2026-03-04.jsonl").write_bytes(b'{"id": 1, "name": "Ada"}\n')
    assert read_delivery(feed(tmp_path / "{date}.csv"), window).row_count == 2
    jsonl = feed(tmp_path / "{date}.jsonl", reader="jsonl")
    assert read_delivery(jsonl, window).rows["name"].to_pylist() == ["Ada"]


def test_an_absent_file_is_a_missing_delivery_that_names_it(tmp_path: Path, window: Window) -> None:
    for reader in ("csv", "jsonl", "parquet"):
        path = tmp_path / "no-folder" / "{date}"
        with pytest.raises(MissingDeliveryError, match="no-folder/2026-03-04"):
            read_delivery(feed(path, reader=reader), window)


def test_a_folder_in_place_of_the_file_is_no_missing_delivery(tmp_path: Path) -> None:
    with pytest.raises(DeliveryError, match="cannot be opened") as caught:
        read_file(tmp_path, "none")
    assert not isinstance(caught.value, MissingDeliveryError)


def test_a_failing_disk_may_be_tried_again(tmp_path: Path) -> None:
    loop = tmp_path / "loop.csv"
    loop.symlink_to(loop)
    with pytest.raises(TransientError, match=r"loop\.csv"):
        read_file(loop, "none")


@pytest.mark.parametrize(
    ("compression", "packed"),
    [
        ("none", CSV),
        ("gzip", gzip.compress(CSV, mtime=0)),
        ("gzip", gzip.compress(CSV[:9], mtime=0) + gzip.compress(CSV[9:], mtime=0)),
        ("zstd", zstd(CSV)),
        ("zstd", zstd(CSV[:9]) + zstd(CSV[9:])),
        ("zstd", b"\x50\x2a\x4d\x18\x04\0\0\0skip" + zstd(CSV)),
    ],
)
def test_a_packed_file_is_unpacked_and_known_by_its_packed_bytes(
    compression: str, packed: bytes, tmp_path: Path
) -> None:
    path = tmp_path / "orders"
    path.write_bytes(packed)
    delivery = read_delivery_of(path, compression)
    assert delivery.rows["name"].to_pylist() == ["Ada", "Grace"]
    assert delivery.fingerprint == hashlib.sha256(packed).hexdigest()
    assert delivery.size == len(packed)


@pytest.mark.parametrize("compression", ["gzip", "zstd"])
@pytest.mark.parametrize("pack_then", ["cut", "go on", "flip a bit", "empty", "plain"])
def test_damaged_packed_data_is_refused(compression: str, pack_then: str, tmp_path: Path) -> None:
    packed = gzip.compress(CSV * 50, mtime=0) if compression == "gzip" else zstd(CSV * 50)
    middle = len(packed) // 2
    damaged = {
        "cut": packed[:-1],
        "go on": packed + b"garbage",
        "flip a bit": packed[:middle] + bytes([packed[middle] ^ 0x10]) + packed[middle + 1 :],
        "empty": b"",
        "plain": CSV,
    }[pack_then]
    path = tmp_path / "orders"
    path.write_bytes(damaged)
    with pytest.raises(DeliveryError, match=str(path)):
        read_delivery_of(path, compression)


@pytest.mark.parametrize("compression", ["gzip", "zstd"])
def test_a_packed_file_that_is_cut_anywhere_is_refused(
    compression: Literal["gzip", "zstd"], tmp_path: Path
) -> None:
    packed = gzip.compress(CSV, mtime=0) if compression == "gzip" else zstd(CSV)
    path = tmp_path / "orders"
    for length in range(len(packed)):
        path.write_bytes(packed[:length])
        with pytest.raises(DeliveryError):
            read_file(path, compression)


@pytest.mark.parametrize(
    ("found", "packed"), [("gzip", gzip.compress(CSV, mtime=0)), ("zstd", zstd(CSV))]
)
def test_a_packed_file_declared_plain_is_named_for_what_it_is(
    found: str, packed: bytes, tmp_path: Path
) -> None:
    path = tmp_path / "orders"
    path.write_bytes(packed)
    with pytest.raises(DeliveryError, match=f"declares uncompressed data, but the file is {found}"):
        read_delivery_of(path, "none")


@pytest.mark.parametrize(
    "encoding", ["utf-8", "utf-8-sig", "utf-16", "utf-16-le", "utf-32", "cp1252", "cp037"]
)
def test_a_declared_encoding_is_decoded(encoding: str, tmp_path: Path) -> None:
    path = tmp_path / "orders.csv"
    path.write_bytes("id,name\n1,José\n".encode(encoding))
    delivery = read_delivery_of(path, "none", encoding=encoding)
    assert delivery.rows["name"].to_pylist() == ["José"]


def test_a_byte_order_mark_is_no_part_of_the_header_in_any_encoding(tmp_path: Path) -> None:
    path = tmp_path / "orders.csv"
    for encoding in ("utf-8", "utf-16-le", "utf-32-be"):
        path.write_bytes("\ufeffid,name\n1,Ada\n".encode(encoding))
        assert read_delivery_of(path, "none", encoding=encoding).row_count == 1


@pytest.mark.parametrize(
    ("encoding", "mark"),
    [("utf-8", "utf-16"), ("utf-8", "utf-32"), ("latin-1", "utf-8-sig"), ("utf-16", "utf-8-sig")],
)
def test_the_byte_order_mark_of_another_encoding_is_refused(
    encoding: str, mark: str, tmp_path: Path
) -> None:
    path = tmp_path / "orders.csv"
    path.write_bytes(CSV.decode().encode(mark))
    with pytest.raises(DeliveryError, match="byte order mark of " + mark.removesuffix("-sig")):
        read_delivery_of(path, "none", encoding=encoding)


def test_utf_16_that_ends_inside_a_character_is_refused_with_the_offset(tmp_path: Path) -> None:
    path = tmp_path / "orders.csv"
    path.write_bytes(CSV.decode().encode("utf-16-le")[:-1])
    with pytest.raises(DeliveryError, match=r"not valid utf-16-le: .* position"):
        read_delivery_of(path, "none", encoding="utf-16-le")


def test_only_the_lines_with_invalid_bytes_are_lost_in_another_encoding(tmp_path: Path) -> None:
    path = tmp_path / "orders.csv"
    # 0x81 is no character of cp1252; 0x85 is its ellipsis, which is no line end.
    path.write_bytes(b"id,name\n1,Jos\xe9\x85\n2,\x81\n")
    delivery = read_delivery_of(path, "none", encoding="cp1252")
    assert delivery.rows["name"].to_pylist() == ["José…"]
    assert [(row.line, row.raw) for row in delivery.rejected] == [(3, r"2,\x81")]
    assert "byte 0x81 at byte offset 18 is not valid cp1252" in delivery.rejected[0].reason


def test_bytes_that_are_wrong_in_their_encoding_are_not_taken_for_utf_8(tmp_path: Path) -> None:
    path = tmp_path / "orders.csv"
    # An Á in UTF-8; in cp1252 the second byte is nothing.
    path.write_bytes(b"id,name\n1,\xc3\x81\n")
    delivery = read_delivery_of(path, "none", encoding="cp1252")
    assert [row.raw for row in delivery.rejected] == [r"1,Ã\x81"]


@given(st.binary().filter(lambda raw: b"\\" not in raw))
def test_the_raw_text_of_a_line_gives_its_bytes_back(raw: bytes) -> None:
    shown = readable(raw + b"\r\n", "utf-8")
    assert "\0" not in shown
    unescaped = re.sub(
        rb"\\x([0-9a-f]{2})", lambda hit: bytes.fromhex(hit[1].decode()), shown.encode()
    )
    assert unescaped == raw


def read_delivery_of(path: Path, compression: str, **fields: Any) -> Delivery:
    window = DailyPartitions(date(2026, 1, 1), None, ZoneInfo("UTC")).window("2026-03-04")
    return read_delivery(feed(path, compression=compression, **fields), window)
