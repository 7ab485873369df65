"""Which partitions should be published by now, because a schedule that is on takes care of them.

What belongs here: the hour. What does not: whether they are published (`alerts/partitions.py`).
"""

from __future__ import annotations

from datetime import datetime, time

from customer_pipeline.source.partitions import DailyPartitions

_NEWEST = 7


def due_partitions(
    partitions: DailyPartitions, by: time, since: datetime | None, now: datetime
) -> dict[str, datetime]:
    """The newest partitions that ended after `since`, and are due by now, each with when it was.

    Args:
        by: the time of day, in the source's zone, on the day on which a partition is over.
        since: when the schedule was turned on; None while it is off.
    """
    if since is None:
        return {}
    found = {}
    for key in partitions.complete_keys(now)[-_NEWEST:]:
        end = partitions.window(key).end
        due = datetime.combine(end.date(), by, tzinfo=partitions.zone)
        if end >= since and due <= now:
            found[key] = due
    return found
