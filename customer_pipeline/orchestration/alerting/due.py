"""Which partitions should be published by now, because a schedule that is on takes care of them.

What belongs here: the hour. What does not: whether they are published (`alerts/partitions.py`).
"""

from __future__ import annotations

from datetime import datetime, timedelta

from customer_pipeline.source.partitions import Partitions

_NEWEST = 7


def due_partitions(
    partitions: Partitions, due_after: timedelta, since: datetime | None, now: datetime
) -> dict[str, datetime]:
    """The newest partitions that ended after `since`, and are due by now, each with when it was.

    Args:
        due_after: how long after its end one is due, on the clock of their zone.
        since: when the schedule was turned on; None while it is off.
    """
    if since is None:
        return {}
    found: dict[str, datetime] = {}
    for key in reversed(partitions.complete_keys(now)):
        window = partitions.window(key)
        due = window.end + due_after
        if window.end < since or len(found) == _NEWEST:
            break
        if due <= now:
            found[key] = due
    return dict(reversed(found.items()))
