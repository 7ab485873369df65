"""The demo's taxi trips: how many, when by London's clock, for how much, and which are refused."""

from __future__ import annotations

from collections import Counter
from datetime import date
from decimal import Decimal
from functools import cache
from itertools import pairwise
from zoneinfo import ZoneInfo

import pyarrow as pa
import pytest

from customer_pipeline.demo import feeds, trips_export
from customer_pipeline.demo.options import Options
from customer_pipeline.source.calendars import MonthlyPartitions

MONTHS = MonthlyPartitions(date(2020, 1, 1), None, ZoneInfo("Europe/London"))
A_YEAR = MONTHS.keys_between("2025-01-01", "2025-12-01")
AMOUNTS = ("Fare", "Extra", "Transport Tax", "Tip", "Tolls", "Improvement", "Congestion")
# The columns that `unreadable_trips` spoils.
SPOILT = ("Picked Up", "Miles", "Total")

Row = dict[str, str | None]


@cache
def rows_of(month: str, **options: float) -> list[Row]:
    return pa.concat_tables(feeds.trips(MONTHS.window(month), **options)).to_pylist()


def amount(row: Row, column: str) -> Decimal:
    return Decimal(row[column] or "")


# --- How many -----------------------------------------------------------------------------------


def test_a_month_has_some_three_thousand_trips_and_no_two_months_as_many():
    counts = [len(rows_of(month)) for month in A_YEAR]
    assert all(2_600 < count < 3_400 for count in counts)
    assert len(set(counts)) == len(counts)


def test_scale_20_makes_twenty_times_the_trips():
    assert 19 < len(rows_of("2025-06-01", scale=20)) / len(rows_of("2025-06-01")) < 21


@pytest.mark.parametrize("scale", [0.0001, 0.001, 0.01])
def test_a_small_company_is_right_on_average(scale):
    months = MONTHS.keys_between("2021-01-01", "2025-12-01")
    trips = sum(len(rows_of(month, scale=scale)) for month in months)
    expected = 3_000 * scale * len(months)
    assert abs(trips - expected) < 4 + 0.05 * expected


def test_large_deliveries_come_in_pieces_that_join_to_the_same_rows(monkeypatch):
    whole = rows_of("2025-06-01")
    monkeypatch.setattr(trips_export, "_TRIPS_A_PIECE", 700)
    pieces = list(feeds.trips(MONTHS.window("2025-06-01")))
    assert len(pieces) > 3
    assert pa.concat_tables(pieces).to_pylist() == whole


@pytest.mark.parametrize("scale", [0.01, 0.1, 0.15, 1])
def test_refused_trips_stay_far_below_the_quarantine_threshold(scale):
    for month in A_YEAR:
        rows = rows_of(month, scale=scale)
        sound = rows_of(month, scale=scale, unreadable_trips=False, trips_outside_month=False)
        refused = sum(row != other for row, other in zip(rows, sound, strict=True))
        assert refused <= 0.01 * len(rows)


# --- When ---------------------------------------------------------------------------------------


def picked_up(month: str, **options: float) -> list[str]:
    return [row["Picked Up"] or "" for row in rows_of(month, unreadable_trips=False, **options)]


@pytest.mark.parametrize("month", ["2025-02-01", "2025-03-01", "2025-10-01"])
def test_trips_begin_in_their_month_or_in_the_hour_before_or_after_it(month):
    window = MONTHS.window(month)
    inside = picked_up(month, trips_outside_month=False)
    assert {time[:7] for time in inside} == {month[:7]}
    outside = set(picked_up(month)) - set(inside)
    assert {time[:13] for time in outside} == {
        f"{date.fromordinal(window.start.toordinal() - 1)}T23",
        f"{window.end.date()}T00",
    }


def test_no_trip_begins_or_ends_while_the_clocks_are_put_forward_and_more_do_while_they_are_put_back():
    spring = rows_of("2025-03-01", scale=20, unreadable_trips=False)
    times = [row[column] or "" for row in spring for column in ("Picked Up", "Dropped Off")]
    hours = Counter(time[:13] for time in times)
    assert hours["2025-03-30T00"] > 0
    assert hours["2025-03-30T01"] == 0
    assert hours["2025-03-30T02"] > 0
    autumn = Counter(time[:13] for time in picked_up("2025-10-01", scale=20))
    assert autumn["2025-10-26T01"] > 1.5 * autumn["2025-10-25T01"]


def test_there_are_busy_hours_and_quiet_ones():
    hours = Counter(time[11:13] for time in picked_up("2025-06-01"))
    assert hours["18"] > 4 * hours["04"] > 0


# --- For how much -------------------------------------------------------------------------------


def test_a_total_is_the_sum_of_its_amounts():
    for row in rows_of("2025-06-01", unreadable_trips=False):
        assert amount(row, "Total") == sum(amount(row, name) for name in AMOUNTS)


def test_a_refund_stands_right_behind_its_trip_with_all_amounts_negative():
    rows = rows_of("2025-06-01", unreadable_trips=False)
    pairs = [(trip, refund) for trip, refund in pairwise(rows) if amount(refund, "Total") < 0]
    assert len(rows) - len(rows_of("2025-06-01", refunded_trips=False)) == len(pairs) > 3
    for trip, refund in pairs:
        turned = {name: str(-amount(trip, name)) for name in (*AMOUNTS, "Total")}
        turned = {name: text if amount(trip, name) else "0.00" for name, text in turned.items()}
        payment = trip["Payment"] and "4"
        assert refund == trip | turned | {"Payment": payment}


def test_about_a_quarter_is_paid_in_cash_and_only_cards_leave_tips():
    rows = rows_of("2025-06-01", refunded_trips=False)
    payments = Counter(row["Payment"] for row in rows)
    assert 0.24 < payments["2"] / len(rows) < 0.30
    assert payments.keys() == {"1", "2", "3", "4", None}
    assert {row["Payment"] for row in rows if amount(row, "Tip") > 0} == {"1"}


def test_a_trip_without_payment_says_neither_by_whom_nor_for_whom_it_was():
    unknown = ("Vendor", "Passengers", "Rate", "Sent Later", "Payment")
    for row in rows_of("2025-06-01"):
        assert len({row[name] is None for name in unknown}) == 1


def test_an_unreadable_trip_is_otherwise_the_trip_that_it_was():
    tidy = rows_of("2025-06-01", unreadable_trips=False)
    spoilt = [
        {name for name in row if row[name] != other[name]}
        for row, other in zip(rows_of("2025-06-01"), tidy, strict=True)
    ]
    assert len([names for names in spoilt if names]) >= len(tidy) // 500
    assert {name for names in spoilt for name in names} <= set(SPOILT)
    assert max(map(len, spoilt)) == 1


def test_every_column_that_can_be_unreadable_is_so_now_and_then():
    spoilt = set()
    for month in A_YEAR:
        tidy = rows_of(month, unreadable_trips=False)
        for row, other in zip(rows_of(month), tidy, strict=True):
            spoilt |= {name for name in row if row[name] != other[name]}
    assert spoilt == set(SPOILT)


def test_another_seed_makes_other_trips():
    assert rows_of("2025-06-01", seed=2) != rows_of("2025-06-01", seed=Options().seed)
