"""Partitions of time: which keys a source has, and the half-open window that each key stands for.

A key names the start of its window in the source's time zone, as Dagster writes it: `2026-03-09` for
a day, the week from that Monday, or the month from that first; `2026-03-09-13:00` for an hour.

What belongs here: calendars, keys, windows, time zones. What does not: Dagster's partition
definitions (see `orchestration/partitions.py`), and any reading of a clock: whoever needs "now"
passes it in.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from datetime import UTC, date, datetime, time, timedelta
from itertools import takewhile
from typing import ClassVar, Literal
from zoneinfo import ZoneInfo

from customer_pipeline.errors import PartitionError
from customer_pipeline.partition_column import PartitionColumn


@dataclass(frozen=True)
class Window:
    """The half-open interval `[start, end)` of one partition.

    `start` and `end` are aware datetimes in the source's time zone. A daily window is 23 or 25
    hours long on the two days a year when the clocks change.
    """

    key: str
    start: datetime
    end: datetime

    @property
    def hours(self) -> float:
        """Elapsed hours, with clock changes counted (23.0 or 25.0 on two days a year)."""
        return (_utc(self.end) - _utc(self.start)) / timedelta(hours=1)


@dataclass(frozen=True)
class Partitions(ABC):
    """The partitions whose windows lie whole between the beginning of the day `first` and the end
    of the day `last`, in one time zone.

    `last` is None for a source that goes on.
    """

    first: date
    last: date | None
    zone: ZoneInfo

    column: ClassVar[PartitionColumn] = PartitionColumn("_date", "DATE")
    # What people call one, alone and with its article, and how a path names it.
    noun: ClassVar[str]
    one: ClassVar[str]
    in_paths: ClassVar[str]
    # Over how many of the newest ones corrections are looked for, unless a feed says otherwise.
    look_back: ClassVar[int]
    # The fields of a cron expression that stand for a day in each of them, where they begin at
    # midnight.
    cron_days: ClassVar[str | None] = None
    # Whether a date, without a time, lies in one of them.
    hold_dates: ClassVar[bool] = True
    # Some keys, each of which differs from the first in one part of its time alone; and those around
    # a new year, whose dates and week dates (ISO 8601) differ in their years.
    some_keys: ClassVar[tuple[str, ...]]
    around_new_year: ClassVar[tuple[str, ...]]

    @classmethod
    def examples(cls, zone: ZoneInfo) -> list[Window]:
        """Windows in that zone: whatever tells them apart tells all partitions apart."""
        return cls(date(2026, 1, 1), None, zone).windows([*cls.some_keys, *cls.around_new_year])

    @classmethod
    def begins_on(cls, day: date) -> bool:
        """Whether one of them begins on that day."""
        return cls(day, None, ZoneInfo("UTC"))._first_start().date() == day

    @classmethod
    def unfit_for(cls, zone: ZoneInfo) -> str | None:  # noqa: ARG003 (hours need it)
        """Why a source in that zone cannot have such partitions; None where it can."""
        return None

    def window(self, key: str) -> Window:
        """The window of `key`.

        Raises:
            PartitionError: when it is no key of such a partition, or outside the source's range.
        """
        start = self._parsed(key)
        if start is None or self._key(start) != key:
            raise PartitionError(
                f"{key!r} is not {self.one}",
                todo=f"write it as {self._form}, such as {self.some_keys[0]}",
            )
        end = self._after(start)
        limits = [limit for limit in (self._opened, self._closed) if limit]
        if any(_utc(start) < _utc(limit) < _utc(end) for limit in limits):
            raise PartitionError(
                f"partition {key} is partly outside the source's range {self._range_text()}, of"
                f" which only whole {self.noun}s count",
                todo=f"ask for a whole {self.noun}, or change start/end in the source's YAML",
            )
        if _utc(start) < _utc(self._opened) or (self._closed and _utc(end) > _utc(self._closed)):
            raise PartitionError(
                f"partition {key} is outside the source's range {self._range_text()}",
                todo=f"ask for {self.one} inside the range, or change start/end in the source's"
                " YAML",
            )
        return Window(key, start, end)

    def windows(self, keys: Sequence[str]) -> list[Window]:
        return [self.window(key) for key in keys]

    def keys_between(self, first_key: str, last_key: str) -> list[str]:
        """All keys from `first_key` to `last_key`, both included.

        Raises:
            PartitionError: for a malformed key, a key outside the range, or a reversed range.
        """
        first, last = self.window(first_key).start, self.window(last_key).start
        if _utc(first) > _utc(last):
            raise PartitionError(
                f"the range {first_key}...{last_key} is reversed",
                todo=f"put the earlier {self.noun} first",
            )
        until = _utc(last)
        starts = takewhile(lambda start: _utc(start) <= until, self._starts(first))
        return [self._key(start) for start in starts]

    def complete_keys(self, now: datetime) -> list[str]:
        """The keys whose window is over at `now` (an aware datetime), oldest first."""
        until = min(_utc(now), _utc(self._closed)) if self._closed else _utc(now)
        starts = takewhile(
            lambda start: _utc(self._after(start)) <= until, self._starts(self._first_start())
        )
        return [self._key(start) for start in starts]

    @property
    def end(self) -> datetime | None:
        """Where the last window of a source that has ended ends, or where it begins if it has none;
        None for one that goes on."""
        if self._closed is None:
            return None
        keys = self.complete_keys(self._closed)
        return self.window(keys[-1]).end if keys else self._opened

    @classmethod
    def cron(cls, after: timedelta) -> str | None:
        """The cron expression for the moment `after` the end of each partition, on the clock of their
        zone; None where there is none."""
        if cls.cron_days is None:
            return None
        hours, minutes = divmod(after.seconds // 60, 60)
        days = cls.cron_days.format(day=1 + after.days, weekday=(1 + after.days) % 7)
        return f"{minutes} {hours} {days}"

    @abstractmethod
    def _parsed(self, key: str) -> datetime | None:
        """The start that a key names; None for what names none."""

    @abstractmethod
    def _after(self, start: datetime) -> datetime:
        """The start of the next one, which is the end of this one."""

    @abstractmethod
    def _first_start(self) -> datetime:
        """The first start that is not before the source's."""

    def _key(self, start: datetime) -> str:
        return start.date().isoformat()

    def _starts(self, start: datetime) -> Iterator[datetime]:
        while True:
            yield start
            start = self._after(start)

    @property
    def _form(self) -> str:
        return "YYYY-MM-DD"

    @property
    def _opened(self) -> datetime:
        return self._midnight(self.first)

    @property
    def _closed(self) -> datetime | None:
        return self._midnight(self.last + timedelta(days=1)) if self.last else None

    def _midnight(self, day: date) -> datetime:
        return datetime.combine(day, time(), tzinfo=self.zone)

    def _range_text(self) -> str:
        return f"{self.first} to {self.last}" if self.last else f"{self.first} onwards"


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
            return _utc(start).astimezone(self.zone) if start.minute == 0 else None
        return None

    def _after(self, start: datetime) -> datetime:
        return (_utc(start) + timedelta(hours=1)).astimezone(self.zone)

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


def _utc(moment: datetime) -> datetime:
    """For comparing: aware datetimes of one zone are compared by their clock faces otherwise."""
    return moment.astimezone(UTC)
