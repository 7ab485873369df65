"""The calendars that a feed may keep: hours, days, weeks, months.

A key names the start of its window in the source's time zone, as Dagster writes it: `2026-03-09` for
a day, the week from that Monday, or the month from that first; `2026-03-09-13:00` for an hour.

What belongs here: what tells one calendar from another. Code that all of them share asks for none of
these classes, and finds a feed's by its name in `CALENDARS`. What does not: what is true of all
partitions (`partitions.py`).
"""

from __future__ import annotations

from datetime import UTC, date, datetime, timedelta
from typing import Literal
from zoneinfo import ZoneInfo

from customer_pipeline.partition_column import PartitionColumn
from customer_pipeline.source.partitions import Partitions, Window


class DailyPartitions(Partitions):
    """One a calendar day, from midnight to midnight."""

    noun, one, look_back = "day", "a day", 7
    in_paths = "{date} or {date:%Y%m%d}"
    some_keys = ("2026-03-09", "2026-03-10", "2026-04-09", "2027-03-09")
    around_new_year = ("2026-01-01", "2027-01-01", "2029-01-01", "2029-12-31")
    cron_days = "* * *"

    def _parsed(self, key: str) -> datetime | None:
        try:
            return self._midnight(date.fromisoformat(key))
        except ValueError:
            return None

    def _after(self, start: datetime) -> datetime:
        return self._midnight(start.date() + timedelta(days=1))

    def _first_start(self) -> datetime:
        return self._opened


class WeeklyPartitions(DailyPartitions):
    """One a calendar week, from Monday to Monday."""

    noun, one, look_back = "week", "a week", 2
    some_keys = ("2026-03-09", "2026-03-16", "2026-11-09", "2027-03-08")
    around_new_year = ("2029-01-01", "2029-12-31")
    cron_days = "* * {weekday}"

    def _parsed(self, key: str) -> datetime | None:
        start = super()._parsed(key)
        return start if start and start.weekday() == 0 else None

    def _after(self, start: datetime) -> datetime:
        return self._midnight(start.date() + timedelta(days=7))

    def _first_start(self) -> datetime:
        return self._midnight(self.first + timedelta(days=-self.first.weekday() % 7))

    @property
    def _form(self) -> str:
        return "its Monday, YYYY-MM-DD"


class MonthlyPartitions(DailyPartitions):
    """One a calendar month."""

    noun, one, look_back = "month", "a month", 2
    in_paths = "{date:%Y-%m}"
    some_keys = ("2026-03-01", "2026-04-01", "2027-03-01")
    around_new_year = ("2026-01-01", "2027-01-01")
    cron_days = "{day} * *"

    def _parsed(self, key: str) -> datetime | None:
        start = super()._parsed(key)
        return start if start and start.day == 1 else None

    def _after(self, start: datetime) -> datetime:
        # 31 days after a first is always somewhere in the next month.
        return self._midnight((start.date() + timedelta(days=31)).replace(day=1))

    def _first_start(self) -> datetime:
        return (
            self._opened
            if self.first.day == 1
            else self._after(self._midnight(self.first.replace(day=1)))
        )

    @property
    def _form(self) -> str:
        return "its first day, YYYY-MM-01"


class HourlyPartitions(Partitions):
    """One an hour that passes: 23 or 25 on the two days a year when the clocks change.

    The second of two hours with the same name has its distance from UTC in its key.
    """

    column = PartitionColumn("_hour", "VARCHAR")
    noun, one, look_back = "hour", "an hour", 24
    in_paths = "{date:%Y-%m-%d-%H%z}"
    some_keys = (
        *("2026-03-09-13:00", "2026-03-09-14:00", "2026-03-10-13:00"),
        *("2026-04-09-13:00", "2027-03-09-13:00"),
    )
    around_new_year = tuple(f"{day}-13:00" for day in DailyPartitions.around_new_year)
    hold_dates = False

    @classmethod
    def examples(cls, zone: ZoneInfo) -> list[Window]:
        """Also the hours that come twice under one name."""
        year = cls(date(2026, 1, 1), date(2026, 12, 31), zone)
        hours = year.windows(year.complete_keys(datetime(2028, 1, 1, tzinfo=UTC)))
        twice = {hour.start.replace(fold=0) for hour in hours if hour.start.fold}
        return [
            *super().examples(zone),
            *(hour for hour in hours if hour.start.replace(fold=0) in twice),
        ]

    @classmethod
    def unfit_for(cls, zone: ZoneInfo) -> str | None:
        """Where clocks change by half an hour, hours begin at another minute after it."""
        first = datetime(2020, 1, 1, tzinfo=UTC)
        moments = (first + timedelta(days=30 * month) for month in range(12 * 20))
        if len({moment.astimezone(zone).minute for moment in moments}) == 1:
            return None
        return f"the clocks of {zone.key} change by less than an hour, so its hours have no names"

    def _parsed(self, key: str) -> datetime | None:
        for form in ("%Y-%m-%d-%H:%M%z", "%Y-%m-%d-%H:%M"):
            try:
                named = datetime.strptime(key, form)  # noqa: DTZ007 (the zone follows)
            except ValueError:
                continue
            start = named.astimezone(self.zone) if named.tzinfo else named.replace(tzinfo=self.zone)
            # An hour that the clocks skip comes back as another one.
            return start.astimezone(UTC).astimezone(self.zone) if start.minute == 0 else None
        return None

    def _after(self, start: datetime) -> datetime:
        # In UTC an hour is one that passes, whatever the clocks do.
        return (start.astimezone(UTC) + timedelta(hours=1)).astimezone(self.zone)

    def _first_start(self) -> datetime:
        return self._opened

    def _key(self, start: datetime) -> str:
        return start.strftime("%Y-%m-%d-%H:%M%z" if start.fold else "%Y-%m-%d-%H:%M")

    @property
    def _form(self) -> str:
        return "YYYY-MM-DD-HH:00"


Cadence = Literal["hourly", "daily", "weekly", "monthly"]
CALENDARS: dict[Cadence, type[Partitions]] = {
    "hourly": HourlyPartitions,
    "daily": DailyPartitions,
    "weekly": WeeklyPartitions,
    "monthly": MonthlyPartitions,
}
