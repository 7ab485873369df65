"""The content hash: the same for the same rows, another for any others (contract 1 and 8)."""

from __future__ import annotations

import random
from collections import Counter
from collections.abc import Sequence
from datetime import UTC, date, datetime
from decimal import Decimal
from typing import Any

import duckdb
import pyarrow as pa
import pytest
from hypothesis import assume, given, settings
from hypothesis import strategies as st

from customer_pipeline.source.calendars import DailyPartitions
from customer_pipeline.warehouse.connection import prepare
from customer_pipeline.warehouse.content_hash import content_hashes

DAYS = [date(2026, 3, 1), date(2026, 3, 2)]
SCHEMA = pa.schema(
    [
        ("_date", pa.date32()),
        ("text", pa.string()),
        ("other", pa.string()),
        ("number", pa.int64()),
        ("money", pa.decimal128(18, 4)),
        ("moment", pa.timestamp("us", "UTC")),
        ("flag", pa.bool_()),
    ]
)
Row = dict[str, Any]

# Texts that could be taken for one another if they were only glued together.
texts = st.none() | st.sampled_from(["", "null", "a", "1:a;", ";", "0:", "é", "\0"]) | st.text()
rows = st.fixed_dictionaries(
    {
        "_date": st.sampled_from(DAYS),
        "text": texts,
        "other": texts,
        "number": st.none() | st.integers(-(2**63), 2**63 - 1),
        "money": st.none() | st.decimals("-99999999", "99999999", places=4),
        "moment": st.none()
        | st.datetimes(datetime(1900, 1, 1), datetime(2100, 1, 1), timezones=st.just(UTC)),
        "flag": st.none() | st.booleans(),
    }
)
tables = st.lists(rows, max_size=6)


def hashes(*marts: Sequence[Row], session: str = "", columns: str = "*") -> dict[str, str]:
    """The hash of both days over tables with these rows."""
    with duckdb.connect() as connection:
        prepare(connection)
        connection.execute(session)
        for n, mart in enumerate(marts):
            connection.register("rows", pa.Table.from_pylist(list(mart), SCHEMA))
            connection.execute(f"create table t{n} as select {columns} from rows")
        relations = {f"table_{n}": f"t{n}" for n in range(len(marts))}
        return content_hashes(
            connection, relations, DailyPartitions.column, [str(day) for day in DAYS]
        )


@settings(max_examples=50, deadline=None)
@given(
    table=tables,
    seed=st.integers(),
    session=st.sampled_from(
        [
            "set threads = 1",
            "set preserve_insertion_order = false; set default_order = 'desc'",
            "set default_null_order = 'nulls_first'; set integer_division = true",
        ]
    ),
)
def test_neither_the_order_of_rows_or_columns_nor_the_session_makes_a_difference(
    table: list[Row], seed: int, session: str
) -> None:
    shuffled = random.Random(seed).sample(table, len(table))
    columns = "flag, text, _date, moment, other, money, number"
    assert hashes(shuffled, session=session, columns=columns) == hashes(table)


@settings(max_examples=50, deadline=None)
@given(first=tables, second=tables)
def test_days_have_the_same_hash_exactly_when_they_have_the_same_rows(
    first: list[Row], second: list[Row]
) -> None:
    found = hashes(first), hashes(second)
    for day in DAYS:
        here, there = (
            Counter(tuple(row.values()) for row in table if row["_date"] == day)
            for table in (first, second)
        )
        assert (found[0][str(day)] == found[1][str(day)]) == (here == there)


@settings(max_examples=50, deadline=None)
@given(table=st.lists(rows, min_size=1, max_size=4), data=st.data())
def test_any_changed_value_changes_the_hash_of_its_day_alone(
    table: list[Row], data: st.DataObject
) -> None:
    at = data.draw(st.integers(0, len(table) - 1))
    column = data.draw(st.sampled_from([name for name in SCHEMA.names if name != "_date"]))
    value = data.draw(rows)[column]
    assume(value != table[at][column])
    changed = [row | {column: value} if n == at else row for n, row in enumerate(table)]
    before, after = hashes(table), hashes(changed)
    assert {day for day in before if before[day] != after[day]} == {str(table[at]["_date"])}


EMPTY_ROW: Row = dict.fromkeys(SCHEMA.names) | {"_date": DAYS[0]}


@pytest.mark.parametrize(
    ("first", "second"),
    [
        pytest.param([{"text": None}], [{"text": ""}], id="null and the empty text"),
        pytest.param([{"text": None}], [{"text": "null"}], id="null and its name"),
        pytest.param([{"text": "a"}], [{"other": "a"}], id="the same text in another column"),
        pytest.param(
            [{"text": "a", "other": "bc"}], [{"text": "ab", "other": "c"}], id="a moved border"
        ),
        pytest.param([{"text": "a"}], [{"text": "a"}] * 2, id="a doubled row"),
        pytest.param([{"text": "a"}] * 2, [{"text": "a"}] * 4, id="rows doubled twice"),
        pytest.param(
            [{"text": "a"}, {"other": "b"}], [{"text": "b"}, {"other": "a"}], id="swapped values"
        ),
        pytest.param([], [{}], id="no row and an empty row"),
        pytest.param(
            [{"money": Decimal("0.0001")}], [{"money": Decimal(0)}], id="the last decimal"
        ),
        pytest.param(
            [{"moment": datetime(2026, 3, 1, tzinfo=UTC)}],
            [{"moment": datetime(2026, 3, 1, microsecond=1, tzinfo=UTC)}],
            id="a microsecond",
        ),
    ],
)
def test_what_is_not_the_same_has_another_hash(first: list[Row], second: list[Row]) -> None:
    key = str(DAYS[0])
    one, other = ([EMPTY_ROW | row for row in some] for some in (first, second))
    assert hashes(one)[key] != hashes(other)[key]


def test_rows_in_another_table_are_another_content() -> None:
    key = str(DAYS[0])
    assert hashes([EMPTY_ROW], [])[key] != hashes([], [EMPTY_ROW])[key]


def test_the_hash_is_the_same_on_any_machine() -> None:
    """A new value here changes the hash of every day of every user."""
    row = EMPTY_ROW | {
        "text": "Zoë",
        "number": -1,
        "money": Decimal("1234.5000"),
        "moment": datetime(2026, 3, 1, 23, 30, tzinfo=UTC),
        "flag": True,
    }
    assert hashes([row, row], [EMPTY_ROW]) == {
        "2026-03-01": "69bcd55393a255f1cc4fd7e0a8d6f739fe219ef4fdfbfc016b01c389035d1bbb",
        "2026-03-02": "e3b0c44298fc1c149afbf4c8996fb92427ae41e4649b934ca495991b7852b855",
    }
