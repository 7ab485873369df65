"""Parquet files: typed columns as they are, and damaged files refused whole."""

from __future__ import annotations

import hashlib
import io
from decimal import Decimal
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from customer_pipeline.errors import DeliveryError
from customer_pipeline.source.delivery import Delivery
from customer_pipeline.source.feed import Feed
from customer_pipeline.source.readers.parquet_file import read_parquet

TYPED = pa.table(
    {
        "id": pa.array([9007199254740993, None]),
        "price": pa.array([Decimal("1.10"), Decimal("-2.00")]),
        "at": pa.array([0, 1], pa.timestamp("us", "UTC")),
        "tags": pa.array([["a"], None]),
        "place": pa.array([{"city": "Ulm"}, {"city": None}]),
        "kind": pa.array(["x", "x"]).dictionary_encode(),
    }
)


def parquet(table: pa.Table, **options: Any) -> bytes:
    out = io.BytesIO()
    pq.write_table(table, out, **options)
    return out.getvalue()


def read(folder: Path, content: bytes, columns: dict[str, Any], **fields: Any) -> Delivery:
    path = folder / "orders.parquet"
    path.write_bytes(content)
    declared = {"reader": "parquet", "path": str(path), "columns": columns}
    return read_parquet(path, Feed.model_validate(declared | fields))


def test_columns_keep_their_types_and_rows_are_numbered(tmp_path: Path) -> None:
    content = parquet(TYPED)
    delivery = read(tmp_path, content, {name: {} for name in TYPED.column_names})
    assert delivery.rows.drop_columns("_line") == TYPED
    assert delivery.rows["_line"].to_pylist() == [1, 2]
    assert delivery.rows.schema.field("_line").type == pa.int64()
    assert (delivery.fingerprint, delivery.size) == (
        hashlib.sha256(content).hexdigest(),
        len(content),
    )


def test_columns_follow_the_same_rules_as_in_a_csv_file(tmp_path: Path) -> None:
    content = parquet(TYPED)
    with pytest.raises(DeliveryError, match="does not declare: 'price', 'at', 'tags'"):
        read(tmp_path, content, {"id": {}})
    with pytest.raises(DeliveryError, match=r"lacks .*'prices'.*'from: \[price, prices\]'"):
        read(tmp_path, content, {"id": {}, "prices": {}})
    delivery = read(tmp_path, content, {"id": {}, "note": {"optional": True}}, new_columns="ignore")
    assert delivery.rows.column_names == ["id", "note", "_line"]
    assert delivery.rows.schema.field("note").type == pa.string()
    assert len(delivery.warnings) == 2


def test_a_column_of_nothing_but_nulls_is_text(tmp_path: Path) -> None:
    delivery = read(tmp_path, parquet(pa.table({"id": pa.nulls(2)})), {"id": {}})
    assert delivery.rows.schema.field("id").type == pa.string()
    assert delivery.rows["id"].null_count == 2


def test_a_file_without_rows_is_an_empty_delivery(tmp_path: Path) -> None:
    delivery = read(tmp_path, parquet(TYPED.slice(0, 0)), {n: {} for n in TYPED.column_names})
    assert delivery.row_count == 0


def test_two_columns_of_one_name_are_refused(tmp_path: Path) -> None:
    table = pa.Table.from_arrays([pa.array([1]), pa.array([2])], names=["id", "ID"])
    with pytest.raises(DeliveryError, match="both 'id' and 'ID'"):
        read(tmp_path, parquet(table), {"id": {}})


def test_texts_that_are_no_utf_8_are_refused(tmp_path: Path) -> None:
    broken = pa.array([b"Jos\xe9"]).view(pa.string())
    with pytest.raises(DeliveryError, match=r"cannot be read as Parquet: .*UTF8"):
        read(tmp_path, parquet(pa.table({"id": broken})), {"id": {}})


def test_a_flipped_bit_is_found_by_the_page_checksum(tmp_path: Path) -> None:
    table = pa.table({"id": pa.array(range(1000))})
    content = bytearray(
        parquet(table, write_page_checksum=True, compression="none", use_dictionary=False)
    )
    content[2000] ^= 1
    with pytest.raises(DeliveryError, match="CRC"):
        read(tmp_path, bytes(content), {"id": {}})


CONTENT = parquet(TYPED, write_page_checksum=True)


@settings(max_examples=150, deadline=None)
@given(st.integers(0, len(CONTENT) - 1), st.integers(0, 255), st.booleans())
def test_a_damaged_file_is_refused_or_read_but_never_a_crash(
    tmp_path_factory: pytest.TempPathFactory, at: int, byte: int, cut: bool
) -> None:
    damaged = CONTENT[:at] if cut else CONTENT[:at] + bytes([byte]) + CONTENT[at + 1 :]
    try:
        delivery = read(
            tmp_path_factory.getbasetemp(), damaged, {name: {} for name in TYPED.column_names}
        )
    except DeliveryError:
        return
    assert not cut
    delivery.rows.validate(full=True)
