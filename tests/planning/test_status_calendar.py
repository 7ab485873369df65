"""How the calendar of `customer-pipeline status` lays out partitions of every kind."""

from __future__ import annotations

from collections.abc import Sequence
from datetime import UTC, date, datetime
from zoneinfo import ZoneInfo

from customer_pipeline.cli.calendar import calendar
from customer_pipeline.planning.state import Kind, State
from customer_pipeline.source.calendars import HourlyPartitions, MonthlyPartitions, WeeklyPartitions
from customer_pipeline.source.partitions import Partitions

LONDON = ZoneInfo("Europe/London")


def drawn(
    kind: type[Partitions], first: date, last: date, states: Sequence[Kind] = ()
) -> list[str]:
    """The lines for all partitions of those days: missing ones, but for the first `states`."""
    partitions = kind(first, last, LONDON)
    keys = partitions.complete_keys(datetime(2030, 1, 1, tzinfo=UTC))
    kinds = [*states, *["missing"] * (len(keys) - len(states))]
    found = [State(key, kind) for key, kind in zip(keys, kinds, strict=True)]  # type: ignore[arg-type]
    return calendar(partitions, found).plain.splitlines()


def test_months_stand_in_rows_of_a_year_each_below_its_number() -> None:
    states: list[Kind] = ["published", "failed"]
    assert drawn(MonthlyPartitions, date(2025, 10, 15), date(2026, 4, 30), states) == [
        "      1     4     7     10",
        "2025                      ■ ✗",
        "2026  · · · ·",
    ]


def test_weeks_stand_in_rows_of_a_year_with_53_of_them_where_it_has_them() -> None:
    header, of_2026, of_2027 = drawn(WeeklyPartitions, date(2025, 12, 29), date(2027, 1, 17))
    assert of_2026 == f"2026  {'·' * 53}"
    # The first days of January belong to the last week of the year before.
    assert of_2027 == "2027  ··"
    assert (header.index("1"), header.index("50")) == (6, 6 + 49)
    assert len(header) <= 80


def test_hours_stand_in_rows_of_a_day_as_many_as_pass() -> None:
    header, spring = drawn(HourlyPartitions, date(2026, 3, 29), date(2026, 3, 29), ["empty"])
    assert spring == f"2026-03-29  □{' ·' * 22}"
    assert header == "            0     3     6     9     12    15    18    21"
    _, before, autumn, after = drawn(HourlyPartitions, date(2026, 10, 24), date(2026, 10, 26))
    assert [row.count("·") for row in (before, autumn, after)] == [24, 25, 24]
