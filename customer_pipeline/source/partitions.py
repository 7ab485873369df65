"""Partitions of time: which keys a source has, and the half-open window that each key stands for.

What belongs here: calendars (today daily ones), keys, windows, time zones. What does not: Dagster's
partition definitions (see `orchestration/partitions.py`), and any reading of a clock: whoever needs
"now" passes it in.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from datetime import UTC, date, datetime, time, timedelta
from zoneinfo import ZoneInfo

from customer_pipeline.errors import PartitionError


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
        return (self.end.astimezone(UTC) - self.start.astimezone(UTC)) / timedelta(hours=1)


@dataclass(frozen=True)
class DailyPartitions:
    """One partition a calendar day, from `first` to `last` (both included), in one time zone.

    `last` is None for a source that goes on.
    """

    first: date
    last: date | None
    zone: ZoneInfo

    # The column that carries the partition in every table and landing file.
    column = "_date"
    column_type = "DATE"
    # What people call one partition.
    unit = "day"

    def window(self, key: str) -> Window:
        """The window of `key` (`YYYY-MM-DD`).

        Raises:
            PartitionError: when the key is no such date, or outside the range of the source.
        """
        day = self._parse(key)
        if day < self.first or (self.last is not None and day > self.last):
            raise PartitionError(
                f"partition {key} is outside the source's range {self._range_text()}",
                todo="ask for a day inside the range, or change start/end in the source's YAML",
            )
        return Window(key, self._midnight(day), self._midnight(day + timedelta(days=1)))

    def windows(self, keys: Sequence[str]) -> list[Window]:
        return [self.window(key) for key in keys]

    def keys_between(self, first_key: str, last_key: str) -> list[str]:
        """All keys from `first_key` to `last_key`, both included.

        Raises:
            PartitionError: for a malformed key, a key outside the range, or a reversed range.
        """
        first, last = self.window(first_key).start.date(), self.window(last_key).start.date()
        if first > last:
            raise PartitionError(
                f"the range {first_key}...{last_key} is reversed", todo="put the earlier day first"
            )
        return [(first + timedelta(days=n)).isoformat() for n in range((last - first).days + 1)]

    def complete_keys(self, now: datetime) -> list[str]:
        """The keys whose window is over at `now` (an aware datetime), oldest first."""
        last = now.astimezone(self.zone).date() - timedelta(days=1)
        last = last if self.last is None else min(last, self.last)
        if last < self.first:
            return []
        return self.keys_between(self.first.isoformat(), last.isoformat())

    def _parse(self, key: str) -> date:
        try:
            day = date.fromisoformat(key)
        except ValueError:
            day = None
        if day is None or day.isoformat() != key:
            raise PartitionError(
                f"{key!r} is not a day", todo="write it as YYYY-MM-DD, such as 2026-03-09"
            )
        return day

    def _midnight(self, day: date) -> datetime:
        return datetime.combine(day, time(), tzinfo=self.zone)

    def _range_text(self) -> str:
        return f"{self.first} to {self.last or 'yesterday'}"
