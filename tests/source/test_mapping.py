"""The mapping query: which values become which, which rows are refused, and in which words."""

from __future__ import annotations

import csv
import re
import shutil
from collections.abc import Sequence
from datetime import UTC, date, datetime, timedelta
from decimal import Context, Decimal
from functools import cache
from pathlib import Path
from typing import Any
from zoneinfo import ZoneInfo

import duckdb
import pyarrow as pa
import pytest
from hypothesis import example, given, settings
from hypothesis import strategies as st

from customer_pipeline.errors import DeliveryError
from customer_pipeline.quoting import literal
from customer_pipeline.source.calendars import DailyPartitions, HourlyPartitions
from customer_pipeline.source.feed import Feed
from customer_pipeline.source.mapping.query import exact_rows, mapping_query
from customer_pipeline.source.mapping.text_casts import sql_type
from customer_pipeline.source.partitions import Window
from customer_pipeline.source.yaml.source_file import load_source

_WIDE = Context(prec=400)
RETAIL = "customer_pipeline/source/online_retail.yaml"


@pytest.fixture(scope="module")
def retail_days(test_data: Path, tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("retail")
    shutil.unpack_archive(test_data / "online_retail" / "dev_2010-12_to_2011-06.tar.gz", folder)
    return folder / "by-day"


def window(day: str = "2026-03-01", zone: str = "Europe/London") -> Window:
    return DailyPartitions(date(2000, 1, 1), None, ZoneInfo(zone)).window(day)


def wall(text: str) -> datetime:
    """A time without a zone."""
    return datetime.fromisoformat(text)


def feed_of(columns: dict[str, Any], **fields: Any) -> Feed:
    return Feed.model_validate({"reader": "csv", "path": "{date}", "columns": columns} | fields)


@cache
def database() -> duckdb.DuckDBPyConnection:
    return duckdb.connect()


def mapped_table(feed: Feed, delivered: pa.Table, window: Window, session: str) -> pa.Table:
    """The mapped rows of `delivered`, lines counted from 2, in a session of another time zone."""
    delivered = delivered.append_column(
        "_line", pa.array(range(2, delivered.num_rows + 2), pa.int64())
    )
    query = mapping_query(feed, delivered.schema, window, str(window.start.tzinfo))
    database().execute(f"set TimeZone = '{session}'")
    database().register("delivered", delivered)
    return database().execute(query).to_arrow_table()


def mapped(
    feed: Feed,
    delivered: dict[str, Sequence[Any] | pa.Array],
    *,
    day: str = "2026-03-01",
    zone: str = "Europe/London",
    session: str = "Asia/Tokyo",
) -> list[dict[str, Any]]:
    """The mapped rows of `delivered`, in which lists are texts."""
    table = pa.table(
        {
            name: values if isinstance(values, pa.Array) else pa.array(values, pa.string())
            for name, values in delivered.items()
        }
    )
    return mapped_table(feed, table, window(day, zone), session).to_pylist()


def one(column: dict[str, Any], value: Any, kind: pa.DataType | None = None, **where: Any) -> Any:
    """What becomes of one value `x`: the typed value, or the reason why not."""
    array = pa.array([value], kind or pa.string())
    reader = {"reader": "parquet"} if kind else {}
    (row,) = mapped(feed_of({"x": column}, **reader), {"x": array}, **where)
    if row["_reason"] is None:
        return row["x"]
    assert row["x"] is None
    return row["_reason"]


def reasons(feed: Feed, delivered: dict[str, Any], **where: Any) -> list[str | None]:
    return [row["_reason"] for row in mapped(feed, delivered, **where)]


# Texts


@pytest.mark.parametrize(
    ("text", "value"),
    [
        ("0", 0),
        ("-17", -17),
        ("+17", 17),
        ("007", 7),
        ("9007199254740993", 9007199254740993),
        ("9223372036854775807", 2**63 - 1),
        ("-9223372036854775808", -(2**63)),
    ],
)
def test_a_text_of_digits_is_an_integer(text: str, value: int) -> None:
    assert one({"type": "integer"}, text) == value


@pytest.mark.parametrize(
    "text",
    [
        *("1.5", "1.0", "1e3", "1_000", "0x10", " 12", "12 ", "12\r", "12\n", "", "-", "+", "--1"),
        *("n/a", "NaN", "\N{ARABIC-INDIC DIGIT THREE}", "1,234", "9223372036854775808"),
    ],
)
def test_any_other_text_is_no_integer(text: str) -> None:
    assert one({"type": "integer"}, text) == f"x: '{text}' is not an integer"


@pytest.mark.parametrize(
    ("declared", "text", "value"),
    [
        ("decimal(18,4)", "2.55", "2.5500"),
        ("decimal(18,4)", "-.5", "-0.5000"),
        ("decimal(18,4)", "+3", "3.0000"),
        ("decimal(18,2)", "1.5500000000000000000000000000000000000000", "1.55"),
        ("decimal(5,2)", "00000000000000000000000000000000000000999.99", "999.99"),
        ("decimal(4,0)", "1234.000", "1234"),
        ("decimal(38,0)", "9" * 38, "9" * 38),
        ("decimal(38,38)", "0." + "9" * 38, "0." + "9" * 38),
    ],
)
def test_a_decimal_is_exact(declared: str, text: str, value: str) -> None:
    assert str(one({"type": declared}, text)) == str(Decimal(value))


@pytest.mark.parametrize(
    ("declared", "text"),
    [
        ("decimal(18,2)", "1.555"),
        ("decimal(18,2)", "1.001"),
        ("decimal(5,2)", "1000"),
        ("decimal(5,2)", "999.999"),
        ("decimal(4,0)", "1.5"),
        ("decimal(18,2)", "1e2"),
        ("decimal(18,2)", "5."),
        ("decimal(18,2)", "."),
        ("decimal(18,2)", ""),
        ("decimal(18,2)", "5,5"),
        ("decimal(18,2)", "1,234.56"),
        ("decimal(18,2)", " 1.5"),
        ("decimal(18,2)", "£1.50"),
        ("decimal(18,2)", "(1.50)"),
        ("decimal(18,2)", "Infinity"),
    ],
)
def test_a_decimal_is_neither_rounded_nor_cut(declared: str, text: str) -> None:
    assert one({"type": declared}, text) == f"x: '{text}' is not a {declared} number"


def test_the_blank_in_a_decimals_type_makes_no_difference() -> None:
    assert one({"type": "decimal(9, 2)"}, "1.55") == Decimal("1.55")


@pytest.mark.parametrize(
    ("separators", "text", "value"),
    [
        ({"thousands": ","}, "1,234.56", "1234.56"),
        ({"thousands": ","}, "1,234,567", "1234567.00"),
        ({"thousands": ","}, "99", "99.00"),
        ({"thousands": ","}, "1234.5", "1234.50"),
        ({"thousands": ".", "decimal_point": ","}, "-1.234,5", "-1234.50"),
        ({"thousands": " ", "decimal_point": ","}, "12 345,67", "12345.67"),
        ({"thousands": "'"}, "1'000.00", "1000.00"),
        ({"decimal_point": ","}, "0,1", "0.10"),
    ],
)
def test_separators_are_read_where_they_are_declared(
    separators: dict[str, str], text: str, value: str
) -> None:
    assert one({"type": "decimal(18,2)"} | separators, text) == Decimal(value)


@pytest.mark.parametrize(
    "text", ["12,34", "1,23", "1234,567", ",123", "1,,234", "1,234.5,6", "1.5,0"]
)
def test_a_badly_grouped_number_is_refused(text: str) -> None:
    column = {"type": "decimal(18,2)", "thousands": ","}
    assert one(column, text) == f"x: '{text}' is not a decimal(18,2) number"


def test_integers_and_doubles_take_separators_too() -> None:
    assert one({"type": "integer", "thousands": ","}, "1,234") == 1234
    assert one({"type": "double", "thousands": ".", "decimal_point": ","}, "1.234,5e1") == 12345.0


@pytest.mark.parametrize(("text", "value"), [("1.5", 1.5), ("-1e3", -1000.0), (".5", 0.5)])
def test_a_double_may_have_an_exponent(text: str, value: float) -> None:
    assert one({"type": "double"}, text) == value


@pytest.mark.parametrize(
    "text", ["NaN", "inf", "-Infinity", "1e400", "0x1p3", "1_0.5", "5.", "1,5"]
)
def test_a_double_is_a_finite_number(text: str) -> None:
    assert one({"type": "double"}, text) == f"x: '{text}' is not a finite number"


def test_a_boolean_is_true_false_1_or_0_in_any_case() -> None:
    texts = ["true", "TRUE", "1", "False", "0", "yes", "t", "2", " true"]
    rows = mapped(feed_of({"x": {"type": "boolean"}}), {"x": texts})
    assert [row["x"] for row in rows] == [True, True, True, False, False, None, None, None, None]
    assert rows[5]["_reason"] == "x: 'yes' is not true, false, 1 or 0"


def test_a_text_stays_as_it_is() -> None:
    texts = ["NULL", "null", "None", "nan", "NA", " a ", "00123", "é'\"\n;--", ""]
    rows = mapped(feed_of({"x": {}}), {"x": texts})
    assert [(row["x"], row["_reason"]) for row in rows] == [(text, None) for text in texts]


def _reference(text: str, declared: str, thousands: str | None, point: str) -> Decimal | None:
    """What a text is as an integer or decimal, worked out slowly with Python."""
    match = re.fullmatch(r"([+-]?)(.*)", text, flags=re.DOTALL)
    assert match
    sign, rest = match.groups()
    whole, _, fraction = rest.partition(point)
    if declared == "integer" and point in rest:
        return None
    if point in rest and not (fraction and fraction.isascii() and fraction.isdigit()):
        return None
    if thousands and thousands in whole:
        first, *groups = whole.split(thousands)
        if not 1 <= len(first) <= 3 or any(len(group) != 3 for group in groups):
            return None
        whole = whole.replace(thousands, "")
    if not (whole.isascii() and whole.isdigit()) and not (whole == "" and point in rest):
        return None
    value = Decimal(f"{sign}{whole or '0'}.{fraction or '0'}")
    if declared == "integer":
        return value if -(2**63) <= value < 2**63 else None
    precision, scale = map(int, declared.removeprefix("decimal(").removesuffix(")").split(","))
    scaled = value.scaleb(scale)
    return value if scaled == int(scaled) and abs(scaled) < 10**precision else None


_digits = st.text("0123456789", max_size=22)
_numbers = st.builds(
    lambda *parts: "".join(parts),
    st.sampled_from(["", "+", "-"]),
    _digits,
    st.sampled_from(["", ",", ".", " "]),
    _digits,
    st.sampled_from(["", ",", ".", "e", "0000"]),
    st.text("0123456789", max_size=3),
)
_texts = st.lists(_numbers | st.text("0123456789+-., eE'", max_size=12), min_size=1, max_size=40)
_separators = st.sampled_from([(None, "."), (",", "."), (".", ","), (" ", ","), (None, ",")])
_declared = st.sampled_from(["integer", "decimal(18,4)", "decimal(5,0)", "decimal(38,10)"])


@settings(deadline=None, max_examples=60)
@given(texts=_texts, declared=_declared, separators=_separators)
def test_numbers_are_read_as_python_reads_them(
    texts: list[str], declared: str, separators: tuple[str | None, str]
) -> None:
    thousands, point = separators if declared != "integer" else (separators[0], ".")
    thousands = None if thousands == point else thousands
    column = {"type": declared, "thousands": thousands, "decimal_point": point}
    if declared == "integer":
        del column["decimal_point"]
    rows = mapped(feed_of({"x": {k: v for k, v in column.items() if v}}), {"x": texts})
    expected = [_reference(text, declared, thousands, point) for text in texts]
    assert [row["x"] for row in rows] == expected
    assert [row["_reason"] is None for row in rows] == [value is not None for value in expected]


# Dates and timestamps


def test_a_date_is_written_as_declared() -> None:
    assert one({"type": "date"}, "2026-03-09") == date(2026, 3, 9)
    assert one({"type": "date", "format": "%d/%m/%Y"}, "03/04/2026") == date(2026, 4, 3)
    assert one({"type": "date", "format": "%d/%m/%Y"}, "3/4/2026") == date(2026, 4, 3)
    assert one({"type": "date", "format": "%Y%m%d"}, "20260403") == date(2026, 4, 3)
    assert one({"type": "date", "format": "%b %d, %Y"}, "Apr 3, 2026") == date(2026, 4, 3)
    assert one({"type": "date", "format": "%Y-%m-%d 00:00:00"}, "2026-04-03 00:00:00") == date(
        2026, 4, 3
    )


@pytest.mark.parametrize(
    ("form", "text"),
    [
        (None, "2026-02-30"),
        (None, "2026-3-9"),
        (None, "20260309"),
        (None, "2026-03-09 00:00:00"),
        (None, "0000-01-01"),
        (None, "infinity"),
        (None, "epoch"),
        (None, ""),
        ("%d/%m/%Y", "04/25/2026"),
        ("%d/%m/%Y", "03/04/26"),
        ("%d/%m/%Y", " 03/04/2026"),
        ("%d/%m/%Y", "03/04/2026 "),
        ("%d/%m/%Y", "infinity"),
        ("%Y%m%d", "2026111"),
        ("%Y-%m-%d 00:00:00", "2026-04-03 10:00:00"),
    ],
)
def test_any_other_date_is_refused(form: str | None, text: str) -> None:
    column = {"type": "date", "format": form} if form else {"type": "date"}
    assert one(column, text) == f"x: '{text}' is not a date of the form {form or 'YYYY-MM-DD'}"


@pytest.mark.parametrize("session", ["UTC", "Asia/Tokyo", "America/New_York"])
@pytest.mark.parametrize(
    ("text", "utc"),
    [
        # Wall-clock time in London, in summer and in winter.
        ("2026-07-01 10:00:00", "2026-07-01 09:00:00"),
        ("2026-01-01T10:00", "2026-01-01 10:00:00"),
        ("2026-07-01 10:00:00.123456", "2026-07-01 09:00:00.123456"),
        ("2026-07-01 10:00:00.1234560000", "2026-07-01 09:00:00.123456"),
        # Instants, whatever the zone.
        ("2026-07-01T10:00:00Z", "2026-07-01 10:00:00"),
        ("2026-07-01T10:00Z", "2026-07-01 10:00:00"),
        ("2026-07-01 10:00:00+03:00", "2026-07-01 07:00:00"),
        ("2026-07-01 10:00+0330", "2026-07-01 06:30:00"),
        ("2026-07-01T10:00:00.5-05", "2026-07-01 15:00:00.5"),
        # The hour that comes twice: the second one.
        ("2026-10-25 01:30:00", "2026-10-25 01:30:00"),
    ],
)
def test_an_iso_timestamp_is_an_instant_whatever_the_session(
    text: str, utc: str, session: str
) -> None:
    expected = datetime.fromisoformat(utc).replace(tzinfo=UTC)
    assert one({"type": "timestamp"}, text, session=session) == expected


@pytest.mark.parametrize(
    "text",
    [
        *("2026-03-09", "2026-03-09 10", "2026-03-09 24:00:00", "2026-03-09 10:00:60"),
        *("2026-02-30 10:00:00", "2026-03-09  10:00:00", "2026-03-09 10:00:00.1234567"),
        *("2026-03-09 10:00:00 +02:00", "2026-03-09 10:00:00+25:00", "infinity", "now", ""),
        "2026-03-09 10:00:00 Europe/London",
    ],
)
def test_any_other_timestamp_is_refused(text: str) -> None:
    problem = "is not an ISO 8601 timestamp such as 2026-03-09T14:30:00"
    assert one({"type": "timestamp"}, text) == f"x: '{text}' {problem}"


@pytest.mark.parametrize("day", ["2026-03-29", "2026-07-01"])
def test_a_time_that_the_clocks_skip_is_refused(day: str) -> None:
    reason = one({"type": "timestamp"}, "2026-03-29 01:30:00", day=day)
    problem = "does not exist in Europe/London, where the clocks skip it"
    assert reason == f"x: '2026-03-29 01:30:00' {problem}"


@pytest.mark.parametrize(
    ("form", "text", "utc"),
    [
        ("%d/%m/%Y %H:%M", "03/07/2026 10:05", "2026-07-03 09:05"),
        ("%d/%m/%Y %H:%M", "3/7/2026 9:05", "2026-07-03 08:05"),
        ("%Y-%m-%d %I:%M %p", "2026-07-03 01:00 pm", "2026-07-03 12:00"),
        ("%Y-%m-%dT%H:%M:%S%z", "2026-07-03T10:00:00+02:00", "2026-07-03 08:00"),
        ("%Y-%m-%dT%H:%M:%S%z", "2026-07-03T10:00:00Z", "2026-07-03 10:00"),
        ("%Y-%m-%d %H:%M:%S.%f", "2026-07-03 10:00:00.5", "2026-07-03 09:00:00.5"),
        ("%Y%m%d%H%M%S", "20260703100000", "2026-07-03 09:00"),
        ("%Y-%m-%d", "2026-07-03", "2026-07-02 23:00"),
        ("epoch_seconds", "1772323200", "2026-03-01 00:00"),
        ("epoch_seconds", "1772323200.25", "2026-03-01 00:00:00.25"),
        ("epoch_seconds", "-1", "1969-12-31 23:59:59"),
        ("epoch_milliseconds", "1772323200000", "2026-03-01 00:00"),
        ("epoch_milliseconds", "1772323200000.125", "2026-03-01 00:00:00.000125"),
    ],
)
def test_a_timestamp_is_read_by_its_format(form: str, text: str, utc: str) -> None:
    expected = datetime.fromisoformat(utc).replace(tzinfo=UTC)
    assert one({"type": "timestamp", "format": form}, text) == expected


@pytest.mark.parametrize(
    ("form", "text"),
    [
        ("%d/%m/%Y %H:%M", "13/13/2026 10:05"),
        ("%d/%m/%Y %H:%M", "2026-07-03 10:05"),
        ("%Y-%m-%dT%H:%M:%S%z", "2026-07-03T10:00:00"),
        ("%Y-%m-%d %I:%M %p", "2026-07-03 13:00 pm"),
    ],
)
def test_a_timestamp_of_another_form_is_refused(form: str, text: str) -> None:
    reason = one({"type": "timestamp", "format": form}, text)
    assert reason == f"x: '{text}' is not a timestamp of the form {form}"


@pytest.mark.parametrize(
    "text", ["1772323200000", "9" * 12, "-" + "9" * 12, "1e9", "1772323200.1234567", "x"]
)
def test_milliseconds_are_not_taken_for_seconds(text: str) -> None:
    reason = one({"type": "timestamp", "format": "epoch_seconds"}, text)
    assert reason == f"x: '{text}' is not a number of seconds since 1970 within the years 1 to 9999"


_moments = st.datetimes(wall("1995-01-01"), wall("2030-01-01"))
# Around the changes of clocks in each of the zones, where mistakes would be.
_changes = st.builds(
    lambda start, minutes: start + timedelta(minutes=minutes),
    st.sampled_from(
        [wall(day) for day in ("2026-03-08", "2026-11-01", "2018-11-04", "2019-02-16")]
    ),
    st.integers(-1500, 3000),
)


@settings(deadline=None, max_examples=60)
@given(
    moments=st.lists(_moments | _changes, min_size=1, max_size=30),
    zone=st.sampled_from(["America/New_York", "America/Sao_Paulo", "Asia/Tokyo", "UTC"]),
    day=st.sampled_from(["2026-03-08", "2026-11-01", "2018-11-04", "2019-02-16", "2026-06-01"]),
)
def test_wall_clock_times_become_the_instants_that_python_knows(
    moments: list[datetime], zone: str, day: str
) -> None:
    rows = mapped(
        feed_of({"x": {"type": "timestamp"}}),
        {"x": [moment.isoformat(" ") for moment in moments]},
        day=day,
        zone=zone,
    )
    for row, moment in zip(rows, moments, strict=True):
        instant = moment.replace(tzinfo=ZoneInfo(zone), fold=1).astimezone(UTC)
        back = instant.astimezone(ZoneInfo(zone)).replace(tzinfo=None)
        assert row["x"] == (instant if back == moment else None), moment


# Typed deliveries


@pytest.mark.parametrize(
    ("column", "value", "kind", "loaded"),
    [
        ({"type": "integer"}, 7, pa.int8(), 7),
        ({"type": "integer"}, 2**63 - 1, pa.uint64(), 2**63 - 1),
        ({"type": "integer"}, 1.0, pa.float64(), 1),
        ({"type": "integer"}, 2.0**53 - 1, pa.float64(), 2**53 - 1),
        ({"type": "integer"}, Decimal("5.00"), pa.decimal128(10, 2), 5),
        ({"type": "integer"}, "5", pa.large_string(), 5),
        ({"type": "double"}, 5, pa.int64(), 5.0),
        ({"type": "double"}, 1.5, pa.float32(), 1.5),
        ({"type": "double"}, Decimal("1.5"), pa.decimal128(10, 2), 1.5),
        ({"type": "decimal(18,4)"}, 5, pa.int32(), Decimal(5)),
        ({"type": "decimal(18,4)"}, 0.1, pa.float64(), Decimal("0.1")),
        ({"type": "decimal(18,4)"}, 0.5, pa.float32(), Decimal("0.5")),
        ({"type": "decimal(18,5)"}, 1e-05, pa.float64(), Decimal("0.00001")),
        ({"type": "decimal(38,20)"}, 0.1, pa.float64(), Decimal("0.1")),
        ({"type": "decimal(18,4)"}, Decimal("1.50"), pa.decimal128(38, 10), Decimal("1.5")),
        # Separators are declared for texts.
        (
            {"type": "decimal(18,2)", "thousands": ".", "decimal_point": ","},
            Decimal("1.50"),
            pa.decimal128(38, 2),
            Decimal("1.5"),
        ),
        ({"type": "boolean"}, True, pa.bool_(), True),
        ({"type": "boolean"}, 0, pa.int64(), False),
        ({"type": "text"}, 17850, pa.int64(), "17850"),
        ({"type": "text"}, Decimal("1.50"), pa.decimal128(9, 2), "1.50"),
        ({"type": "text"}, True, pa.bool_(), "true"),
        ({"type": "text"}, datetime(2026, 7, 1, tzinfo=UTC), pa.timestamp("us", "UTC"), None),
        ({"type": "date"}, date(2026, 3, 9), pa.date32(), date(2026, 3, 9)),
        ({"type": "date"}, wall("2026-03-09"), pa.timestamp("ms"), date(2026, 3, 9)),
        # Midnight in London.
        (
            {"type": "date"},
            datetime(2026, 7, 1, 23, tzinfo=UTC),
            pa.timestamp("us", "UTC"),
            date(2026, 7, 2),
        ),
        ({"type": "timestamp", "format": "epoch_seconds"}, 0, pa.int64(), None),
    ],
)
def test_a_typed_value_keeps_its_meaning(
    column: dict[str, Any], value: Any, kind: pa.DataType, loaded: Any
) -> None:
    if loaded is None:
        loaded = (
            "2026-07-01 00:00:00+00"
            if column["type"] == "text"
            else datetime(1970, 1, 1, tzinfo=UTC)
        )
    assert one(column, value, kind) == loaded


@pytest.mark.parametrize(
    ("column", "value", "kind", "reason"),
    [
        ({"type": "integer"}, 2**63, pa.uint64(), "'9223372036854775808' does not fit in 64 bits"),
        ({"type": "integer"}, 1.5, pa.float64(), "'1.5' is not an exact integer"),
        (
            {"type": "integer"},
            2.0**53,
            pa.float64(),
            "'9007199254740992.0' is not an exact integer",
        ),
        ({"type": "integer"}, 2.0**24, pa.float32(), "'16777216.0' is not an exact integer"),
        ({"type": "integer"}, float("nan"), pa.float64(), "'nan' is not an exact integer"),
        ({"type": "integer"}, float("inf"), pa.float64(), "'inf' is not an exact integer"),
        ({"type": "integer"}, Decimal("1.5"), pa.decimal128(4, 1), "'1.5' is not an integer"),
        ({"type": "integer"}, "1.5", pa.large_string(), "'1.5' is not an integer"),
        ({"type": "double"}, 2**53 + 1, pa.int64(), "'9007199254740993' is not exact as a double"),
        ({"type": "double"}, float("nan"), pa.float64(), "'nan' is not a finite number"),
        ({"type": "decimal(18,2)"}, 0.125, pa.float64(), "'0.125' is not a decimal(18,2) number"),
        (
            {"type": "decimal(18,2)"},
            0.1 + 0.2,
            pa.float64(),
            "'0.30000000000000004' is not a decimal(18,2) number",
        ),
        ({"type": "decimal(5,2)"}, 1000, pa.int64(), "'1000' is not a decimal(5,2) number"),
        (
            {"type": "decimal(18,2)"},
            Decimal("1.555"),
            pa.decimal128(9, 3),
            "'1.555' is not a decimal(18,2) number",
        ),
        ({"type": "boolean"}, 2, pa.int64(), "'2' is not true, false, 1 or 0"),
        (
            {"type": "date"},
            wall("2026-03-09 01:00"),
            pa.timestamp("us"),
            "'2026-03-09 01:00:00' has a time, so it is not a date",
        ),
        # Midnight in UTC is no midnight in London.
        (
            {"type": "date"},
            datetime(2026, 7, 1, tzinfo=UTC),
            pa.timestamp("us", "UTC"),
            "'2026-07-01 00:00:00+00' has a time, so it is not a date",
        ),
        (
            {"type": "timestamp"},
            1_500,
            pa.timestamp("ns"),
            "'1970-01-01 00:00:00.0000015' is finer than a microsecond, or outside the years 1 to"
            " 9999",
        ),
        (
            {"type": "timestamp"},
            wall("2026-03-29 01:30"),
            pa.timestamp("us"),
            "'2026-03-29 01:30:00' does not exist in Europe/London, where the clocks skip it",
        ),
        ({"type": "date"}, 10**7, pa.date32(), "'29349-01-26' is outside the years 1 to 9999"),
    ],
)
def test_a_typed_value_that_would_change_is_refused(
    column: dict[str, Any], value: Any, kind: pa.DataType, reason: str
) -> None:
    assert one(column, value, kind) == f"x: {reason}"


_short = st.builds(lambda n, scale: n / 10**scale, st.integers(-(10**9), 10**9), st.integers(0, 8))


@settings(deadline=None, max_examples=60)
@given(
    floats=st.lists(_short | st.floats(allow_nan=False), min_size=1, max_size=40),
    scale=st.integers(0, 12),
)
@example(floats=[1.0000000000000002e16, 1e-08, 5e-324, 1e300], scale=8)
def test_a_float_is_a_decimal_only_if_its_shortest_text_is(floats: list[float], scale: int) -> None:
    delivered = {"x": pa.array(floats, pa.float64())}
    rows = mapped(feed_of({"x": {"type": f"decimal(24,{scale})"}}, reader="parquet"), delivered)
    for row, value in zip(rows, floats, strict=True):
        exact = Decimal(repr(value))
        fits = exact.is_finite() and abs(exact) < 10 ** (24 - scale)
        fits = fits and exact == exact.quantize(Decimal(1).scaleb(-scale), context=_WIDE)
        assert row["x"] == (exact if fits else None), value


@pytest.mark.parametrize("unit", ["s", "ms", "us", "ns"])
def test_typed_times_with_a_zone_are_instants_and_others_wall_clock_times(unit: str) -> None:
    noon = wall("2026-07-01 12:00")
    assert one({"type": "timestamp"}, noon, pa.timestamp(unit)) == datetime(
        2026, 7, 1, 11, tzinfo=UTC
    )
    zoned = noon.replace(tzinfo=ZoneInfo("Asia/Tokyo"))
    assert one({"type": "timestamp"}, zoned, pa.timestamp(unit, "Asia/Tokyo")) == zoned


@pytest.mark.parametrize(
    ("declared", "kind", "words"),
    [
        ("integer", pa.list_(pa.int64()), "values of type BIGINT[] cannot be loaded as integer"),
        ("integer", pa.bool_(), "values of type BOOLEAN cannot be loaded as integer"),
        ("text", pa.binary(), "values of type BLOB cannot be loaded as text"),
        ("date", pa.int64(), "values of type BIGINT cannot be loaded as date"),
        ("timestamp", pa.date32(), "values of type DATE cannot be loaded as timestamp"),
        ("timestamp", pa.int64(), "if they count from 1970, set 'format: epoch_seconds'"),
        ("timestamp", pa.decimal256(60, 2), "DuckDB cannot read a delivered column"),
    ],
)
def test_a_type_that_cannot_become_the_declared_one_is_an_error_of_the_delivery(
    declared: str, kind: pa.DataType, words: str
) -> None:
    with pytest.raises(DeliveryError) as raised:
        one({"type": declared}, None, kind)
    assert words in str(raised.value)
    assert raised.value.where == "2026-03-01"
    assert raised.value.todo


def test_a_condition_that_does_not_suit_the_delivered_types_is_an_error_of_the_delivery() -> None:
    feed = feed_of({"n": {}}, where="n / 2 > 1", reader="parquet")
    rows = mapped(feed, {"n": pa.array([2, 3])})
    assert [row["n"] for row in rows] == ["3"]
    with pytest.raises(DeliveryError, match=r"where: No function matches .* '/\(VARCHAR"):
        mapped(feed, {"n": ["3"]})
    with pytest.raises(DeliveryError, match="where: is of type BIGINT, not true or false"):
        mapped(feed_of({"n": {}}, where="n", reader="parquet"), {"n": pa.array([2])})


def test_instants_finer_than_a_microsecond_are_not_cut() -> None:
    whole = pa.table({"x": pa.array([5_000, None], pa.timestamp("ns", "UTC"))})
    assert exact_rows(whole, window()).column("x").cast(pa.int64()).to_pylist() == [5, None]
    with pytest.raises(DeliveryError, match="x: there are times finer than a microsecond"):
        exact_rows(pa.table({"x": pa.array([5_001], pa.timestamp("ns", "UTC"))}), window())


# Rows


def test_columns_come_by_name_in_declared_order_with_their_types() -> None:
    feed = feed_of(
        {
            "a": {"type": "integer"},
            "b": {"from": 'say "hi", you'},
            "c": {"from": "a", "type": "decimal(9, 2)"},
            "d": {"type": "timestamp", "constant": "2026-07-01 10:00:00"},
            "e": {"type": "date", "constant": None},
        }
    )
    rows = mapped(feed, {'say "hi", you': ["x"], "a": ["1"], "B": ["not asked for"]})
    assert rows == [
        {
            "a": 1,
            "b": "x",
            "c": Decimal("1.00"),
            "d": datetime(2026, 7, 1, 9, tzinfo=UTC),
            "e": None,
            "_line": 2,
            "_reason": None,
        }
    ]


def test_the_query_gives_each_column_the_type_of_its_table() -> None:
    columns: dict[str, Any] = {
        "a": {"type": "text"},
        "b": {"type": "integer"},
        "c": {"type": "double"},
        "d": {"type": "decimal(9, 2)"},
        "e": {"type": "boolean"},
        "f": {"type": "date"},
        "g": {"type": "timestamp"},
        "h": {"type": "decimal(38,2)", "constant": None},
    }
    feed = feed_of(columns)
    delivered = pa.table({name: pa.array([], pa.string()) for name in columns if name != "h"})
    delivered = delivered.append_column("_line", pa.array([], pa.int64()))
    query = mapping_query(feed, delivered.schema, window(), "UTC")
    described = database().register("delivered", delivered).execute(f"describe {query}").fetchall()
    expected = {name: sql_type(column) for name, column in feed.columns.items()}
    assert {name: kind for name, kind, *_ in described} == expected | {
        "_line": "BIGINT",
        "_reason": "VARCHAR",
    }


def test_all_problems_of_a_row_are_told_in_declared_order() -> None:
    feed = feed_of(
        {"id": {}, "quantity": {"type": "integer"}, "price": {"type": "decimal(9,2)"}}, key=["id"]
    )
    rows = {"id": [None, "7"], "quantity": ["n/a", "1"], "price": ["1.555", "1.55"]}
    assert reasons(feed, rows) == [
        "id: is empty, but it is required; quantity: 'n/a' is not an integer;"
        " price: '1.555' is not a decimal(9,2) number",
        None,
    ]


def test_a_column_that_is_not_required_may_be_empty() -> None:
    assert reasons(feed_of({"a": {"type": "integer"}, "b": {}}), {"a": [None], "b": [None]}) == [
        None
    ]


def test_a_refused_value_is_not_called_empty() -> None:
    feed = feed_of({"a": {"type": "integer", "required": True}})
    assert reasons(feed, {"a": ["x"]}) == ["a: 'x' is not an integer"]


def test_a_reason_shows_the_first_200_characters_of_a_value() -> None:
    assert one({"type": "integer"}, "é" * 500) == f"x: '{'é' * 200}' is not an integer"


def test_an_expression_makes_the_value_before_the_cast() -> None:
    column = {"type": "integer", "expression": "nullif(trim(VALUE), '-') -- no number"}
    rows = mapped(feed_of({"x": column}), {"x": [" 5 ", "-", None, "a"]})
    assert [row["x"] for row in rows] == [5, None, None, None]
    assert [row["_reason"] for row in rows] == [None, None, None, "x: 'a' is not an integer"]


def test_an_expression_sees_its_own_column_even_beside_one_named_value() -> None:
    columns = {"a": {"expression": "upper(value)"}, "b": {"from": "value"}}
    (row,) = mapped(feed_of(columns), {"value": ["other"], "a": ["own"]})
    assert (row["a"], row["b"]) == ("OWN", "other")


def test_an_expression_that_fails_on_a_row_is_that_rows_problem() -> None:
    feed = feed_of(
        {"x": {"expression": "cast(value as integer) + 1", "type": "integer"}}, key=["x"]
    )
    rows = mapped(feed, {"x": ["1", "a", "3", None]})
    assert [row["x"] for row in rows] == [2, None, 4, None]
    assert [row["_reason"] for row in rows] == [
        None,
        "x: the expression fails on 'a'",
        None,
        "x: is empty, but it is required",
    ]


def test_the_type_of_an_expression_counts_not_that_of_the_value() -> None:
    assert one({"expression": "value::double / 4", "type": "integer"}, "10") == (
        "x: '2.5' is not an exact integer"
    )
    assert one({"expression": "value / 4", "type": "double"}, 10, pa.int64()) == 2.5


def test_an_expression_written_for_another_type_fails_on_each_value() -> None:
    # An optional column that is absent comes as text, all null.
    feed = feed_of({"x": {"expression": "value / 4", "type": "double"}}, reader="parquet")
    assert reasons(feed, {"x": ["a", None]}) == ["x: the expression fails on 'a'", None]


def test_where_leaves_out_the_rows_of_other_feeds() -> None:
    feed = feed_of({"a": {}}, where=""" "Kind" <> 'it''s' -- other""", ignored_columns=["Kind"])
    rows = mapped(feed, {"a": ["1", "2", "3"], "Kind": ["x", "it's", None]})
    assert [(row["a"], row["_line"], row["_reason"]) for row in rows] == [("1", 2, None)]


def test_a_row_on_which_where_fails_is_kept_with_a_reason() -> None:
    feed = feed_of({"a": {}}, where='cast("n" as integer) > 0', ignored_columns=["n"], key=["a"])
    rows = mapped(feed, {"a": ["1", None, "3"], "n": ["5", "?", "0"]})
    assert [(row["_line"], row["_reason"]) for row in rows] == [
        (2, None),
        (3, "where: the condition fails on this row; a: is empty, but it is required"),
    ]


@pytest.mark.parametrize("session", ["UTC", "Asia/Tokyo"])
def test_a_time_outside_the_window_is_a_problem(session: str) -> None:
    feed = feed_of({"at": {"type": "timestamp"}}, window_column="at")
    texts = ["2026-07-01 00:00:00", "2026-07-01 23:59:59.999999", "2026-07-02 00:00:00"]
    texts += ["2026-06-30T22:59:59Z", "2026-06-30T23:00:00Z", None]
    found = reasons(feed, {"at": texts}, day="2026-07-01", session=session)
    partition = "the partition [2026-07-01 00:00:00, 2026-07-02 00:00:00) in Europe/London"
    assert found == [
        None,
        None,
        f"at: '2026-07-02 00:00:00' lies outside {partition}",
        f"at: '2026-06-30 23:59:59' lies outside {partition}",
        None,
        "at: is empty, but it is required",
    ]


@pytest.mark.parametrize("key", ["2026-11-01-01:00", "2026-11-01-01:00-0500"])
def test_a_time_that_comes_twice_is_the_one_in_the_window(key: str) -> None:
    hour = HourlyPartitions(date(2026, 1, 1), None, ZoneInfo("America/New_York")).window(key)
    feed = feed_of({"at": {"type": "timestamp"}}, window_column="at", partitions="hourly")
    texts = ["2026-11-01 01:00:00", "2026-11-01 01:59:59.999999", "2026-11-01 02:00:00"]
    rows = mapped_table(feed, pa.table({"at": texts}), hour, "UTC").to_pylist()
    assert rows[0]["at"].timestamp() == hour.start.timestamp()
    assert rows[1]["at"].timestamp() == hour.end.timestamp() - 1e-6
    first, last = hour.start.isoformat(" "), hour.end.isoformat(" ")
    assert [row["_reason"] for row in rows] == [
        None,
        None,
        f"at: '2026-11-01 02:00:00-05:00' lies outside the partition [{first}, {last})"
        " in America/New_York",
    ]


def test_a_date_outside_the_window_is_a_problem() -> None:
    feed = feed_of({"on": {"type": "date"}}, window_column="on")
    found = reasons(feed, {"on": ["2026-02-28", "2026-03-01", "2026-03-02"]})
    outside = "lies outside the partition [2026-03-01, 2026-03-02)"
    assert found == [f"on: '2026-02-28' {outside}", None, f"on: '2026-03-02' {outside}"]


@pytest.mark.parametrize(("day", "hours"), [("2026-03-29", 23), ("2026-10-25", 25)])
def test_each_hour_of_a_day_with_a_change_of_clocks_lies_inside(day: str, hours: int) -> None:
    start = window(day).start.astimezone(UTC)
    texts = [(start + timedelta(hours=n)).isoformat() for n in range(-1, hours + 1)]
    feed = feed_of({"at": {"type": "timestamp"}}, window_column="at")
    found = reasons(feed, {"at": texts}, day=day)
    assert [reason is None for reason in found] == [False, *[True] * hours, False]


@pytest.mark.parametrize("text", ["'; drop table t; --", '"', "\\", "%s", "{x}", "$1", "?"])
def test_no_name_or_text_becomes_sql(text: str) -> None:
    feed = feed_of({"a": {"from": text, "type": "integer"}, "b": {"constant": text}})
    (row,) = mapped(feed, {text: [text]})
    assert row["b"] == text
    assert row["_reason"] == f"a: {literal(text)} is not an integer"


@pytest.mark.slow
def test_the_shipped_retail_source_loads_every_line_of_the_real_data(
    retail_days: Path, request: pytest.FixtureRequest
) -> None:
    path = request.config.rootpath / RETAIL
    source = load_source(path, {"ONLINE_RETAIL_DIR": str(retail_days)})
    partitions = source.partitions("daily")
    lines = closed = 0
    net = Decimal(0)
    for key in partitions.keys_between(str(source.start), str(source.end)):
        file = retail_days / f"{key}.csv"
        day = partitions.window(key)
        allowed = {feed.may_be_empty(day) for feed in source.feeds.values()}
        assert allowed == {not file.exists()}, key
        if not file.exists():
            closed += 1
            continue
        header, *records = csv.reader(file.open(newline="", encoding="utf-8"))
        delivered = pa.table(
            {
                name: pa.array([record[n] or None for record in records], pa.string())
                for n, name in enumerate(header)
            }
        )
        orders = mapped_table(source.feeds["orders"], delivered, day, "Asia/Tokyo")
        customers = mapped_table(source.feeds["customers"], delivered, day, "Asia/Tokyo")
        for found in (orders, customers):
            assert found["_reason"].null_count == found.num_rows, key
        known = delivered["CustomerID"].drop_null().to_pylist()
        assert [f"{name}.0" for name in customers["customer_id"].to_pylist()] == known
        lines += orders.num_rows
        prices, quantities = orders["unit_price"].to_pylist(), orders["quantity"].to_pylist()
        net += sum(price * quantity for price, quantity in zip(prices, quantities, strict=True))
    assert (lines, closed) == (245_903, 45)
    assert net == Decimal("4397950.761")
