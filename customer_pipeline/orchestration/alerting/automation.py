"""Sensors and schedules that keep failing, and whether a schedule is on.

What belongs here: reading their ticks. What does not: what is told of them
(`customer_pipeline/alerts/runs.py`).
"""

from __future__ import annotations

from collections.abc import Iterator
from datetime import UTC, datetime

import dagster as dg

from customer_pipeline.alerts.scene import FailingAutomation
from customer_pipeline.orchestration.causes import first_error, first_line

_ON = ("RUNNING", "DECLARED_IN_CODE")
# A sensor looks again in seconds; a schedule that fails has missed its hour.
_TICKS = {"SENSOR": 3, "SCHEDULE": 1}
_NEWEST_TICKS = 6


def failing_automation(
    instance: dg.DagsterInstance, since: datetime
) -> Iterator[FailingAutomation]:
    """The sensors and schedules that are on, and whose newest ticks all failed, since then."""
    for state in instance.all_instigator_state():
        kind = state.instigator_type.value
        if state.status.value not in _ON or kind not in _TICKS:
            continue
        ticks = [
            tick
            for tick in instance.get_ticks(
                state.instigator_origin_id, state.selector_id, limit=_NEWEST_TICKS
            )
            if tick.status.value != "STARTED" and tick.timestamp >= since.timestamp()
        ]
        newest = ticks[: _TICKS[kind]]
        if len(newest) == _TICKS[kind] and all(tick.status.value == "FAILURE" for tick in newest):
            yield FailingAutomation(
                kind.lower(),
                state.instigator_name,
                len(newest),
                datetime.fromtimestamp(newest[-1].timestamp, UTC),
                first_line(first_error(newest[0].error)),
            )


def on_since(instance: dg.DagsterInstance, schedule: str) -> datetime | None:
    """Since when a schedule is on; None while it is off."""
    for state in instance.all_instigator_state():
        if state.instigator_name == schedule and state.status.value in _ON:
            started = getattr(state.instigator_data, "start_timestamp", None)
            return datetime.fromtimestamp(started or 0, UTC)
    return None
