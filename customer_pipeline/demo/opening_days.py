"""When the made-up shop is open. Days are numbers: days since 1970-01-01.

What belongs here: closed days and the next open ones. What does not: windows of time and time zones
(`source/partitions.py`).
"""

from __future__ import annotations

from datetime import date

import numpy as np

from customer_pipeline.demo.chance import Flags, Ints, Words, below
from customer_pipeline.demo.options import Options

_FIRST = date(1970, 1, 1).toordinal()


def day_number(day: date) -> int:
    return day.toordinal() - _FIRST


def date_of(day: int) -> date:
    return date.fromordinal(day + _FIRST)


OPENED = day_number(date(2020, 1, 2))


def is_closed(options: Options, day: int) -> bool:
    """Whether nothing happens and nothing is delivered on `day`."""
    return day < OPENED or (options.closed_days and bool(_closed(np.array([day]))[0]))


def next_open(options: Options, days: Ints) -> Ints:
    """Each day itself where it is open, otherwise the next one that is (at most two later)."""
    if not options.closed_days or not days.size:
        return days
    first = days.min()
    calendar = np.arange(first, days.max() + 3)
    closed = _closed(calendar)
    opens = calendar[:-2] + closed[:-2] + (closed[:-2] & closed[1:-1])
    return opens[days - first]


def later_open(options: Options, days: Ints, drawn: Words) -> Ints:
    """For each day, one of the open days among the three that follow it (there is always one)."""
    following = days[:, None] + np.arange(1, 4)
    opened = np.ones_like(following, dtype=bool)
    if options.closed_days:
        opened = ~_closed(following)
    wanted = below(drawn, opened.sum(axis=1)) + 1
    column = np.argmax(np.cumsum(opened, axis=1) == wanted[:, None], axis=1)
    return np.take_along_axis(following, column[:, None], axis=1)[:, 0]


def _closed(days: Ints) -> Flags:
    """Saturdays, 1 January and 25 December."""
    years = days.astype("datetime64[D]").astype("datetime64[Y]")
    new_year = years.astype("datetime64[D]").astype(np.int64)
    next_new_year = (years + 1).astype("datetime64[D]").astype(np.int64)
    saturday = (days + 3) % 7 == 5
    return saturday | (days == new_year) | (days == next_new_year - 7)
