"""Schedules and sensors: are they on, have they looked lately, do they fail?

What belongs here: what the instance remembers of each. What does not: the daemon that makes them
tick (`daemon.py`), and what they do.
"""

from __future__ import annotations

from collections.abc import Iterator
from datetime import UTC, datetime
from typing import Any

import dagster as dg

from customer_pipeline.health.finding import Area, Finding

_AREA = Area("dagster")
_TICKS = 3
_ERROR_SHOWN = 160


def look_at_automation(
    instance: dg.DagsterInstance, definitions: dg.Definitions
) -> Iterator[Finding]:
    """A finding for each schedule and sensor of the code location."""
    remembered: dict[str, Any] = {}
    for state in instance.all_instigator_state():
        # One of an older location of that name is remembered too; the newest was added last.
        remembered[state.instigator_name] = state
    for schedule in definitions.schedules or ():
        on = schedule.default_status is dg.DefaultScheduleStatus.RUNNING
        yield _look(instance, schedule.name, remembered.get(schedule.name), on_by_default=on)
    for sensor in definitions.sensors or ():
        on = sensor.default_status is dg.DefaultSensorStatus.RUNNING
        yield _look(instance, sensor.name, remembered.get(sensor.name), on_by_default=on)


def _look(instance: dg.DagsterInstance, name: str, state: Any, *, on_by_default: bool) -> Finding:
    if not _is_on(state, on_by_default):
        return _AREA.warning(
            name, "is off", "turn it on in the UI under Automation, if you want it"
        )
    if state is None:
        return _AREA.ok(name, "is on, and has not looked yet")
    ticks = instance.get_ticks(state.instigator_origin_id, state.selector_id, limit=_TICKS)
    failed = [tick for tick in ticks if tick.status.value == "FAILURE"]
    if not ticks:
        return _AREA.ok(name, "is on, and has not looked yet")
    at = datetime.fromtimestamp(ticks[0].timestamp, UTC)
    if not failed:
        return _AREA.ok(name, f"is on, and looked last at {at:%Y-%m-%d %H:%M:%S} UTC")
    words = f"failed in {len(failed)} of its last {len(ticks)} looks: {_message(failed[0])}"
    todo = "see its ticks in the UI under Automation"
    # A single failure was followed by looks that went well, or is about to be.
    if len(failed) == len(ticks) > 1 or failed[0] is ticks[0]:
        return _AREA.problem(name, words, todo)
    return _AREA.warning(name, words, todo)


def _is_on(state: Any, on_by_default: bool) -> bool:
    """What a person has switched counts; until then, what the code declares."""
    if state is None or state.status.value == "DECLARED_IN_CODE":
        return on_by_default
    return state.status.value == "RUNNING"


def _message(tick: Any) -> str:
    """The first cause, on one line."""
    error = tick.error
    while error is not None and error.cause is not None:
        error = error.cause
    text = " ".join((error.message if error else "no reason was kept").split())
    return text if len(text) <= _ERROR_SHOWN else f"{text[:_ERROR_SHOWN]}…"
