"""Columns that are not as declared: what is loaded, and since when the ledger says so (cases I12,
I13)."""

from __future__ import annotations

import os
import time
from itertools import permutations
from pathlib import Path
from typing import Any

import pytest

from customer_pipeline.stages.delivery_checks import delivery_checks
from customer_pipeline.warehouse.compaction import compact
from customer_pipeline.warehouse.connection import Warehouse
from customer_pipeline.warehouse.schema_drift import SchemaDrift, schema_drift
from tests.support.one_feed import OneFeed

DAYS = [f"2026-03-{n:02}" for n in range(2, 8)]
RULES: dict[str, Any] = {
    "columns": {"id": {"required": True}, "email": {}, "phone": {"optional": True}},
    "new_columns": "ignore",
}
PLAIN = "id,email,phone\n1,a@b,12\n"
NO_PHONE = "id,email\n1,a@b\n"
NEW = "id,email,phone,loyalty\n1,a@b,12,gold\n"
NO_EMAIL = "id,phone\n1,12\n"
RENAMED = "id,e_mail,phone\n1,a@b,12\n"


@pytest.fixture
def things(tmp_path: Path) -> OneFeed:
    return OneFeed(tmp_path)


def drift(warehouse: Warehouse, at: str | None = None) -> list[SchemaDrift]:
    with warehouse.read() as connection:
        return schema_drift(connection, ["things"], at=at)


def run(things: OneFeed, content: str | None, day: str) -> None:
    things.land_and_load(content, day, **RULES)


def in_short(found: list[SchemaDrift]) -> list[tuple[str, str, str, str, bool]]:
    return [
        (one.column_name, one.kind, one.first_partition, one.last_partition, one.is_ongoing)
        for one in found
    ]


def test_an_optional_column_that_is_gone_is_null_and_recorded_from_its_first_day_to_its_last(
    things: OneFeed,
) -> None:
    contents = [PLAIN, NO_PHONE, NO_PHONE, PLAIN, PLAIN, NO_PHONE]
    for day, content in zip(DAYS, contents, strict=True):
        run(things, content, day)
    assert things.raw("phone") == [("12",), (None,), (None,), ("12",), ("12",), (None,)]
    assert in_short(drift(things.warehouse)) == [
        ("phone", "absent", DAYS[5], DAYS[5], True),
        ("phone", "absent", DAYS[1], DAYS[2], False),
    ]


def test_what_is_recorded_follows_from_what_is_loaded_in_whichever_order_that_came(
    tmp_path: Path,
) -> None:
    contents = dict(zip(DAYS, [PLAIN, NO_PHONE, NEW, NO_PHONE], strict=False))
    found = []
    for number, order in enumerate(permutations(contents)):
        if number % 9:
            continue
        (tmp_path / str(number)).mkdir()
        things = OneFeed(tmp_path / str(number))
        for day in (*order, order[0]):
            # Whatever was there before, it is only what is loaded now that counts.
            run(things, NEW if number % 2 else PLAIN, day)
            run(things, contents[day], day)
        found.append(drift(things.warehouse))
    assert len(found) == 3
    assert all(one == found[0] for one in found)
    assert in_short(found[0]) == [
        ("phone", "absent", DAYS[3], DAYS[3], True),
        ("loyalty", "new", DAYS[2], DAYS[2], False),
        ("phone", "absent", DAYS[1], DAYS[1], False),
    ]


def test_a_day_that_is_redone_without_the_drift_parts_it(things: OneFeed) -> None:
    for day in DAYS[:3]:
        run(things, NEW, day)
    assert in_short(drift(things.warehouse)) == [("loyalty", "new", DAYS[0], DAYS[2], True)]
    run(things, PLAIN, DAYS[1])
    assert in_short(drift(things.warehouse)) == [
        ("loyalty", "new", DAYS[2], DAYS[2], True),
        ("loyalty", "new", DAYS[0], DAYS[0], False),
    ]


def test_days_without_a_delivery_do_not_end_it(things: OneFeed) -> None:
    run(things, NEW, DAYS[0])
    things.land_and_load(None, DAYS[1], **RULES, missing="empty")
    run(things, NEW, DAYS[2])
    (one,) = drift(things.warehouse)
    assert (one.first_partition, one.last_partition, one.partitions) == (DAYS[0], DAYS[2], 2)


def test_a_day_in_which_nothing_has_columns_does_not_end_it(things: OneFeed) -> None:
    # A file of zero bytes is only taken where something says that it is complete.
    marker = things.root / "_SUCCESS"
    marker.touch()
    later = time.time() + 3600
    os.utime(marker, (later, later))
    rules = RULES | {
        "reader": "jsonl",
        "path": str(things.root / "{date}.csv"),
        "ready_when": {"marker": str(marker)},
    }
    new = '{"id": 1, "email": "a@b", "phone": "12", "loyalty": "gold"}\n'
    for day, content in zip(DAYS, [new, "", new], strict=False):
        things.land_and_load(content, day, **rules, missing="empty")
    assert in_short(drift(things.warehouse)) == [("loyalty", "new", DAYS[0], DAYS[2], True)]
    things.land_and_load("", DAYS[2], **rules, missing="empty")
    assert in_short(drift(things.warehouse)) == [("loyalty", "new", DAYS[0], DAYS[0], True)]
    # What is delivered there later counts again.
    things.land_and_load(new.replace(', "loyalty": "gold"', ""), DAYS[1], **rules)
    assert in_short(drift(things.warehouse)) == [("loyalty", "new", DAYS[0], DAYS[0], False)]


@pytest.mark.parametrize(
    ("content", "column", "kind", "now"),
    [(NO_EMAIL, "email", "missing", None), (RENAMED, "email", "renamed", "e_mail")],
)
def test_a_needed_column_that_is_gone_is_refused_recorded_and_forgotten_when_it_is_back(
    things: OneFeed, content: str, column: str, kind: str, now: str | None
) -> None:
    for day in DAYS[:2]:
        run(things, PLAIN, day)
    before = things.raw("id, email, phone")
    run(things, content, DAYS[1])
    assert things.raw("id, email, phone") == before
    expected = SchemaDrift(
        "things", column, kind, now, DAYS[1], DAYS[1], 1, refuses=True, is_ongoing=True
    )
    assert drift(things.warehouse) == [expected]
    run(things, PLAIN, DAYS[1])
    assert drift(things.warehouse) == []


def test_days_from_before_a_rename_can_be_redone_with_both_names_listed(things: OneFeed) -> None:
    columns = RULES["columns"] | {"email": {"from": ["e_mail", "email"]}}
    for day, content in zip(DAYS, [PLAIN, RENAMED], strict=False):
        things.land_and_load(content, day, **RULES | {"columns": columns})
    assert things.raw("id, email, phone") == [("1", "a@b", "12")] * 2
    assert drift(things.warehouse) == []


def test_what_is_said_of_the_loaded_delivery_stays_beside_what_refuses(things: OneFeed) -> None:
    run(things, NO_PHONE, DAYS[0])
    run(things, NO_EMAIL, DAYS[0])
    assert {one.kind for one in drift(things.warehouse)} == {"absent", "missing"}
    # The refused delivery is gone; another is refused, and not for its columns.
    run(things, "", DAYS[0])
    assert {one.kind for one in drift(things.warehouse)} == {"absent"}


def test_what_is_allowed_is_not_called_refused_because_something_else_is(things: OneFeed) -> None:
    for day, content in ((DAYS[0], NEW), (DAYS[1], NEW.replace("email", "e_mail"))):
        run(things, content, day)
    found = {one.column_name: (one.refuses, one.first_partition) for one in drift(things.warehouse)}
    assert found == {"loyalty": (False, DAYS[0]), "email": (True, DAYS[1])}


def test_a_new_column_that_the_feed_does_not_ignore_refuses_its_delivery(things: OneFeed) -> None:
    things.land_and_load(NEW, DAYS[0], **RULES | {"new_columns": "fail"})
    (one,) = drift(things.warehouse)
    assert (one.column_name, one.kind, one.refuses) == ("loyalty", "new", True)


def test_one_day_shows_what_it_is_part_of(things: OneFeed) -> None:
    for day, content in zip(DAYS, [NEW, NEW, PLAIN], strict=False):
        run(things, content, day)
    assert in_short(drift(things.warehouse, DAYS[1])) == [
        ("loyalty", "new", DAYS[0], DAYS[1], False)
    ]
    assert drift(things.warehouse, DAYS[2]) == []


def test_a_warehouse_of_older_code_gains_the_record_with_the_next_load(things: OneFeed) -> None:
    run(things, NEW, DAYS[0])
    with things.warehouse.write() as connection:
        connection.execute("drop view ops.schema_drift; drop table ops.delivery_drift")
    assert drift(things.warehouse) == []
    run(things, NEW, DAYS[1])
    assert in_short(drift(things.warehouse)) == [("loyalty", "new", DAYS[1], DAYS[1], True)]


def test_a_compacted_warehouse_says_the_same(things: OneFeed) -> None:
    run(things, NEW, DAYS[0])
    before = drift(things.warehouse)
    assert compact(things.warehouse, least_gain=0).outcome == "compacted"
    assert drift(things.warehouse) == before != []


@pytest.mark.parametrize(
    ("content", "passed", "warns", "words"),
    [
        (PLAIN, True, True, "as declared"),
        (NEW, False, True, "new column 'loyalty'"),
        (NO_PHONE, False, True, "absent column 'phone'"),
        (RENAMED, False, False, "renamed column 'email', probably 'e_mail' now"),
        (None, True, True, "no columns to check"),
    ],
)
def test_the_check_of_columns_warns_of_what_the_feed_allows_and_fails_of_what_it_does_not(
    things: OneFeed, content: str | None, passed: bool, warns: bool, words: str
) -> None:
    _, columns = delivery_checks(things.land(content, **RULES))
    assert (columns.passed, columns.warn_only, columns.description) == (passed, warns, words)


def test_the_check_of_a_delivery_with_a_thousand_new_columns_is_short(things: OneFeed) -> None:
    names = ",".join(f"c{n}" for n in range(1000))
    values = "," * 999
    _, columns = delivery_checks(things.land(f"id,email,phone,{names}\n1,2,3,{values}\n", **RULES))
    assert columns.description.endswith("and 992 more")
    assert len(columns.description) < 300
