"""Which partitions should be published by now, because a schedule that is on takes care of them.

What belongs here: the hour. What does not: whether they are published (`alerts/partitions.py`).
"""

from __future__ import annotations

from datetime import datetime

from customer_pipeline.orchestration.pipeline import Pipeline

_NEWEST = 7


def due_partitions(
    pipeline: Pipeline, since: datetime | None, now: datetime
) -> dict[str, datetime]:
    """The newest partitions that ended after `since`, and are due by now, each with when it was.

    Args:
        since: when the schedule was turned on; None while it is off.
    """
    if since is None:
        return {}
    found = {}
    for window in pipeline.partitions.windows(pipeline.partitions.complete_keys(now)[-_NEWEST:]):
        due = pipeline.due(window)
        if window.end >= since and due <= now:
            found[window.key] = due
    return found
