"""Keys and windows of daily partitions, clock changes included."""

from __future__ import annotations

from datetime import UTC, date, datetime, timedelta
from itertools import pairwise
from zoneinfo import ZoneInfo

import dagster as dg
import pytest

from customer_pipeline.errors import PartitionError
from customer_pipeline.source.calendars import DailyPartitions


def days(zone: str = "UTC", first: str = "2026-01-01", last: str | None = None) -> DailyPartitions:
    return DailyPartitions(
        date.fromisoformat(first), date.fromisoformat(last) if last else None, ZoneInfo(zone)
    )


@pytest.mark.parametrize(
    ("zone", "hours"),
    [
        ("America/New_York", {"2026-03-07": 24, "2026-03-08": 23, "2026-03-09": 24}),
        ("America/New_York", {"2026-10-31": 24, "2026-11-01": 25, "2026-11-02": 24}),
        ("Europe/London", {"2026-03-28": 24, "2026-03-29": 23, "2026-10-25": 25}),
        ("Asia/Tokyo", {"2026-03-29": 24, "2026-10-25": 24}),
        # The clocks skip midnight, or go back to before it.
        ("America/Sao_Paulo", {"2018-11-03": 24, "2018-11-04": 23, "2019-02-16": 25}),
        ("Asia/Beirut", {"2026-03-29": 23}),
        # Half an hour.
        ("Australia/Lord_Howe", {"2026-04-05": 24.5, "2026-10-04": 23.5}),
    ],
)
def test_a_window_is_as_long_as_its_day(zone: str, hours: dict[str, float]) -> None:
    partitions = days(zone, first="2018-01-01")
    assert {key: partitions.window(key).hours for key in hours} == hours


def test_a_window_goes_from_midnight_to_midnight_in_the_zone() -> None:
    window = days("America/New_York").window("2026-03-08")
    assert window.key == "2026-03-08"
    assert window.start.isoformat() == "2026-03-08T00:00:00-05:00"
    assert window.end.isoformat() == "2026-03-09T00:00:00-04:00"


@pytest.mark.parametrize(
    "zone",
    [
        *("UTC", "Europe/London", "America/New_York", "America/Sao_Paulo", "America/Santiago"),
        *("Asia/Beirut", "Africa/Cairo", "Australia/Lord_Howe", "Asia/Kathmandu"),
    ],
)
def test_windows_touch_and_are_those_of_dagster(zone: str) -> None:
    partitions = days(zone, first="2017-01-01", last="2026-12-31")
    theirs = dg.DailyPartitionsDefinition("2017-01-01", end_date="2027-01-01", timezone=zone)
    keys = partitions.keys_between("2017-01-01", "2026-12-31")
    assert keys == list(theirs.get_partition_keys(datetime(2027, 1, 2, tzinfo=UTC)))
    windows = partitions.windows(keys)
    for window, following in pairwise(windows):
        assert window.end == following.start
    for window in windows:
        their = theirs.time_window_for_partition_key(window.key)
        assert window.start.timestamp() == their.start.timestamp(), window.key
        assert window.end.timestamp() == their.end.timestamp(), window.key


@pytest.mark.parametrize(
    "key",
    [
        *("2026-02-30", "2026-3-9", "20260309", "2026-W10-1", "2026-03-09T00:00", " 2026-03-09"),
        *("2026-03-09'; drop table x", "../2026-03-09", "\N{ARABIC-INDIC DIGIT TWO}026-03-09", ""),
    ],
)
def test_a_key_that_is_no_day_is_refused_by_name(key: str) -> None:
    with pytest.raises(PartitionError) as raised:
        days().window(key)
    assert repr(key) in raised.value.what
    assert "YYYY-MM-DD" in raised.value.todo


@pytest.mark.parametrize("key", ["2025-12-31", "2026-07-01"])
def test_a_day_outside_the_range_is_refused_with_the_range(key: str) -> None:
    with pytest.raises(PartitionError) as raised:
        days(last="2026-06-30").window(key)
    assert raised.value.what == (
        f"partition {key} is outside the source's range 2026-01-01 to 2026-06-30"
    )


def test_the_first_and_the_last_day_belong_to_the_range() -> None:
    partitions = days(last="2026-06-30")
    assert [window.key for window in partitions.windows(["2026-01-01", "2026-06-30"])] == [
        "2026-01-01",
        "2026-06-30",
    ]


def test_keys_between_includes_both_ends() -> None:
    partitions = days()
    assert partitions.keys_between("2026-02-27", "2026-03-01") == [
        "2026-02-27",
        "2026-02-28",
        "2026-03-01",
    ]
    assert partitions.keys_between("2026-02-27", "2026-02-27") == ["2026-02-27"]


@pytest.mark.parametrize(
    ("first", "last", "words"),
    [
        ("2026-03-09", "2026-03-08", "the range 2026-03-09...2026-03-08 is reversed"),
        ("2025-12-31", "2026-01-02", "partition 2025-12-31 is outside"),
        ("2026-06-29", "2026-07-01", "partition 2026-07-01 is outside"),
        ("2026-06-29", "2026-06-31", "'2026-06-31' is not a day"),
    ],
)
def test_a_range_that_cannot_be_is_refused(first: str, last: str, words: str) -> None:
    with pytest.raises(PartitionError) as raised:
        days(last="2026-06-30").keys_between(first, last)
    assert words in raised.value.what
    assert raised.value.todo


@pytest.mark.parametrize(
    ("now", "newest"),
    [
        ("2026-03-10T00:59:00+00:00", "2026-03-09"),
        ("2026-03-10T03:59:59+00:00", "2026-03-08"),
        ("2026-03-10T04:00:00+00:00", "2026-03-09"),
        ("2026-03-10T01:00:00+09:00", "2026-03-08"),
    ],
)
def test_a_day_is_complete_when_it_is_over_in_the_zone(now: str, newest: str) -> None:
    zone = "UTC" if now.startswith("2026-03-10T00") else "America/New_York"
    keys = days(zone).complete_keys(datetime.fromisoformat(now))
    assert (keys[0], keys[-1]) == ("2026-01-01", newest)


def test_the_last_seven_days_are_those_of_the_zone() -> None:
    now = datetime(2026, 3, 10, 1, tzinfo=ZoneInfo("Asia/Tokyo")).astimezone(UTC)
    keys = days("Asia/Tokyo").complete_keys(now)
    assert keys[-7:] == days("Asia/Tokyo").keys_between("2026-03-03", "2026-03-09")


def test_complete_keys_end_with_the_source_and_begin_with_it() -> None:
    partitions = days(last="2026-01-03")
    assert partitions.complete_keys(datetime(2030, 1, 1, tzinfo=UTC)) == [
        "2026-01-01",
        "2026-01-02",
        "2026-01-03",
    ]
    assert partitions.complete_keys(datetime(2026, 1, 1, 23, 59, tzinfo=UTC)) == []
    assert partitions.complete_keys(datetime(2025, 6, 1, tzinfo=UTC)) == []
    first_over = datetime(2026, 1, 2, tzinfo=UTC)
    assert partitions.complete_keys(first_over) == ["2026-01-01"]
    assert partitions.complete_keys(first_over + timedelta(days=1)) == ["2026-01-01", "2026-01-02"]
