"""Python functions as readers: what they may return, what their errors mean, and fingerprints."""

from __future__ import annotations

import sys
import traceback
from collections.abc import Callable
from datetime import date
from decimal import Decimal
from itertools import pairwise
from types import ModuleType
from typing import Any
from zoneinfo import ZoneInfo

import pandas as pd
import pyarrow as pa
import pytest
from hypothesis import given
from hypothesis import strategies as st

from customer_pipeline.errors import (
    ConfigError,
    DeliveryError,
    MissingDeliveryError,
    PipelineError,
    TransientError,
)
from customer_pipeline.source.calendars import DailyPartitions
from customer_pipeline.source.delivery import Delivery
from customer_pipeline.source.feed import Feed
from customer_pipeline.source.partitions import Window
from customer_pipeline.source.readers.frames import delivery_of_frames
from customer_pipeline.source.reading import read_delivery

WINDOW = DailyPartitions(date(2026, 1, 1), None, ZoneInfo("UTC")).window("2026-03-04")
Deliver = Callable[..., Delivery]


@pytest.fixture
def deliver(monkeypatch: pytest.MonkeyPatch) -> Deliver:
    """Reads what a function delivers, as a user's module `shop_api` would have it."""

    def deliver(
        function: Any, *, columns: tuple[str, ...] = ("id", "v"), **fields: Any
    ) -> Delivery:
        module = ModuleType("shop_api")
        module.__dict__["fetch"] = function
        monkeypatch.setitem(sys.modules, "shop_api", module)
        declared = {
            "reader": "python",
            "function": "shop_api:fetch",
            "columns": {name: {} for name in columns},
        }
        return read_delivery(Feed.model_validate(declared | fields), WINDOW)

    return deliver


ROWS = [{"id": 1, "v": "a"}, {"id": 2, "v": None}]
TABLE = pa.Table.from_pylist(ROWS)
FRAME = pd.DataFrame({"id": [1, 2], "v": ["a", None]})


def two_frames(_window: Window) -> Any:
    yield FRAME[:1].reset_index(drop=True)
    yield FRAME[1:]


@pytest.mark.parametrize(
    "function",
    [
        lambda _: TABLE,
        lambda _: FRAME,
        lambda _: TABLE.to_batches()[0],
        lambda _: TABLE.to_reader(),
        lambda _: [TABLE.slice(0, 1), TABLE.slice(1)],
        two_frames,
    ],
    ids=["table", "dataframe", "batch", "batch reader", "list of tables", "generator"],
)
def test_frames_of_all_kinds_become_one_delivery(deliver: Deliver, function: Any) -> None:
    delivery = deliver(function)
    assert delivery.rows.to_pylist() == [
        {"id": 1, "v": "a", "_line": 1},
        {"id": 2, "v": None, "_line": 2},
    ]


def test_the_function_gets_the_window_and_the_feeds_options(deliver: Deliver) -> None:
    seen = []

    def fetch(window: Window, *, url: str, pages: int) -> pa.Table:
        seen.append((window, url, pages))
        return TABLE

    deliver(fetch, options={"url": "https://shop.example", "pages": 3})
    assert seen == [(WINDOW, "https://shop.example", 3)]


@pytest.mark.parametrize(
    "function",
    [
        lambda _: iter(()),
        lambda _: [],
        lambda _: TABLE.slice(0, 0),
        lambda _: pd.DataFrame([]),
        lambda _: pd.DataFrame({"id": [], "v": []}),
    ],
)
def test_no_rows_are_an_empty_delivery(deliver: Deliver, function: Any) -> None:
    delivery = deliver(function)
    assert delivery.row_count == 0
    assert delivery.rows.column_names == ["id", "v", "_line"]


def test_none_says_that_there_is_no_delivery(deliver: Deliver) -> None:
    with pytest.raises(MissingDeliveryError, match="shop_api:fetch 2026-03-04"):
        deliver(lambda _: None)


@pytest.mark.parametrize(
    "raised",
    [
        DeliveryError("refused"),
        MissingDeliveryError("not there yet"),
        TransientError("busy"),
        ConfigError("no such shop"),
    ],
)
@pytest.mark.parametrize("late", [False, True])
def test_the_functions_own_pipeline_errors_pass_through(
    deliver: Deliver, raised: PipelineError, late: bool
) -> None:
    with pytest.raises(type(raised)) as caught:
        deliver(failing(raised, late=late))
    assert caught.value is raised


@pytest.mark.parametrize(
    ("raised", "expected"),
    [
        (ConnectionError("reset"), TransientError),
        (TimeoutError("slow"), TransientError),
        (OSError(5, "input/output error"), TransientError),
        (FileNotFoundError(2, "no such file"), DeliveryError),
        (PermissionError(13, "denied"), DeliveryError),
        (KeyError("total"), DeliveryError),
        (RuntimeError("boom"), DeliveryError),
    ],
)
@pytest.mark.parametrize("late", [False, True])
def test_other_errors_are_told_with_their_type_and_may_be_tried_again_where_that_helps(
    deliver: Deliver, raised: Exception, expected: type[PipelineError], late: bool
) -> None:
    with pytest.raises(PipelineError) as caught:
        deliver(failing(raised, late=late))
    assert type(caught.value) is expected
    assert f"the function raised {type(raised).__name__} in test_readers_python.py line " in str(
        caught.value
    )
    assert caught.value.__cause__ is raised


@pytest.mark.parametrize("kind", [RuntimeError, ConnectionError])
@pytest.mark.parametrize("late", [False, True])
def test_what_a_function_raises_tells_no_secret_and_still_what_and_where(
    deliver: Deliver, monkeypatch: pytest.MonkeyPatch, kind: type[Exception], late: bool
) -> None:
    monkeypatch.setenv("SHOP_API_TOKEN", "of-the-environment")
    text = "postgresql://admin:of-the-url@db refused of-the-environment and of-the-options"
    options = {"password": "of-the-options"}
    with pytest.raises(PipelineError) as caught:
        deliver(failing(kind(text), late=late), options=options)
    assert f"{kind.__name__} in test_readers_python.py line " in str(caught.value)
    assert ": postgresql://***@db refused *** and *** (" in str(caught.value)
    shown = "".join(traceback.format_exception(caught.value))
    assert "test_readers_python.py" in shown
    assert "of-the" not in shown


@pytest.mark.parametrize(
    ("returned", "kind"),
    [({"id": 1}, "dict"), (ROWS, "dict"), (7, "int"), ("id", "str"), ([TABLE, None], "NoneType")],
)
def test_anything_but_frames_is_refused(deliver: Deliver, returned: Any, kind: str) -> None:
    with pytest.raises(DeliveryError, match=f"the function gave a {kind}.*DataFrames"):
        deliver(lambda _: returned)


@pytest.mark.parametrize(
    "function", ["no_such_package:fetch", "json:no_such_function", "json:__name__"]
)
def test_a_function_that_is_not_there_is_a_mistake_in_the_declaration(function: str) -> None:
    feed = Feed.model_validate({"reader": "python", "function": function, "columns": {"id": {}}})
    with pytest.raises(ConfigError, match=function):
        read_delivery(feed, WINDOW)


def test_every_frame_must_have_the_declared_columns(deliver: Deliver) -> None:
    with pytest.raises(DeliveryError, match="lacks columns that the feed declares: 'v'"):
        deliver(lambda _: [TABLE, TABLE.drop_columns("v")])
    with pytest.raises(DeliveryError, match="does not declare: 'extra'"):
        deliver(lambda _: [TABLE, TABLE.append_column("extra", pa.array([1, 2]))])
    delivery = deliver(
        lambda _: [TABLE.append_column("extra", pa.array([1, 2]))] * 2, new_columns="ignore"
    )
    assert delivery.rows.column_names == ["id", "v", "_line"]
    assert delivery.warnings == ("new columns are ignored: 'extra'",)


def test_an_index_with_a_name_is_a_column(deliver: Deliver) -> None:
    delivery = deliver(lambda _: FRAME.set_index("id"))
    assert delivery.rows["id"].to_pylist() == [1, 2]


def test_frames_may_differ_in_width_but_not_in_kind(deliver: Deliver) -> None:
    def joined(*values: pa.Array) -> pa.ChunkedArray:
        return deliver(lambda _: [pa.table({"id": v}) for v in values], columns=("id",)).rows["id"]

    prices = joined(pa.array([Decimal("1.10")]), pa.array([Decimal("100.5")]), pa.nulls(1))
    assert prices.to_pylist() == [Decimal("1.10"), Decimal("100.50"), None]
    texts = joined(pa.array(["a"]), pa.array(["b"], pa.large_string()))
    assert texts.to_pylist() == ["a", "b"]
    for one, other in [
        (pa.array([1]), pa.array([0.5])),
        (pa.array([1]), pa.array(["1"])),
        (pa.array([0.5]), pa.array([Decimal("0.5")])),
        (pa.array([0], pa.timestamp("us")), pa.array([0], pa.timestamp("us", "UTC"))),
        (pa.array([b"a"]), pa.array(["a"])),
    ]:
        with pytest.raises(DeliveryError, match=r"column 'id' is .* in one frame and .* in"):
            joined(one, other)


def test_mixed_values_and_doubled_names_in_a_dataframe_are_refused(deliver: Deliver) -> None:
    mixed = pd.DataFrame({"id": [1, "x"], "v": ["a", "b"]}, dtype=object)
    with pytest.raises(DeliveryError, match="column id"):
        deliver(lambda _: mixed)
    with pytest.raises(DeliveryError, match="Duplicate column names"):
        deliver(lambda _: pd.DataFrame([[1, 2]], columns=["id", "id"]))


VALUES = st.lists(
    st.tuples(
        st.none() | st.integers(-5, 5),
        st.none() | st.text(st.characters(codec="utf-8"), max_size=3),
        st.none() | st.booleans(),
        st.none() | st.lists(st.none() | st.integers(0, 3), max_size=2),
    ),
    min_size=1,
    max_size=12,
)
SCHEMA = pa.schema(
    [("a", pa.int64()), ("b", pa.string()), ("c", pa.bool_()), ("d", pa.list_(pa.int64()))]
)
FEED = Feed.model_validate(
    {"reader": "python", "function": "m:f", "columns": {name: {} for name in SCHEMA.names}}
)


def table_of(rows: list[tuple[Any, ...]]) -> pa.Table:
    return pa.Table.from_pylist([dict(zip("abcd", row, strict=True)) for row in rows], SCHEMA)


def fingerprint(*frames: pa.Table) -> tuple[str, int]:
    delivery = delivery_of_frames(frames, FEED, "test")
    return delivery.fingerprint, delivery.size


@given(VALUES, st.lists(st.integers(0, 12), max_size=4))
def test_the_fingerprint_does_not_see_how_rows_are_cut_into_frames(
    rows: list[tuple[Any, ...]], cuts: list[int]
) -> None:
    whole = table_of(rows)
    edges = [0, *sorted(min(cut, len(rows)) for cut in cuts), len(rows)]
    spans = list(pairwise(edges))
    sliced = [whole.slice(start, end - start) for start, end in spans]
    built = [table_of(rows[start:end]) for start, end in spans]
    assert fingerprint(whole) == fingerprint(*sliced) == fingerprint(*built)
    assert fingerprint(whole) == fingerprint(pa.concat_tables(built))
    assert fingerprint(whole) == fingerprint(whole.select(["d", "b", "a", "c"]))


@given(VALUES, VALUES)
def test_the_fingerprint_sees_every_difference(
    rows: list[tuple[Any, ...]], others: list[tuple[Any, ...]]
) -> None:
    same = rows == others
    assert (fingerprint(table_of(rows))[0] == fingerprint(table_of(others))[0]) == same
    shortened = rows[:-1]
    assert fingerprint(table_of(rows))[0] != fingerprint(table_of(shortened))[0]


def test_the_fingerprint_tells_null_from_empty_and_number_from_text() -> None:
    feed = Feed.model_validate({"reader": "python", "function": "m:f", "columns": {"a": {}}})
    columns = [["", None], [None, ""], ["", ""], ["0", "0"], [0, 0], [0.0, 0.0], [None, None]]
    hashes = {
        delivery_of_frames([pa.table({"a": values})], feed, "test").fingerprint
        for values in columns
    }
    assert len(hashes) == len(columns)


def test_the_fingerprint_does_not_see_what_lies_in_memory_under_a_null() -> None:
    feed = Feed.model_validate({"reader": "python", "function": "m:f", "columns": {"a": {}}})
    hashes = set()
    for under_null in (0, 7):
        values = pa.array([1, under_null], pa.int64()).buffers()[1]
        first_only = pa.array([True, False]).buffers()[1]
        column = pa.Array.from_buffers(pa.int64(), 2, [first_only, values])
        assert column.to_pylist() == [1, None]
        hashes.add(delivery_of_frames([pa.table({"a": column})], feed, "test").fingerprint)
    assert len(hashes) == 1


def failing(raised: Exception, *, late: bool) -> Callable[..., Any]:
    """A function that raises at once, or when its second frame is asked for."""

    def generate(_window: Window, **_options: str) -> Any:
        yield TABLE
        raise raised

    def fail(_window: Window, **_options: str) -> Any:
        raise raised

    return generate if late else fail
