"""Bad and odd files out of public test suites, each against what is to become of it.

`messy/MANIFEST.md` in the test data says where each file is from, and proposes an outcome.
"""

from __future__ import annotations

import json
from collections.abc import Iterable
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import pytest

from customer_pipeline.errors import DeliveryError
from customer_pipeline.source.delivery import Delivery
from customer_pipeline.source.feed import Feed
from customer_pipeline.source.readers.csv_file import read_csv
from customer_pipeline.source.readers.jsonl_file import read_jsonl
from customer_pipeline.source.readers.parquet_file import read_parquet

READERS = {"csv": read_csv, "jsonl": read_jsonl, "parquet": read_parquet}
ORDERS = [
    *("InvoiceNo", "StockCode", "Description", "Quantity"),
    *("InvoiceDate", "UnitPrice", "CustomerID", "Country"),
]
UNENDED = {"final_newline": "optional"}


@dataclass(frozen=True)
class Rows:
    """The file is read: so many rows, the first of them, and the lines rejected with reasons."""

    count: int
    first: tuple[tuple[str | None, ...], ...] = ()
    rejected: dict[int, str] = field(default_factory=dict)


@dataclass(frozen=True)
class Refused:
    """The file is refused as a whole, with a message like this."""

    message: str


@dataclass(frozen=True)
class Case:
    file: str
    columns: Iterable[str]
    outcome: Rows | Refused
    settings: dict[str, Any] = field(default_factory=dict)

    @property
    def reader(self) -> str:
        suffix = Path(self.file.removesuffix(".gz").removesuffix(".zst")).suffix
        return {".csv": "csv", ".json": "jsonl", ".ndjson": "jsonl", ".parquet": "parquet"}[suffix]


CSV_CASES = [
    Case("bom_utf8.csv", ["id", "name"], Rows(2, (("1", "Mark"), ("2", "Hannes")))),
    Case("bom_utf8_nonascii.csv", ["id", "name"], Rows(2, (("1", "english"), ("2", "中国人")))),
    Case(
        "latin1.csv",
        ["name", "age"],
        Rows(
            0,
            rejected={2: "0xe9 at byte offset 13"} | dict.fromkeys(range(3, 14), "not valid utf-8"),
        ),
    ),
    Case(
        "latin1.csv",
        ["name", "age"],
        Rows(12, (("José Álvarez", "30"), ("Müller", "25"))),
        {"encoding": "latin-1"},
    ),
    Case("utf16le_bom.csv", ["name", "age"], Refused("has the byte order mark of utf-16")),
    Case(
        "utf16le_bom.csv",
        ["name", "age"],
        Rows(20, (("José Álvarez", "30"),)),
        {"encoding": "utf-16"},
    ),
    Case("invalid_utf8.csv", ["bla"], Refused("has the byte order mark of utf-16")),
    Case(
        "nul_in_value.csv",
        ["col1", "col2", "col3"],
        Rows(0, rejected={2: "a NUL byte"}),
        {"delimiter": "|"},
    ),
    Case("empty_0_bytes.csv", ["id"], Refused("has not even a header")),
    Case("header_only.csv", ["abs_file_name"], Refused("cut off on line 1")),
    Case("header_only.csv", ["abs_file_name"], Rows(0), UNENDED),
    Case("header_only_2cols.csv", ["Name", "Address"], Refused("cut off on line 1")),
    Case("header_only_2cols.csv", ["Name", "Address"], Rows(0), UNENDED),
    Case("blank_first_line.csv", ["a"], Refused("header line cannot be read: a blank line")),
    Case("duplicate_headers.csv", ["id", "name", "age"], Refused("'id' twice")),
    Case("duplicate_header_collision.csv", ["a", "b", "a_1"], Refused("'a' twice")),
    Case("blank_header.csv", ["id", "age"], Refused("column 2 has no name")),
    Case("without_headers.csv", ["id", "language"], Refused("lacks .*'id', 'language'.*'english'")),
    Case("mixed_newlines.csv", ["a", "b", "c"], Refused("lacks .*'a', 'b', 'c'")),
    # Its first line taken for a header: the other two lines end in CRLF and in LF.
    Case("mixed_newlines.csv", "123", Rows(2, (("4", "5", "6"), ("7", "8", "9")))),
    Case("quoted_newline.csv", ["col1"], Rows(1, (("cell with\nnewline",),)), UNENDED),
    Case(
        "embedded_newlines_emoji.csv",
        ["content"],
        Rows(1, rejected={11: "2 fields instead of 1"}),
    ),
    Case("unterminated_quote.csv", ["AAA"], Refused("a quoted field is still open")),
    Case("duplicate_rows.csv", ["id", "name", "age"], Rows(3)),
    Case("leading_zeros.csv", ["value"], Refused("cut off on line 4")),
    Case("leading_zeros.csv", ["value"], Rows(3, (("01",), ("002",), ("00003",))), UNENDED),
    Case("decimal_mixed.csv", "AB", Rows(5, (("1", "5,5"),)), {"delimiter": ";"} | UNENDED),
    Case("mixed_dates.csv", "AB", Rows(5, (("1", "2024-03-08"),)), UNENDED),
    Case("mixed_timestamps.csv", "AB", Rows(5, (("1", "2024-03-08 01:25:58"),)), UNENDED),
    Case(
        "timezone_offsets.csv",
        ["id", "timestamp"],
        Rows(2, (("0", "2020-01-01T15:00:00Z"), ("1", "2020-01-01T15:00:00+03:00"))),
        {"delimiter": ";"},
    ),
    Case(
        "quoted_nulls.csv",
        ["name", "age", "height"],
        Rows(3, (("Pedro", "31", "1.73"), ("Mark", "null", None), ("Thijs", "26", "none"))),
    ),
    Case(
        "shifted_columns.csv",
        "abc",
        Rows(2, rejected={3: "6 fields instead of 3"}),
        {"delimiter": ";"} | UNENDED,
    ),
    Case(
        "broken.csv.zst",
        ["rsid_num", "chr", "pos", "refb", "altb"],
        Rows(100, (("3", "13", "32446842", "C", "T"),)),
        {"compression": "zstd"},
    ),
    Case("orders_truncated.csv.gz", ORDERS, Refused("cut off or damaged"), {"compression": "gzip"}),
    Case(
        "orders_trailing_garbage.csv.gz",
        ORDERS,
        Refused("cut off or damaged"),
        {"compression": "gzip"},
    ),
    Case("orders_truncated_midline.csv", ORDERS, Refused("cut off on line 292")),
    Case(
        "orders_truncated_midline.csv",
        ORDERS,
        Rows(290, rejected={292: "5 fields instead of 8"}),
        UNENDED,
    ),
    Case(
        "orders_text_named.csv.gz",
        ORDERS,
        Refused("declares gzip data, but the file is uncompressed"),
        {"compression": "gzip"},
    ),
    Case("orders_dup_all.csv", ORDERS, Rows(582)),
]
JSON_CASES = [
    Case(
        "unterminated_string.ndjson",
        ["id", "name"],
        Rows(4, (("1", "O Brother, Where Art Thou?"),), rejected={3: "not JSON"}),
    ),
    Case("non_object_line.ndjson", ["data"], Rows(1, (("0",),))),
    Case(
        "multi_objects_per_line.ndjson",
        ["id", "name"],
        Rows(0, rejected={1: "more than one JSON value"}),
    ),
    Case("trailing_content.ndjson", ["a"], Rows(2, rejected={2: "more than one JSON value"})),
    Case("empty.ndjson", ["a"], Refused("the file is empty")),
    Case("empty.ndjson", ["a"], Rows(0), {"ready_when": {"suffix": ".done"}}),
    Case("nan.json", ["a"], Rows(0, rejected={1: "NaN is not JSON"}), UNENDED),
    Case("invalid_utf8.json", ["a"], Rows(0, rejected={1: "byte 0xff at byte offset 2"}), UNENDED),
    Case("huge_exponent.json", ["a"], Rows(0, rejected={1: "not a JSON object"}), UNENDED),
    Case("trailing_comma.json", ["id"], Rows(0, rejected={1: "not JSON"}), UNENDED),
]
PARQUET_CASES = [
    Case("corrupt_schema.parquet", ["a"], Refused("cannot be read as Parquet")),
    Case("bad_rep_levels.parquet", ["a"], Refused("repetition level")),
    Case("nulls_in_required.parquet", ["a"], Refused("cannot be read as Parquet")),
    Case("corrupt_checksum.parquet", ["a"], Refused("CRC")),
    Case("broken_date_stats.parquet", ["a"], Refused("cannot be read as Parquet")),
    Case("orders_truncated.parquet", ORDERS, Refused("magic bytes")),
    Case("orders_zero.parquet", ORDERS, Refused("file size is 0")),
]
CASES = [*CSV_CASES, *JSON_CASES, *PARQUET_CASES]
# Read in tests of their own, below.
APART = {"taxi_crlf_in_last_column.csv", "utf8_bom.json"}


def read(messy: Path, case: Case) -> Delivery:
    path = messy / case.file
    columns = {f"c{number}": {"from": name} for number, name in enumerate(case.columns)}
    feed = {"reader": case.reader, "path": str(path), "columns": columns, **case.settings}
    return READERS[case.reader](path, Feed.model_validate(feed))


def rows_of(delivery: Delivery) -> list[tuple[Any, ...]]:
    return [tuple(row.values()) for row in delivery.rows.drop_columns("_line").to_pylist()]


@pytest.fixture
def messy(test_data: Path) -> Path:
    return test_data / "messy"


@pytest.mark.parametrize(
    "case", CASES, ids=lambda case: " ".join([case.file, *map(str, case.settings.values())])
)
def test_a_messy_file_has_its_outcome(messy: Path, case: Case) -> None:
    if isinstance(case.outcome, Refused):
        with pytest.raises(DeliveryError, match=case.outcome.message) as caught:
            read(messy, case)
        assert str(messy / case.file) in str(caught.value)
        return
    delivery = read(messy, case)
    rows = rows_of(delivery)
    assert len(rows) == case.outcome.count
    assert rows[: len(case.outcome.first)] == list(case.outcome.first)
    reasons = {row.line: row.reason for row in delivery.rejected}
    assert reasons.keys() == case.outcome.rejected.keys()
    for line, reason in case.outcome.rejected.items():
        assert reason in reasons[line]


def test_every_messy_file_has_a_case(messy: Path) -> None:
    files = {path.name for path in messy.iterdir() if path.is_file()} - {"MANIFEST.md"}
    assert files == {case.file for case in CASES} | APART


def test_real_taxi_lines_that_end_in_crlf_after_a_header_in_lf_leave_no_trace(messy: Path) -> None:
    file = "taxi_crlf_in_last_column.csv"
    header = (messy / file).read_text().splitlines()[0].split(",")
    delivery = read(messy, Case(file, header, Rows(200)))
    assert header[-1] == "congestion_surcharge"
    surcharges = delivery.rows["congestion_surcharge"]
    assert (len(surcharges), set(surcharges.to_pylist())) == (200, {None, "0.0"})


def test_a_pretty_printed_document_is_rejected_line_by_line(messy: Path) -> None:
    file = "utf8_bom.json"
    delivery = read(messy, Case(file, ["users"], Rows(0), UNENDED))
    lines = (messy / file).read_text("utf-8-sig").splitlines()
    assert delivery.rows.num_rows == 0
    assert [row.raw for row in delivery.rejected] == lines


SPECTRUM = [
    *("comma_in_quotes", "escaped_quotes", "quotes_and_newlines", "json", "utf8"),
    *("empty", "empty_crlf", "newlines", "newlines_crlf", "simple", "simple_crlf"),
]


@pytest.mark.parametrize("name", SPECTRUM)
def test_the_csv_spectrum_reads_as_the_json_beside_it(messy: Path, name: str) -> None:
    truth = json.loads((messy / "csv-spectrum" / f"{name}.json").read_bytes())
    delivery = read(messy, Case(f"csv-spectrum/{name}.csv", truth[0], Rows(len(truth)), UNENDED))
    assert rows_of(delivery) == [tuple(text or None for text in row.values()) for row in truth]
    assert delivery.rejected == ()


def test_a_quote_in_the_middle_of_coordinates_is_kept(messy: Path) -> None:
    truth = json.loads((messy / "csv-spectrum" / "location_coordinates.json").read_bytes())
    case = Case("csv-spectrum/location_coordinates.csv", truth, Rows(1), UNENDED)
    [(phone, *others)] = rows_of(read(messy, case))
    # The JSON beside it has another telephone number.
    assert (phone, others) == ("2095257564", list(truth.values())[1:])


def test_every_file_of_the_csv_spectrum_is_read(messy: Path) -> None:
    files = {path.stem for path in (messy / "csv-spectrum").iterdir()}
    assert files == {*SPECTRUM, "location_coordinates"}
