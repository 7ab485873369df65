"""Schedules and sensors: are they on, have they looked lately, do they fail?

What belongs here: what the instance remembers of each. What does not: the daemon that makes them
look (`daemon.py`), and what they do.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta
from typing import Any

import dagster as dg

from customer_pipeline.health.finding import Area, Finding
from customer_pipeline.orchestration.causes import first_error
from customer_pipeline.orchestration.daemon import daemon_state

_AREA = Area("dagster")
_TICKS = 3
# Sensors look every half minute or so; one that is silent for longer is not asked to.
_SILENCE = timedelta(minutes=15)
_ERROR_SHOWN = 160
_WHERE = "see its ticks in the UI under Automation"


@dataclass(frozen=True)
class _Automation:
    """A schedule or sensor, whether it is on, and its newest ticks, newest first."""

    kind: str
    name: str
    is_on: bool
    ticks: Sequence[Any]

    @property
    def last(self) -> datetime | None:
        return datetime.fromtimestamp(self.ticks[0].timestamp, UTC) if self.ticks else None


def look_at_automation(
    instance: dg.DagsterInstance, definitions: dg.Definitions, now: datetime
) -> Iterator[Finding]:
    """A finding for each schedule and sensor of the code location."""
    ticking = daemon_state(instance, now).alive
    for automation in _automations(instance, definitions):
        yield _look(automation, now, ticking=ticking)


def _automations(
    instance: dg.DagsterInstance, definitions: dg.Definitions
) -> Iterator[_Automation]:
    # A location that was loaded under different names is remembered once for each.
    remembered = defaultdict(list)
    for state in instance.all_instigator_state():
        remembered[state.instigator_name].append(state)
    for kind, several in (("schedule", definitions.schedules), ("sensor", definitions.sensors)):
        for one in several or ():
            states = remembered[one.name]
            declared = one.default_status.value == "RUNNING"
            is_on = any(_is_on(state, declared) for state in states) if states else declared
            yield _Automation(kind, one.name, is_on, _newest_ticks(instance, states))


def _is_on(state: Any, declared: bool) -> bool:
    """What a person has switched counts; until then, what the code declares."""
    return declared if state.status.value == "DECLARED_IN_CODE" else state.status.value == "RUNNING"


def _newest_ticks(instance: dg.DagsterInstance, states: Sequence[Any]) -> list[Any]:
    ticks = [
        tick
        for state in states
        for tick in instance.get_ticks(state.instigator_origin_id, state.selector_id, limit=_TICKS)
    ]
    return sorted(ticks, key=lambda tick: tick.timestamp, reverse=True)[:_TICKS]


def _look(one: _Automation, now: datetime, *, ticking: bool) -> Finding:
    if not one.is_on:
        todo = "if you want it, turn it on in the UI under Automation"
        return _AREA.warning(one.kind, f"{one.name} is off", todo)
    if one.last is None:
        return _AREA.ok(one.kind, f"{one.name} is on, and has not ticked yet")
    failed = [tick for tick in one.ticks if tick.status.value == "FAILURE"]
    if failed:
        words = f"{one.name} failed in {len(failed)} of its last {len(one.ticks)} ticks"
        words = f"{words}: {_message(failed[0])}"
        # One that has looked since, and that went well, may have been bad luck.
        bad_luck = failed[0] is not one.ticks[0]
        return (_AREA.warning if bad_luck else _AREA.problem)(one.kind, words, _WHERE)
    words = f"{one.name} is on, and last ticked at {one.last:%Y-%m-%d %H:%M} UTC"
    if one.kind == "sensor" and ticking and now - one.last > _SILENCE:
        todo = "check in the UI under Deployment that the code location loads"
        return _AREA.problem(one.kind, f"{words}, although the daemon is running", todo)
    return _AREA.ok(one.kind, words)


def _message(tick: Any) -> str:
    """The first cause, on one line."""
    text = " ".join((first_error(tick.error) if tick.error else "no reason was recorded").split())
    return text if len(text) <= _ERROR_SHOWN else f"{text[:_ERROR_SHOWN]}…"
