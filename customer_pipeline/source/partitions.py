"""Partitions of time: which keys a source has, and the half-open window that each key stands for.

What belongs here: what is true of all partitions, however long: keys, windows, ranges, time zones.
What does not: hours, days, weeks and months (`calendars.py`), Dagster's partition definitions
(`orchestration/partitions.py`), and any reading of a clock: whoever needs "now" passes it in.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from datetime import UTC, date, datetime, time, timedelta
from itertools import takewhile
from typing import ClassVar
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


def _utc(moment: datetime) -> datetime:
    """For comparing: aware datetimes of one zone are compared by their clock faces otherwise."""
    return moment.astimezone(UTC)
