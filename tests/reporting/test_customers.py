"""The current state and the history of customers, in DuckDB alone (cases W3, D3, D13).

What does not belong here: the refresh around it (`tests/orchestration/test_reporting_assets.py`).
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from datetime import UTC, datetime
from itertools import pairwise, permutations
from typing import Any

import duckdb
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from customer_pipeline.reporting.customers import CURRENT, HISTORY, Updated, update_customers
from customer_pipeline.source.calendars import DailyPartitions
from customer_pipeline.warehouse.publications import Mark, record_mark, record_publication
from customer_pipeline.warehouse.schema import ensure_ledger
from tests.support.shop import Shop
from tests.support.stages import new_run

DAYS = ["2026-03-01", "2026-03-02", "2026-03-03", "2026-03-04"]

# Customer, name, and the hour of the first of March (or later) at which that is so.
State = tuple[str, str | None, int]


class Customers:
    """A warehouse with the mart, whose days are published and taken in one by one."""

    def __init__(self) -> None:
        self.connection = duckdb.connect()
        self.connection.execute(
            """
            set TimeZone = 'UTC';
            create schema marts;
            create schema reporting;
            create table marts.dim_customers (
                _date date, customer_id varchar, name varchar, email varchar,
                updated_at timestamptz
            );
            """
        )

    def publish(self, day: str, *states: State) -> None:
        """Replace a day of the mart. (A name stands for the e-mail address, too.)"""
        self.connection.execute("delete from marts.dim_customers where _date = ?", [day])
        for customer, name, hour in states:
            self.connection.execute(
                "insert into marts.dim_customers values (?, ?, ?, ?, ?)",
                [day, customer, name, name, _at(hour)],
            )

    def take_in(self, *days: str, from_nothing: bool = False) -> dict[str, Updated]:
        return update_customers(
            self.connection, DailyPartitions.column, days, from_nothing=from_nothing
        )

    def correct(self, day: str, *states: State) -> dict[str, Updated]:
        """Publish a day and take it in."""
        self.publish(day, *states)
        return self.take_in(day)

    def current(self) -> dict[str, tuple[str | None, int, str]]:
        """Name, hour and day by customer."""
        rows = self._rows(
            f"select customer_id, name, updated_at, _date::varchar from reporting.{CURRENT}"
        )
        assert len({row[0] for row in rows}) == len(rows)
        return {customer: (name, _hour(at), day) for customer, name, at, day in rows}

    def history(self, customer: str = "42") -> list[tuple[str | None, int, int | None]]:
        """Names of one customer, each with the hours from which and until just before which."""
        rows = self._rows(
            "select name, valid_from, valid_to, is_current"
            f" from reporting.{HISTORY} where customer_id = ? order by valid_from",
            [customer],
        )
        assert all(is_current == (until is None) for *_, until, is_current in rows)
        return [(name, _hour(since), until and _hour(until)) for name, since, until, _ in rows]

    def everything(self) -> list[list[tuple[Any, ...]]]:
        return [
            self._rows(f"select * from reporting.{table} order by all")
            for table in (CURRENT, HISTORY)
        ]

    def _rows(self, sql: str, parameters: Sequence[Any] = ()) -> list[tuple[Any, ...]]:
        return self.connection.execute(sql, parameters).fetchall()


def _at(hour: int) -> datetime:
    return datetime(2026, 3, 1 + hour // 24, hour % 24, tzinfo=UTC)


def _hour(at: datetime) -> int:
    return (at.day - 1) * 24 + at.hour


@pytest.fixture
def customers() -> Iterator[Customers]:
    made = Customers()
    made.take_in()
    yield made
    made.connection.close()


@pytest.mark.parametrize("key", ["new", "existing"])
@pytest.mark.parametrize("hours", [(10, 11), (11, 10)])
def test_of_two_states_the_newer_one_is_kept_in_whichever_order_they_come(
    customers: Customers, hours: tuple[int, int], key: str
) -> None:
    if key == "existing":
        customers.correct(DAYS[0], ("42", "at 9", 9))
    for day, hour in zip(DAYS[1:], hours, strict=False):
        customers.publish(day, ("42", f"at {hour}", hour))
    customers.take_in(*DAYS[1:3])
    assert {name: row[:2] for name, row in customers.current().items()} == {"42": ("at 11", 11)}


@pytest.mark.parametrize("hours", [(10, 11), (11, 10)])
def test_two_states_in_one_day_are_one_row_too(
    customers: Customers, hours: tuple[int, int]
) -> None:
    customers.correct(DAYS[0], *(("42", f"at {hour}", hour) for hour in hours))
    assert customers.current() == {"42": ("at 11", 11, DAYS[0])}
    customers.correct(DAYS[0], *(("42", f"again at {hour}", hour) for hour in hours))
    assert customers.current() == {"42": ("again at 11", 11, DAYS[0])}


@pytest.mark.parametrize("order", list(permutations(range(3))))
def test_the_order_in_which_days_come_does_not_matter(
    customers: Customers, order: Sequence[int]
) -> None:
    for day in order:
        customers.correct(DAYS[day], ("42", f"name {day}", 10 + day))
    assert customers.current() == {"42": ("name 2", 12, DAYS[2])}
    assert customers.history() == [("name 0", 10, 11), ("name 1", 11, 12), ("name 2", 12, None)]


def test_an_old_day_that_is_run_again_never_puts_back_an_older_state(customers: Customers) -> None:
    customers.correct(DAYS[0], ("42", "old", 9))
    customers.correct(DAYS[2], ("42", "new", 50))
    customers.correct(DAYS[0], ("42", "old, corrected", 9))
    assert customers.current() == {"42": ("new", 50, DAYS[2])}
    assert customers.history() == [("old, corrected", 9, 50), ("new", 50, None)]


def test_a_customer_who_vanishes_from_a_corrected_day_falls_back_to_the_state_before(
    customers: Customers,
) -> None:
    customers.correct(DAYS[0], ("42", "first", 9))
    customers.correct(DAYS[1], ("42", "second", 30), ("7", "other", 30))
    customers.correct(DAYS[2], ("42", "third", 50))
    done = customers.correct(DAYS[2])
    assert done[CURRENT] == Updated(inserted=0, updated=1, deleted=0, rows=2)
    assert customers.current()["42"] == ("second", 30, DAYS[1])
    assert customers.history() == [("first", 9, 30), ("second", 30, None)]


def test_a_customer_without_any_state_left_goes(customers: Customers) -> None:
    customers.correct(DAYS[0], ("42", "only", 9), ("7", "other", 9))
    done = customers.correct(DAYS[0], ("7", "other", 9))
    assert done == {
        CURRENT: Updated(inserted=0, updated=0, deleted=1, rows=1),
        HISTORY: Updated(inserted=1, updated=0, deleted=2, rows=1),
    }
    assert set(customers.current()) == {"7"}
    assert customers.history() == []


def test_a_day_without_news_changes_no_row(customers: Customers) -> None:
    customers.correct(DAYS[0], ("42", "same", 9))
    before = customers.everything()
    done = customers.correct(DAYS[0], ("42", "same", 9))
    assert done[CURRENT] == Updated(inserted=0, updated=0, deleted=0, rows=1)
    assert customers.everything() == before


def test_a_period_begins_only_when_something_changes(customers: Customers) -> None:
    for day, (name, hour) in zip(DAYS, [("a", 1), ("a", 30), ("b", 50), ("a", 80)], strict=True):
        customers.correct(day, ("42", name, hour))
    assert customers.history() == [("a", 1, 50), ("b", 50, 80), ("a", 80, None)]
    assert customers.current() == {"42": ("a", 80, DAYS[3])}


def test_nothing_is_a_value_like_any_other(customers: Customers) -> None:
    for day, (name, hour) in zip(DAYS, [(None, 1), (None, 30), ("b", 50), (None, 80)], strict=True):
        customers.correct(day, ("42", name, hour))
    assert customers.history() == [(None, 1, 50), ("b", 50, 80), (None, 80, None)]
    for name in (None, "c", None):
        customers.correct(DAYS[3], ("42", name, 80))
        assert customers.current() == {"42": (name, 80, DAYS[3])}


@pytest.mark.parametrize("order", list(permutations(range(3))))
def test_of_two_days_that_tell_of_one_instant_the_later_is_believed(
    customers: Customers, order: Sequence[int]
) -> None:
    for day in order:
        customers.correct(DAYS[day], ("42", f"day {day}", 9))
    assert customers.current() == {"42": ("day 2", 9, DAYS[2])}
    assert customers.history() == [("day 2", 9, None)]
    customers.correct(DAYS[2])
    assert customers.current() == {"42": ("day 1", 9, DAYS[1])}
    assert customers.history() == [("day 1", 9, None)]


def test_who_was_contradicted_is_believed_again_when_the_contradiction_is_withdrawn(
    customers: Customers,
) -> None:
    customers.correct(DAYS[0], ("42", "a", 1))
    customers.correct(DAYS[1], ("42", "b", 30))
    customers.correct(DAYS[2], ("42", "a", 30))
    assert customers.current() == {"42": ("a", 30, DAYS[2])}
    customers.correct(DAYS[2])
    assert customers.current() == {"42": ("b", 30, DAYS[1])}
    assert customers.history() == [("a", 1, 30), ("b", 30, None)]


days = st.lists(
    st.tuples(
        st.sampled_from(DAYS),
        st.lists(
            st.tuples(
                st.sampled_from(["42", "7"]),
                st.sampled_from(["a", "b", None]),
                st.sampled_from([1, 2, 3]),
            ),
            unique_by=lambda state: state[0],
        ),
    ),
    max_size=8,
)


@settings(max_examples=40, deadline=None)
@given(days, st.integers(1, 3))
def test_whatever_came_when_the_tables_are_as_if_made_anew(
    published: list[tuple[str, list[State]]], together: int
) -> None:
    customers, made_anew = Customers(), Customers()
    customers.take_in()
    for first in range(0, len(published), together):
        some = published[first : first + together]
        for day, states in some:
            customers.publish(day, *states)
            made_anew.publish(day, *states)
        customers.take_in(*{day for day, _ in some})
    made_anew.take_in(*DAYS, from_nothing=True)
    assert customers.everything() == made_anew.everything()
    for customer in customers.current():
        periods = customers.history(customer)
        assert all(before[2] == after[1] for before, after in pairwise(periods))
        assert [until for *_, until in periods].count(None) == 1 and periods[-1][2] is None


def test_a_column_that_is_added_to_the_mart_is_carried_along(customers: Customers) -> None:
    customers.correct(DAYS[0], ("42", "a", 9))
    customers.connection.execute("alter table marts.dim_customers add column tier varchar")
    customers.connection.execute("update marts.dim_customers set tier = 'gold'")
    customers.take_in(DAYS[0], from_nothing=True)
    for table in (CURRENT, HISTORY):
        rows = customers.connection.execute(f"select name, tier from reporting.{table}").fetchall()
        assert rows == [("a", "gold")]


def test_with_an_added_column_everything_is_to_be_taken_in_again(shop: Shop) -> None:
    reporting, run = shop.pipeline.reporting, new_run(shop.pipeline)
    with shop.pipeline.warehouse.write() as connection:
        ensure_ledger(connection)
        connection.execute("create table marts.dim_customers (_date date, customer_id varchar)")
        record_publication(connection, run, dict.fromkeys(DAYS, "a hash"))
        mark = Mark(1, reporting._version(connection))
        record_mark(connection, reporting.folder, mark, run_id="r")
        assert reporting.standing(connection).partitions == ()
        connection.execute("alter table marts.dim_customers add column tier varchar")
        assert reporting.standing(connection).partitions == tuple(DAYS)
