"""Hours, weeks and months: their keys and windows are those of Dagster, clock changes included."""

from __future__ import annotations

from datetime import UTC, date, datetime
from itertools import pairwise
from zoneinfo import ZoneInfo

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from customer_pipeline.errors import PartitionError
from customer_pipeline.orchestration.partitions import partitions_definition
from customer_pipeline.source.calendars import (
    DailyPartitions,
    HourlyPartitions,
    MonthlyPartitions,
    WeeklyPartitions,
)
from customer_pipeline.source.partitions import Partitions

CALENDARS = (HourlyPartitions, DailyPartitions, WeeklyPartitions, MonthlyPartitions)
ZONES = [
    *("UTC", "Europe/London", "America/New_York", "America/Sao_Paulo", "Asia/Beirut"),
    *("Australia/Lord_Howe", "Asia/Kathmandu"),
]
LATER = datetime(2030, 1, 1, tzinfo=UTC)


def calendar(kind: type[Partitions], zone: str, first: str, last: str | None) -> Partitions:
    return kind(
        date.fromisoformat(first), date.fromisoformat(last) if last else None, ZoneInfo(zone)
    )


def agrees_with_dagster(partitions: Partitions, now: datetime) -> None:
    theirs = partitions_definition(partitions)
    keys = partitions.complete_keys(now)
    assert keys == list(theirs.get_partition_keys(now))
    windows = partitions.windows(keys)
    for window in windows:
        their = theirs.time_window_for_partition_key(window.key)
        assert window.start.timestamp() == their.start.timestamp(), window.key
        assert window.end.timestamp() == their.end.timestamp(), window.key
    assert all(one.end.timestamp() == other.start.timestamp() for one, other in pairwise(windows))
    if keys:
        assert partitions.keys_between(keys[0], keys[-1]) == keys


@pytest.mark.parametrize("zone", ZONES)
@pytest.mark.parametrize("kind", CALENDARS)
def test_keys_and_windows_are_those_of_dagster_through_clock_changes(
    kind: type[Partitions], zone: str
) -> None:
    if kind is HourlyPartitions and zone == "Australia/Lord_Howe":
        assert "clocks of Australia/Lord_Howe" in str(kind.unfit_for(ZoneInfo(zone)))
        return
    assert kind.unfit_for(ZoneInfo(zone)) is None
    years = ("2018-10-20", "2018-11-20") if zone == "America/Sao_Paulo" else None
    for first, last in (
        [years] if years else [("2026-03-01", "2026-04-20"), ("2026-10-10", "2026-11-15")]
    ):
        agrees_with_dagster(calendar(kind, zone, first, last), LATER)


@settings(deadline=None)
@given(
    st.sampled_from(CALENDARS),
    st.dates(date(2025, 12, 20), date(2026, 2, 10)),
    st.datetimes(datetime(2026, 1, 1), datetime(2026, 4, 20)),
)
def test_what_is_complete_at_any_moment_is_so_for_dagster_too(
    kind: type[Partitions], first: date, now: datetime
) -> None:
    partitions = kind(first, None, ZoneInfo("America/New_York"))
    aware = now.replace(tzinfo=UTC)
    assert partitions.complete_keys(aware) == list(
        partitions_definition(partitions).get_partition_keys(aware)
    )


@pytest.mark.parametrize(
    ("kind", "key", "words"),
    [
        (MonthlyPartitions, "2026-03-02", "is not a month"),
        (MonthlyPartitions, "2026-03", "is not a month"),
        (WeeklyPartitions, "2026-03-10", "is not a week"),
        (HourlyPartitions, "2026-03-09", "is not an hour"),
        (HourlyPartitions, "2026-03-09-13:30", "is not an hour"),
        # The clocks skip it.
        (HourlyPartitions, "2026-03-08-02:00", "is not an hour"),
        # There is only one of it.
        (HourlyPartitions, "2026-03-09-13:00-0400", "is not an hour"),
        (MonthlyPartitions, "2025-12-01", "outside the source's range"),
        # The source ends within it.
        (MonthlyPartitions, "2026-12-01", "partly outside .* only whole months count"),
    ],
)
def test_what_is_no_key_of_such_a_calendar_is_refused(
    kind: type[Partitions], key: str, words: str
) -> None:
    with pytest.raises(PartitionError, match=words) as raised:
        calendar(kind, "America/New_York", "2026-01-01", "2026-12-30").window(key)
    assert raised.value.todo


def test_the_hour_that_comes_twice_is_two_partitions() -> None:
    hours = calendar(HourlyPartitions, "America/New_York", "2026-11-01", "2026-11-01")
    first, second = hours.windows(["2026-11-01-01:00", "2026-11-01-01:00-0500"])
    assert first.hours == second.hours == 1
    assert first.end.timestamp() == second.start.timestamp()
    assert len(hours.complete_keys(LATER)) == 25


def test_a_range_without_an_end_is_told_as_one() -> None:
    with pytest.raises(PartitionError, match="outside the source's range 2026-01-01 onwards"):
        calendar(MonthlyPartitions, "UTC", "2026-01-01", None).window("2025-12-01")


@pytest.mark.parametrize(
    ("kind", "day"),
    [(WeeklyPartitions, "2026-03-10"), (MonthlyPartitions, "2026-02-15")],
)
def test_partitions_begin_on_some_days(kind: type[Partitions], day: str) -> None:
    assert not kind.begins_on(date.fromisoformat(day))
    assert kind.begins_on(date(2026, 6, 1))
    assert DailyPartitions.begins_on(date.fromisoformat(day))


def test_a_month_begins_with_the_first_whole_one() -> None:
    months = calendar(MonthlyPartitions, "UTC", "2026-01-15", "2026-04-29")
    assert months.complete_keys(LATER) == ["2026-02-01", "2026-03-01"]
