"""What the clock on the wall shows while time passes, on the days when clocks are changed too.

What belongs here: from elapsed time to the time that is read off a clock. What does not: the
calendar of the shop (`opening_days.py`), and the way back, from such a time to an instant (see
`mapping/wall_clock.py`).
"""

from __future__ import annotations

from datetime import UTC, datetime, timedelta

import numpy as np

from customer_pipeline.demo.chance import Ints
from customer_pipeline.demo.opening_days import day_number

HOUR = 3_600


def wall_clock(start: datetime, elapsed: Ints) -> Ints:
    """What the clock shows so many seconds after `start` (or before it), in seconds since
    1970-01-01T00:00:00 on such a clock.

    Args:
        start: a full hour, aware; its zone is the clock's.
    """
    hour, second = np.divmod(elapsed, HOUR)
    first = int(hour.min(initial=0))
    shown = np.array([_shown(start, n) for n in range(first, int(hour.max(initial=0)) + 1)])
    return shown[hour - first] + second


def _shown(start: datetime, hours: int) -> int:
    there = (start.astimezone(UTC) + timedelta(hours=hours)).astimezone(start.tzinfo)
    return (day_number(there.date()) * 24 + there.hour) * HOUR + there.minute * 60 + there.second
