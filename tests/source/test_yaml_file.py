"""Loading a source YAML: what becomes of a good one, and what is said of a bad one."""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping
from datetime import date
from pathlib import Path
from textwrap import dedent, indent
from zoneinfo import ZoneInfo

import pytest

from customer_pipeline.errors import ConfigError
from customer_pipeline.settings import PACKAGE
from customer_pipeline.source.acceptance import EmptyDays
from customer_pipeline.source.calendars import DailyPartitions
from customer_pipeline.source.feed import Source
from customer_pipeline.source.places import delivery_path
from customer_pipeline.source.yaml.source_file import load_source

Load = Callable[..., Source]
Refuse = Callable[..., ConfigError]

HEAD = """\
name: shop
start: 2026-01-01
timezone: Europe/London
feeds:
  orders:
"""


def feed(fields: str = "", columns: str = "id: {}", path: str = "orders/{date}.csv") -> str:
    """A source whose feed `orders` is CSV and has these further fields, and these columns."""
    lines = ["reader: csv", f"path: {path}", *dedent(fields).splitlines(), "columns:"]
    lines += indent(dedent(columns), "  ").splitlines()
    return HEAD + indent("\n".join(lines), "    ") + "\n"


@pytest.fixture
def load(tmp_path: Path) -> Load:
    def load(text: str | bytes, environ: Mapping[str, str] | None = None) -> Source:
        path = tmp_path / "shop.yaml"
        path.write_bytes(text if isinstance(text, bytes) else text.encode())
        return load_source(path, environ or {})

    return load


@pytest.fixture
def refuse(load: Load, tmp_path: Path) -> Refuse:
    """Loads a bad source. The error names places as `shop.yaml:3`, whatever the folder."""

    def refuse(text: str | bytes, environ: Mapping[str, str] | None = None) -> ConfigError:
        with pytest.raises(ConfigError) as raised:
            load(text, environ)
        error = raised.value
        error.what = error.what.replace(f"{tmp_path}/", "")
        error.where = error.where.replace(f"{tmp_path}/", "")
        return error

    return refuse


def line_of(text: str, part: str) -> int:
    return next(n for n, line in enumerate(text.splitlines(), start=1) if part in line)


# What a good source becomes


def test_a_source_becomes_values(load: Load) -> None:
    source = load(
        """\
        name: shop
        start: 2026-01-01
        end: "2026-06-30"
        timezone: America/New_York
        x-closed: &closed {weekdays: [sunday], dates: [2026-01-01]}
        feeds:
          orders:
            reader: csv
            path: in/{date:%Y/%m/%d}.csv
            delimiter: ";"
            key: [id]
            columns:
              id: {from: Order No}
              price: {type: "decimal(18,4)", thousands: ".", decimal_point: ","}
              no: {}
            missing: *closed
        """
    )
    orders = source.feeds["orders"]
    assert (source.start, source.end) == (date(2026, 1, 1), date(2026, 6, 30))
    assert list(orders.columns) == ["id", "price", "no"]
    assert orders.columns["id"].source == "Order No"
    assert orders.missing == EmptyDays(weekdays=("sunday",), dates=(date(2026, 1, 1),))


def test_a_merged_mapping_gives_way_to_own_keys(load: Load) -> None:
    source = load(
        feed(
            "missing: fail", columns="id: &id {required: true, from: A}\nother: {<<: *id, from: X}"
        )
    )
    other = source.feeds["orders"].columns["other"]
    assert (other.required, other.source) == (True, "X")


@pytest.mark.parametrize("name", ["demo", "nyc_taxi", "online_retail"])
def test_the_shipped_sources_load(name: str) -> None:
    places = {"ONLINE_RETAIL_DIR": "/data", "NYC_TAXI_DIR": "/data"}
    assert load_source(PACKAGE / "source" / f"{name}.yaml", places).name == name


def test_the_retail_source_has_the_columns_that_the_models_rely_on() -> None:
    source = load_source(PACKAGE / "source" / "online_retail.yaml", {"ONLINE_RETAIL_DIR": "/data"})
    types = {
        feed_name: {name: column.type for name, column in feed.columns.items()}
        for feed_name, feed in source.feeds.items()
    }
    assert types == {
        "orders": {
            "order_id": "text",
            "stock_code": "text",
            "description": "text",
            "quantity": "integer",
            "ordered_at": "timestamp",
            "unit_price": "decimal(18,4)",
            "customer_id": "text",
            "country": "text",
        },
        "customers": {
            "customer_id": "text",
            "name": "text",
            "email": "text",
            "country": "text",
            "updated_at": "timestamp",
        },
    }
    assert source.feeds["orders"].path == "/data/{date}.csv"
    days = DailyPartitions(source.start, source.end, ZoneInfo(source.timezone))
    keys = days.keys_between("2010-12-01", "2011-06-30")
    closed = [key for key in keys if source.feeds["orders"].may_be_empty(days.window(key))]
    assert (len(keys), len(closed)) == (212, 45)


def test_the_taxi_source_has_the_columns_that_the_models_rely_on() -> None:
    source = load_source(PACKAGE / "source" / "nyc_taxi.yaml", {"NYC_TAXI_DIR": "/data"})
    (trips,) = source.feeds.values()
    assert {name: column.type for name, column in trips.columns.items()} == {
        "vendor_id": "text",
        "picked_up_at": "timestamp",
        "dropped_off_at": "timestamp",
        "passengers": "integer",
        "distance": "decimal(18,2)",
        "rate_code": "text",
        "store_and_forward": "text",
        "pickup_zone": "text",
        "dropoff_zone": "text",
        "payment_type": "text",
        "fare_amount": "decimal(18,2)",
        "extra": "decimal(18,2)",
        "mta_tax": "decimal(18,2)",
        "tip_amount": "decimal(18,2)",
        "tolls_amount": "decimal(18,2)",
        "improvement_surcharge": "decimal(18,2)",
        "total_amount": "decimal(18,2)",
        "congestion_surcharge": "decimal(18,2)",
    }
    assert trips.path == "/data/yellow_tripdata_sample_{date:%Y-%m}.csv.gz"
    assert len(source.partitions("monthly").keys_between("2018-11-01", "2020-04-01")) == 18


def test_a_relative_path_starts_at_the_folder_of_the_file(load: Load, tmp_path: Path) -> None:
    assert load(feed()).feeds["orders"].path == f"{tmp_path}/orders/{{date}}.csv"


def test_a_path_takes_variables_out_of_the_environment(load: Load, tmp_path: Path) -> None:
    text = feed(path="${BASE}/${SHOP}/{date:%Y%m%d}.csv")
    path = load(text, {"BASE": "/data", "SHOP": "north"}).feeds["orders"].path
    assert path == "/data/north/{date:%Y%m%d}.csv"
    path = load(text, {"BASE": "data", "SHOP": "north"}).feeds["orders"].path
    assert path == f"{tmp_path}/data/north/{{date:%Y%m%d}}.csv"


def test_only_the_date_is_ever_put_into_a_path(load: Load) -> None:
    path = load(feed(path="${BASE}/{date}.csv"), {"BASE": "/{date}/{x}/$HOME"}).feeds["orders"].path
    assert path == "/{{date}}/{{x}}/$HOME/{date}.csv"


def test_braces_in_the_folders_name_are_no_placeholders(tmp_path: Path) -> None:
    (tmp_path / "{date}").mkdir()
    path = tmp_path / "{date}" / "shop.yaml"
    path.write_text(feed(path="in/{date}.csv"))
    loaded = load_source(path).feeds["orders"]
    assert loaded.path == f"{tmp_path}/{{{{date}}}}/in/{{date}}.csv"
    day = DailyPartitions(date(2026, 1, 1), None, ZoneInfo("UTC")).window("2026-03-01")
    assert delivery_path(loaded, day) == tmp_path / "{date}" / "in" / "2026-03-01.csv"


def test_the_environment_is_that_of_the_process_by_default(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("SHOP_DELIVERIES", "/srv/in")
    path = tmp_path / "shop.yaml"
    path.write_text(feed(path="${SHOP_DELIVERIES}/{date}"))
    assert load_source(path).feeds["orders"].path == "/srv/in/{date}"


# What is said of the file


def test_an_absent_file_is_named(tmp_path: Path) -> None:
    with pytest.raises(ConfigError) as raised:
        load_source(tmp_path / "nowhere.yaml")
    assert raised.value.what == "there is no such file"
    assert raised.value.where == str(tmp_path / "nowhere.yaml")
    assert "CUSTOMER_PIPELINE_SOURCE" in raised.value.todo


def test_a_folder_is_not_a_file(tmp_path: Path) -> None:
    with pytest.raises(ConfigError, match="the file cannot be read: Is a directory"):
        load_source(tmp_path)


@pytest.mark.parametrize(
    ("text", "line", "words"),
    [
        ("name: shop\nfeeds: {a: [}\n", ":2", "this is not YAML: while parsing a flow node"),
        ("name: shop\n\tstart: x\n", ":2", "found character '\\t' that cannot start any token"),
        ("name: 'shop\n", ":2", "while scanning a quoted scalar found unexpected end"),
        ("name: *shop\n", ":1", "found undefined alias"),
        ("a: 1\n---\nb: 1\n", ":2", "expected a single document"),
        (b"name: caf\xe9\n", "", "this is not YAML"),
        (b"name: \x00\n", "", "this is not YAML"),
        ("", "", "the file is empty"),
        ("# nothing\n", "", "the file is empty"),
        ("- a\n", "", "the top level is not a mapping"),
        ("just text\n", "", "the top level is not a mapping"),
    ],
)
def test_what_is_not_yaml_is_refused_with_its_line(
    refuse: Refuse, text: str | bytes, line: str, words: str
) -> None:
    error = refuse(text)
    assert error.where == f"shop.yaml{line}"
    assert words in error.what
    assert "\n" not in error.what


def test_a_key_given_twice_is_refused_with_both_lines(refuse: Refuse) -> None:
    text = feed(columns="id: {}\nprice: {type: double}\nid: {type: integer}")
    error = refuse(text)
    assert error.where == f"shop.yaml:{line_of(text, 'type: integer')}"
    first = line_of(text, "id: {}")
    assert error.what == f"feeds.orders.columns.id: the key is given twice, first on line {first}"


@pytest.mark.parametrize(
    ("text", "words"),
    [
        ("name: !shop x", "name: could not determine a constructor for the tag '!shop'"),
        ("name: !!python/name:os.system x", "name: could not determine a constructor"),
        ("x-a: {<<: 5}", "x-a: << takes a mapping, or a list of them"),
        ("x-a: {? [a, b] : c}", "x-a: has a key that is not text"),
        ("x-a: &a [*a]", "x-a[0]: refers to itself"),
    ],
)
def test_yaml_that_is_no_plain_data_is_refused(refuse: Refuse, text: str, words: str) -> None:
    source = feed().replace(
        "name: shop", text if text.startswith("name") else f"name: shop\n{text}"
    )
    error = refuse(source)
    assert words in error.what
    assert error.where == f"shop.yaml:{line_of(source, text)}"


# What is said of single mistakes


@pytest.mark.parametrize(
    ("fields", "place", "words"),
    [
        ("colums: {}", "colums", "there is no such key; did you mean 'columns'?"),
        ("versions: newest", "versions", "must be 'refuse' or 'highest'"),
        ("ready_when: {}", "ready_when", "give one of quiet_for, marker, suffix and manifest"),
        ("ready_when: {suffix: .ok, quiet_for: 5}", "ready_when", "give one of quiet_for, marker,"),
        ("ready_when: {suffix: }", "ready_when", "give one of quiet_for, marker, suffix and"),
        ("ready_when: {quiet: 5}", "ready_when.quiet", "did you mean 'quiet_for'?"),
        ("ready_when: {quiet_for: 0}", "ready_when.quiet_for", "must be greater than 0"),
        ("ready_when: {quiet_for: 5m}", "ready_when.quiet_for", "must be a"),
        ("ready_when: {suffix: a/b}", "ready_when", "'suffix' is what a file's name ends in"),
        ("zzz: 1", "zzz", "there is no such key; use partitions, reader, path,"),
        ("missing: empy", "missing", "must be 'fail' or 'empty'; did you mean 'empty'?"),
        ("missing: {weekday: [monday]}", "missing.weekday", "did you mean 'weekdays'?"),
        ("missing: {weekdays: [Saturday]}", "missing.weekdays[0]", "did you mean 'saturday'?"),
        ("missing: {dates: [2026-02-30]}", "missing.dates[0]", "2026-02-30 is not a calendar date"),
        ("missing: {dates: [20260301]}", "missing.dates[0]", "20260301 is not a day; write it as"),
        ("missing: {dates: 2026-03-01}", "missing.dates", "must be a list, such as [a, b]"),
        ("encoding: utf8x", "encoding", "unknown encoding 'utf8x'; use a name such as utf-8"),
        ("encoding: hex", "encoding", "unknown encoding 'hex'"),
        ("delimiter: ';;'", "delimiter", "must be one character"),
        ("delimiter: ''", "delimiter", "must be one character"),
        ("delimiter: '\"'", "delimiter", "must be one character, and neither a double quote"),
        ("delimiter: 1", "delimiter", "must be text, but YAML reads 1 as a number: write '1'"),
        (
            "encoding: off",
            "encoding",
            "must be text, but YAML reads off as a yes or no: write 'off'",
        ),
        ("encoding: 2026-03-01", "encoding", "YAML reads 2026-03-01 as a date: write '2026-03-01'"),
        ("encoding: [a]", "encoding", "must be text, not a list"),
        ("delimiter:", "delimiter", "must be text, but there is none"),
        ("quarantine_threshold: 5", "quarantine_threshold", "must be less than or equal to 1"),
        ("quarantine_threshold: yes", "quarantine_threshold", "must be a number"),
        ("key: id", "key", "must be a list, such as [a, b]"),
        ("key: [nr]", "", "key or window_column names undeclared columns: nr"),
        ("key: [none]", "", "key or window_column names constant columns: none"),
        ("window_column: none", "", "key or window_column names constant columns: none"),
        ("window_column: id", "", "window_column must be a date or a timestamp, not text"),
        ("function: a.b:c", "", "reader csv takes no 'function'"),
        ("where: id =", "where", "syntax error at end of input"),
        ("where: nosuch = 1", "where", 'Referenced column "nosuch" not found (it may use all that'),
        ("where: nosuch(id)", "where", "Scalar Function with name nosuch does not exist"),
        ("where: id || 'x'", "where", "is of type VARCHAR, not true or false"),
        ("where: id = now()", "where", "now does not give the same result each time"),
        ("where: true) or (true", "where", "syntax error"),
    ],
)
def test_a_mistake_in_a_feed_is_told_with_its_line_and_key(
    refuse: Refuse, fields: str, place: str, words: str
) -> None:
    text = feed(fields, columns="id: {}\nnone: {constant: null}")
    error = refuse(text)
    key = ".".join(["feeds.orders", *([place] if place else [])])
    assert words in error.what
    assert error.what.startswith(f"{key}: ")
    # A mistake between several fields is told where the feed begins.
    assert error.where == f"shop.yaml:{line_of(text, fields if place else 'orders:')}"


@pytest.mark.parametrize(
    ("column", "place", "words"),
    [
        ("{typ: integer}", "typ", "there is no such key; did you mean 'type'?"),
        ("{type: int}", "type", "unknown type 'int'; use text, integer, double, boolean, date"),
        (
            "{type: 'decimal(39,2)'}",
            "type",
            "decimal(39,2) is not a decimal type: it takes 1 to 38 digits",
        ),
        ("{type: 'decimal(4,5)'}", "type", "no more of them after the point"),
        ("{type: 5}", "type", "must be text, but YAML reads 5 as a number: write '5'"),
        ("{constant: no}", "constant", "YAML reads no as a yes or no: write 'no'"),
        ("{constant: 007}", "constant", "YAML reads 007 as a number: write '007'"),
        ("{constant: n/a, type: integer}", "constant", "'n/a' is not an integer"),
        ("{constant: '1.555', type: 'decimal(9,2)'}", "constant", "'1.555' is not a decimal(9,2)"),
        (
            "{constant: 2026-03-01 x, type: date}",
            "constant",
            "is not a date of the form YYYY-MM-DD",
        ),
        ("{constant: a, from: b}", "", "a constant column takes neither 'from' nor 'expression'"),
        ("{constant: null, required: true}", "", "always null cannot be required"),
        ("{required: 'yes'}", "required", "must be true or false"),
        ("{required: true, optional: true}", "", "cannot be both required (not null) and optional"),
        ("{from: _LINE}", "", "_line is the pipeline's own name for the line number"),
        ("{from: ''}", "from", "must not be empty"),
        ("{from: 5}", "from", "must be text, but YAML reads 5 as a number: write '5'"),
        ("{from: []}", "from", "must have at least one entry"),
        ("{from: [a, '']}", "from[1]", "must not be empty"),
        ("{from: [a, _line]}", "", "_line is the pipeline's own name for the line number"),
        ("{from: [a, b, a]}", "", "'from' has a name twice"),
        ("{format: '%Y'}", "", "'format' belongs to date and timestamp columns, not to text"),
        ("{thousands: ','}", "", "'thousands' belongs to integer and decimal and double columns"),
        (
            "{type: integer, decimal_point: ','}",
            "",
            "'decimal_point' belongs to decimal and double",
        ),
        ("{type: double, thousands: '.', decimal_point: '.'}", "", "are the same character"),
        ("{type: double, thousands: '-'}", "thousands", "must be ',', '.', ' '"),
        ("{type: date, format: '%d/%m'}", "", "the format '%d/%m' lacks the year"),
        ("{type: date, format: '%Y'}", "", "lacks the month and the day"),
        ("{type: date, format: '%Y-%m-%d %H'}", "", "a date's format takes no %H"),
        ("{type: date, format: epoch_seconds}", "", "lacks the year"),
        ("{type: timestamp, format: '%Y-%m-%d %Q'}", "", "'%Q' is not supported in a format"),
        ("{type: timestamp, format: '%Y-%m-%d %'}", "", "'%' is not supported in a format"),
        ("{type: timestamp, format: '%Y-%m-%d %I:%M'}", "", "%I (hours from 1 to 12) and %p"),
        ("{type: timestamp, format: '%Y-%m-%d %H:%M:%SZ'}", "", "write %z in place of the final Z"),
        (
            "{type: timestamp, format: '%z %Y-%m-%d'}",
            "",
            "%z (the offset from UTC) must be at the end",
        ),
        ("{type: date, format: '%Y%-m%-d'}", "", "%-m needs a separator"),
        ("{expression: value +}", "expression", "syntax error at end of input"),
        ("{expression: foo}", "expression", 'Referenced column "foo" not found (an expression is'),
        ("{expression: nosuch(value)}", "expression", "with name nosuch does not exist"),
        ("{expression: 'value::nosuch'}", "expression", "Type with name nosuch does not exist"),
        ("{expression: value / 100}", "expression", "'/(VARCHAR, INTEGER_LITERAL)'"),
        ("{expression: sum(value)}", "expression", "aggregates are not allowed"),
        ("{expression: (select 1)}", "expression", "scalar subquery"),
        ("{expression: 'value, 1'}", "expression", "it must be a single expression"),
        ("{expression: 'value), (1'}", "expression", "syntax error"),
        ("{expression: value as x}", "expression", "syntax error"),
        ("{expression: value from t}", "expression", "syntax error"),
        ("{expression: value; drop table t}", "expression", "it must be a single expression"),
        ("{expression: '*'}", "expression", "it must name its columns"),
        ("{expression: value /* open}", "expression", "unterminated /* comment"),
        ("{expression: random()}", "expression", "random does not give the same result each time"),
        ("{expression: value || user}", "expression", "user does not give the same result"),
        ("{expression: upper(current_date)}", "expression", "current_date does not give the same"),
        ("{expression: 'value -> 1', type: date}", "expression", "JSON cannot be loaded as date"),
        ("{expression: '[value]'}", "expression", "VARCHAR[] cannot be loaded as text"),
    ],
)
def test_a_mistake_in_a_column_is_told_with_its_line_and_key(
    refuse: Refuse, column: str, place: str, words: str
) -> None:
    text = feed(columns=f"id: {{}}\nx: {column}")
    error = refuse(text)
    key = ".".join(["feeds.orders.columns.x", *([place] if place else [])])
    assert words in error.what
    assert error.what.startswith(f"{key}: ")
    assert error.where == f"shop.yaml:{line_of(text, column)}"


@pytest.mark.parametrize(
    ("old", "new", "words"),
    [
        ("name: shop", "name: Shop", "name: 'Shop' is not a valid name: use lower-case letters"),
        ("name: shop", "names: shop", "names: there is no such key; did you mean 'name'?"),
        ("name: shop", "name: yes", "name: must be text, but YAML reads yes as a yes or no"),
        ("  orders:", "  Orders:", "feeds.Orders: 'Orders' is not a valid name"),
        ("      id: {}", "      _id: {}", "feeds.orders.columns._id: '_id' is not a valid name"),
        ("      id: {}", "      id:", "feeds.orders.columns.id: must be a mapping, with a key on"),
        ("2026-01-01", "20260101", "start: 20260101 is not a day; write it as YYYY-MM-DD"),
        ("2026-01-01", "2026-01-01 10:00:00", "start: datetime.datetime(2026, 1, 1, 10, 0) is not"),
        ("2026-01-01", "1 January", "start: '1 January' is not a day"),
        (
            "start: 2026-01-01",
            "start: 2026-01-02\nend: 2026-01-01",
            "end 2026-01-01 is before start",
        ),
        ("Europe/London", "Europe/Londn", "timezone: unknown time zone 'Europe/Londn'"),
        ("Europe/London", "../etc/passwd", "timezone: unknown time zone '../etc/passwd'"),
        ("reader: csv", "reader: csw", "feeds.orders.reader: must be 'csv', 'jsonl', 'parquet' or"),
    ],
)
def test_a_mistake_in_the_source_is_told(refuse: Refuse, old: str, new: str, words: str) -> None:
    error = refuse(feed().replace(old, new, 1))
    assert words in f"{error.what} {error.where}"


@pytest.mark.parametrize(
    ("gone", "key", "line"),
    [
        ("name: shop\n", "name", 1),
        ("timezone: Europe/London\n", "timezone", 1),
        ("    reader: csv\n", "feeds.orders.reader", 5),
    ],
)
def test_a_missing_key_is_told_where_it_belongs(
    refuse: Refuse, gone: str, key: str, line: int
) -> None:
    error = refuse(feed().replace(gone, ""))
    assert (error.what, error.where) == (f"{key}: the key is missing", f"shop.yaml:{line}")


def test_an_unquoted_decimal_in_braces_is_explained(refuse: Refuse) -> None:
    error = refuse(feed(columns="price: {type: decimal(18,4)}"))
    assert (
        "'decimal(18' is not a decimal type: write it in quotes, such as 'decimal(18,4)'"
        in error.what
    )


# What is said of paths and functions


@pytest.mark.parametrize(
    ("path", "what", "todo"),
    [
        ("${NOPE}/{date}", "the environment variable NOPE is not set", "set NOPE to the folder"),
        ("${EMPTY}/{date}", "the environment variable EMPTY is not set", "set EMPTY"),
        ("${A:-b}/{date}", "'${A:-b}' names no environment variable", "write ${NAME}"),
        ("${A/{date}", "has a '${' that names nothing", "write ${NAME}"),
        ("orders.csv", "is the same for different days, which would all read", "with {date}"),
        ("{date:%Y-%m}.csv", "is the same for different days", "name the whole day"),
        ("{date:%m-%d}.csv", "is the same for different days", "name the whole day"),
        ("{date:day}.csv", "is the same for different days", "name the whole day"),
        ("{date:%s}.csv", "'%s' is not supported in a path's date", "with %Y, %m and %d"),
        ("{date:%c}.csv", "'%c' is not supported in a path's date", "with %Y, %m and %d"),
        ("{day}.csv", "it names {day}", "write {date} or {date:%Y%m%d}"),
        ("{date}{}.csv", "it names {}", "write {date}"),
        ("{date!r}.csv", "it names {date}", "write {date}"),
        ("{date}}.csv", "the path cannot be used", "double any other brace"),
        ("{date.__class__}.csv", "it names {date.__class__}", "write {date}"),
        ("{version}.csv", "is the same for different days", "name the whole day"),
        ("{version:3}{date}.csv", "it names {version}", "write {date}"),
        ("{version}-{date}-{version}.csv", "has {version} more than once", "write it once"),
    ],
)
def test_a_path_that_cannot_be_used_is_refused(
    refuse: Refuse, path: str, what: str, todo: str
) -> None:
    text = feed(path=f"'{path}'")
    error = refuse(text, {"EMPTY": ""})
    assert error.where == f"shop.yaml:{line_of(text, 'path:')}"
    assert error.what.startswith("feeds.orders.path: ")
    assert what in error.what
    assert todo in error.todo


@pytest.mark.parametrize(
    ("cadence", "path"),
    [
        ("daily", "{date:%G-%m-%d}"),
        ("daily", "{date:%Y-W%V-%u}"),
        ("weekly", "{date:%Y-W%V}"),
        ("monthly", "{date:%G-%m}"),
        ("hourly", "{date:%G-%m-%d-%H%z}"),
    ],
)
def test_a_path_that_mixes_the_year_of_weeks_with_that_of_dates_is_refused(
    refuse: Refuse, cadence: str, path: str
) -> None:
    error = refuse(feed(f"partitions: {cadence}", path=f"'{path}'"))
    assert "is the same for different" in error.what


@pytest.mark.parametrize(
    ("fields", "words"),
    [
        ("partitions: hourly\nwindow_column: day", "a date does not say in which hour it lies"),
        ("partitions: monthly\nmissing: {weekdays: [saturday]}", "says nothing of months"),
        ("partitions: weekly\nmissing: {weekdays: [monday]}", "says nothing of weeks"),
        ("partitions: monthly\nmissing: {dates: [2026-02-15]}", "no month begins on 2026-02-15"),
        ("partitions: weekly\nmissing: {dates: [2026-03-10]}", "no week begins on 2026-03-10"),
    ],
)
def test_what_fits_no_partition_of_that_length_is_refused(
    refuse: Refuse, fields: str, words: str
) -> None:
    assert words in refuse(feed(fields, columns="id: {}\nday: {type: date}")).what


def test_hours_are_refused_where_clocks_change_by_half_an_hour(refuse: Refuse) -> None:
    text = feed("partitions: hourly", path="'{date:%Y-%m-%d-%H%z}'")
    error = refuse(text.replace("Europe/London", "Australia/Lord_Howe"))
    assert "feeds.orders.partitions: the clocks of Australia/Lord_Howe change by less" in error.what


@pytest.mark.parametrize(
    ("fields", "key", "words"),
    [
        ("versions: highest", "path", "has no {version}, so there is nothing to choose from"),
        ("ready_when: {marker: _SUCCESS}", "ready_when.marker", "is the same for different days"),
        ("ready_when: {manifest: '{day}'}", "ready_when.manifest", "it names {day}"),
        ("ready_when: {marker: '${NOPE}/{date}'}", "ready_when.marker", "variable NOPE is not set"),
        ("ready_when: {marker: '{date}{version}'}", "ready_when.marker", "path has none"),
    ],
)
def test_the_paths_of_versions_and_markers_follow_the_same_rules(
    refuse: Refuse, fields: str, key: str, words: str
) -> None:
    text = feed(fields)
    error = refuse(text)
    assert error.what.startswith(f"feeds.orders.{key}: ")
    assert words in error.what
    assert error.where == f"shop.yaml:{line_of(text, key.partition('.')[0] + ':')}"


def test_a_marker_starts_at_the_folder_of_the_file_and_takes_variables(
    load: Load, tmp_path: Path
) -> None:
    for name in ("marker", "manifest"):
        source = load(feed(f"ready_when: {{{name}: '${{IN}}/{{date}}.ok'}}"), {"IN": "in"})
        rule = source.feeds["orders"].ready_when
        assert getattr(rule, name) == str(tmp_path / "in" / "{date}.ok")


def test_the_whole_day_may_be_spread_over_a_path(load: Load) -> None:
    assert load(feed(path="in/{date:%Y}/{date:%b}/{date:%-d}.csv"))


@pytest.fixture
def shop_feeds(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """A module of user functions, `shop_feeds`, and one that cannot be imported, `broken_feeds`."""
    (tmp_path / "shop_feeds.py").write_text(
        "def orders(window, *, pages=1):\n    return None\n\nNUMBER = 5\n"
    )
    (tmp_path / "broken_feeds.py").write_text("import no_such_package\n")
    monkeypatch.syspath_prepend(str(tmp_path))


def python_feed(function: str, options: str = "{}") -> str:
    fields = f"reader: python\nfunction: {function}\noptions: {options}\ncolumns: {{id: {{}}}}"
    return HEAD + indent(fields, "    ") + "\n"


@pytest.mark.usefixtures("shop_feeds")
def test_a_function_is_found(load: Load) -> None:
    source = load(python_feed("shop_feeds:orders", "{pages: 2}"))
    assert source.feeds["orders"].function == "shop_feeds:orders"


@pytest.mark.usefixtures("shop_feeds")
@pytest.mark.parametrize(
    ("function", "options", "words"),
    [
        (
            "shop_feeds.orders",
            "{}",
            "'shop_feeds.orders' does not have the form package.module:function",
        ),
        ("'shop_feeds:'", "{}", "does not have the form package.module:function"),
        ("no_such_feeds:orders", "{}", "ModuleNotFoundError: No module named 'no_such_feeds'"),
        ("broken_feeds:orders", "{}", "ModuleNotFoundError in broken_feeds.py line 1: No module"),
        (
            "shop_feeds:nosuch",
            "{}",
            "AttributeError: module 'shop_feeds' has no attribute 'nosuch'",
        ),
        ("shop_feeds:NUMBER", "{}", "shop_feeds:NUMBER is not a function but of type int"),
        ("shop_feeds:orders", "{page: 2}", "got an unexpected keyword argument 'page'"),
    ],
)
def test_a_function_that_cannot_be_called_is_refused(
    refuse: Refuse, function: str, options: str, words: str
) -> None:
    error = refuse(python_feed(function, options))
    assert words in error.what
    assert error.what.startswith("feeds.orders.function: ")
    assert error.where == "shop.yaml:7"


def test_a_reader_needs_its_own_fields(refuse: Refuse) -> None:
    python = HEAD + "    reader: python\n    columns: {id: {}}\n"
    assert refuse(python).what == "feeds.orders: reader python needs 'function'"
    parquet = HEAD + "    reader: parquet\n    columns: {id: {}}\n"
    assert refuse(parquet).what == "feeds.orders: reader parquet needs 'path'"
    assert "takes no 'delimiter'" in refuse(parquet + "    path: x\n    delimiter: ';'\n").what


@pytest.mark.parametrize("reader", ["parquet"])
def test_an_expression_over_a_typed_delivery_may_suit_any_of_its_types(
    load: Load, refuse: Refuse, reader: str
) -> None:
    text = feed(columns="x: {expression: value / 100, type: double}").replace("csv", reader, 1)
    assert load(text)
    assert "with name nosuch does not" in refuse(text.replace("value / 100", "nosuch(value)")).what
    assert "No function matches" in refuse(text.replace("value / 100", "'upper(value, 1)'")).what
    assert "random does not give" in refuse(text.replace("value / 100", "value / random()")).what


def test_a_column_may_have_the_name_of_a_function_that_is_refused(load: Load) -> None:
    assert load(feed("where: user <> 'x' and \"Today\" = '1'", columns="user: {}\ntoday: {}"))


def test_a_condition_over_a_typed_delivery_may_suit_any_of_its_types(
    load: Load, refuse: Refuse
) -> None:
    text = feed("where: id / 2 > 1").replace("csv", "parquet", 1)
    assert load(text)
    assert '"nr" not found' in refuse(text.replace("id / 2", "nr / 2")).what
    assert "syntax error" in refuse(text.replace("id / 2 > 1", "id / 2 > 1 as x")).what


# What is said of several mistakes


def test_all_mistakes_are_told_at_once_in_the_order_of_the_file(refuse: Refuse) -> None:
    text = """\
name: Shop
start: 2026-01-01
timezone: Europe/Londn
feeds:
  a:
    reader: csv
    path: ${NOPE}/{date}.csv
    columns:
      x: {expression: foo}
    where: x = 1 and
  b:
    reader: csv
    path: b/{date}.csv
    columns: {x: {typ: date}}
"""
    error = refuse(text)
    lines = error.what.split("\n")
    assert error.where == "shop.yaml"
    assert lines[0] == "6 mistakes:"
    assert [re.sub(r"^ *shop.yaml:(\d+): ([\w.]+): .*", r"\1 \2", line) for line in lines[1:]] == [
        "1 name",
        "3 timezone",
        "7 feeds.a.path",
        "9 feeds.a.columns.x.expression",
        "10 feeds.a.where",
        "14 feeds.b.columns.x.typ",
    ]
    assert lines[3].endswith("(set NOPE to the folder where the deliveries are)")


def test_no_more_than_ten_mistakes_are_listed(refuse: Refuse) -> None:
    columns = "\n".join(f"c{n}: {{type: x}}" for n in range(13))
    lines = refuse(feed(columns=columns)).what.split("\n")
    assert lines[0] == "13 mistakes:"
    assert len(lines) == 12
    assert lines[-1].strip() == "and 3 more"


def test_a_mistake_behind_an_alias_is_told_once_for_each_place_that_has_it(refuse: Refuse) -> None:
    text = feed(columns="a: &a {type: x}\nb: *a")
    error = refuse(text)
    line = line_of(text, "&a")
    assert error.what.count(f"shop.yaml:{line}: ") == 2


def test_no_message_shows_how_it_was_found(refuse: Refuse) -> None:
    error = refuse(feed("zzz: 1\ndelimiter: 5\nmissing: x", columns="a: {type: x}\nb: 1"))
    for jargon in ("pydantic", "Input should", "Value error", "errors.", "Literal", "str_type"):
        assert jargon not in str(error)
