"""A calendar of states for a terminal: a month a row, a day a sign, told apart without colour too.

What belongs here: drawing. What does not: states (`planning/state.py`).
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Sequence
from datetime import date
from itertools import groupby

from rich.columns import Columns
from rich.text import Text

from customer_pipeline.cli.words import STYLES, SYMBOLS
from customer_pipeline.planning.state import KINDS, State

_LABEL = len("2026-03  ")
_DAYS = 31
_NUMBERED = (1, 5, 10, 15, 20, 25, 30)


def calendar(states: Sequence[State]) -> Text:
    """One line a month, 71 characters wide; days that were not asked for are blank."""
    lines = [_header()]
    for month, days in groupby(states, key=lambda state: state.partition_key[:7]):
        lines.append(_month(month, days))
    return Text("\n").join(lines)


def legend(states: Iterable[State]) -> Columns:
    """Each state that occurs: its sign, its name, and how many days are in it."""
    totals = Counter(state.kind for state in states)
    return Columns(
        [
            Text(f"{SYMBOLS[kind]} {kind} {totals[kind]:,}", STYLES[kind])
            for kind in KINDS
            if totals[kind]
        ],
        padding=(0, 3),
    )


def _header() -> Text:
    line = [" "] * (_LABEL + 2 * _DAYS)
    for day in _NUMBERED:
        place = _LABEL + 2 * (day - 1)
        line[place : place + len(str(day))] = str(day)
    return Text("".join(line).rstrip(), style="dim")


def _month(label: str, states: Iterable[State]) -> Text:
    text, drawn = Text(label.ljust(_LABEL)), 0
    for state in states:
        day = date.fromisoformat(state.partition_key).day
        text.append("  " * (day - 1 - drawn))
        text.append(SYMBOLS[state.kind], STYLES[state.kind])
        text.append(" ")
        drawn = day
    text.rstrip()
    return text
