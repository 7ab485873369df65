"""What users report of input data, from a file to the raw table: one case each (I1 to I19, but for
those about missing, incomplete and changed columns: `test_extract.py`, `test_incomplete_deliveries.py`
and `test_schema_drift.py`)."""

from __future__ import annotations

from decimal import Decimal
from pathlib import Path
from typing import Any

import pytest

from tests.support.one_feed import OneFeed

FIRST, SECOND = "2026-03-02", "2026-03-03"
PLAIN: dict[str, Any] = {"columns": {"id": {"required": True}, "name": {}}}
WORDS = ("NULL", "null", "None", "nan", "Null", "NA")
MANY = {"quarantine_threshold": 1.0}


@pytest.fixture
def things(tmp_path: Path) -> OneFeed:
    return OneFeed(tmp_path)


def columns(**named: dict[str, Any]) -> dict[str, Any]:
    return {"columns": {"id": {}, **named}}


LOADED: dict[str, tuple[str | bytes, dict[str, Any], list[tuple[Any, ...]]]] = {
    "I1 words for nothing are names like others": (
        "id,name\n1,NULL\n2,null\n3,None\n4,nan\n5,Null\n6,NA\n7,\n",
        PLAIN,
        [(str(n), name) for n, name in enumerate(WORDS, start=1)] + [("7", None)],
    ),
    "I2 leading zeros stay": (
        "id,name\n00123,Ada\n124,Bea\n",
        PLAIN,
        [("00123", "Ada"), ("124", "Bea")],
    ),
    "I4 a big number beside a gap keeps its digits": (
        "id,name\n1,9007199254740993\n2,\n",
        columns(name={"type": "integer"}),
        [("1", 9007199254740993), ("2", None)],
    ),
    "I6 a byte order mark is no part of the first column": (
        b"\xef\xbb\xbfid,name\n1,Ada\n",
        PLAIN,
        [("1", "Ada")],
    ),
    "I7 another encoding is read as declared": (
        "id,name\n1,José\n".encode("latin-1"),
        PLAIN | {"encoding": "latin-1"},
        [("1", "José")],
    ),
    "I7 bytes of another encoding cost their line and no other": (
        b"id,name\n1,Jos\xe9\n2,Bea\n",
        PLAIN | MANY,
        [("2", "Bea")],
    ),
    "I8 line ends may be mixed, and stand in a quoted value": (
        b'id,name\r\n1,Ada\n2,"Bea\nBell"\r\n3,Cy\n',
        PLAIN,
        [("1", "Ada"), ("2", "Bea\nBell"), ("3", "Cy")],
    ),
    "I14 the day stands where the feed says, or the row is refused": (
        "id,name\n1,03/04/2026\n2,25/04/2026\n3,04/25/2026\n",
        columns(name={"type": "date", "format": "%d/%m/%Y", "expression": "value"}) | MANY,
        [("1", "2026-04-03"), ("2", "2026-04-25")],
    ),
    "I16 money is exact": (
        'id,name\n1,"1,234.56"\n2,99\n',
        columns(name={"type": "decimal(18,2)", "thousands": ","}),
        [("1", Decimal("1234.56")), ("2", Decimal("99.00"))],
    ),
    "I17 milliseconds are milliseconds": (
        "id,name\n1,1772323200000\n",
        columns(name={"type": "timestamp", "format": "epoch_milliseconds"}),
        [("1", "2026-03-01 00:00:00+00")],
    ),
    "I17 milliseconds are not taken for seconds": (
        "id,name\n1,1772323200000\n",
        columns(name={"type": "timestamp", "format": "epoch_seconds"}) | MANY,
        [],
    ),
    "I19 a header in the middle is no row": (
        "id,name\n1,Ada\nid,name\n2,Bea\n",
        PLAIN | MANY,
        [("1", "Ada"), ("2", "Bea")],
    ),
}


@pytest.mark.parametrize(("content", "rules", "expected"), LOADED.values(), ids=LOADED.keys())
def test_what_is_delivered_is_loaded_as_it_was_meant(
    things: OneFeed, content: str | bytes, rules: dict[str, Any], expected: list[tuple[Any, ...]]
) -> None:
    (manifest,) = things.land_and_load(content, **rules).manifests
    kind = rules["columns"]["name"].get("type", "text")
    shown = "name::varchar" if kind in ("date", "timestamp") else "name"
    assert things.raw(f"id, {shown}") == expected
    assert manifest.source_rows == len(expected) + manifest.quarantined_rows


REFUSED: dict[str, tuple[str, str]] = {
    "I10 a file that is cut inside its last line": ("id,name\n1,Ada\n2,Be", "cut off on line 3"),
    "I10 a file of which a part has come": ("id,name\n1,Ada\n2,Bea\n3"[:13], "cut off on line 2"),
    "I15 a column that is there twice": ("id,name,Name\n1,Ada,Bea\n", "both 'name' and 'Name'"),
    "I18 an older set of columns with rows in it": (
        "nr;title\n" + "1;Ada\n" * 200,
        "lacks columns that the feed declares: 'id', 'name'",
    ),
    "I18 rows of which none can be read": ("id,name\n" + "1;Ada\n" * 200, "200 of 200 rows"),
}


@pytest.mark.parametrize(("content", "words"), REFUSED.values(), ids=REFUSED.keys())
def test_what_cannot_be_trusted_is_refused_and_the_rows_of_before_stay(
    things: OneFeed, content: str, words: str
) -> None:
    things.land_and_load("id,name\n1,Ada\n2,Bea\n", **PLAIN)
    before = things.raw()
    (casualty,) = things.land_and_load(content, **PLAIN).casualties
    assert words in casualty.reason
    assert things.raw() == before


def test_a_column_that_is_empty_all_day_has_its_type_on_that_day_too(things: OneFeed) -> None:
    rules = columns(name={"type": "decimal(18,2)"})
    for day, value in ((FIRST, ""), (SECOND, "1.5"), (FIRST, "")):
        assert things.land_and_load(f"id,name\n1,{value}\n", day, **rules).casualties == ()
    assert things.raw("name") == [(None,), (Decimal("1.50"),)]


def test_the_same_text_is_the_same_customer_whatever_else_came_that_day(things: OneFeed) -> None:
    things.land_and_load("id,name\n00123,Ada\n", FIRST, **PLAIN)
    things.land_and_load("id,name\n124,Bea\n00123,Ada\n", SECOND, **PLAIN)
    assert things.raw("id") == [("00123",), ("124",), ("00123",)]


def test_ten_times_a_tenth_is_one(things: OneFeed) -> None:
    rules = columns(name={"type": "decimal(18,2)"})
    things.land_and_load("id,name\n" + "1,0.1\n" * 10, **rules)
    assert sum(value for (value,) in things.raw("name")) == 1
