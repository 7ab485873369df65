"""Which partitions would run, and why each, and which are left alone, and why.

What belongs here: that decision, which README.md shows as a table. What does not: states
(`state.py`), and launching anything.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from datetime import datetime
from typing import Literal

from customer_pipeline.planning.state import State

Redo = Literal["missing", "failed", "stale", "all"]


@dataclass(frozen=True)
class Decision:
    """Whether a partition would run, and why, in one line."""

    partition_key: str
    runs: bool
    reason: str


def plan(states: Sequence[State], redo: Redo) -> list[Decision]:
    """What `redo` means for partitions in these states, in the same order.

    One that runs already is never run twice, and one that is waived is left alone until its waiver
    ends, so that asking for a whole year does not fail because of a day that will never come.
    """
    return [_decision(state, redo) for state in states]


def left_over(states: Sequence[State], begun: datetime) -> list[Decision]:
    """What is left of a backfill that was asked for at `begun`, all states being of its partitions:
    what has not been published since, by whatever run."""
    return [_left_over(state, begun) for state in states]


def _left_over(state: State, begun: datetime) -> Decision:
    key = state.partition_key
    if state.kind in ("running", "waived"):
        return Decision(key, runs=False, reason="; ".join(state.reasons))
    if state.published and state.published.published_at >= begun and not state.failure:
        return Decision(key, runs=False, reason="published since the backfill began")
    why = "; ".join(state.reasons) or state.kind
    return Decision(key, runs=True, reason=f"left over: {why}")


def _decision(state: State, redo: Redo) -> Decision:
    runs = _would_run(state, redo)
    return Decision(state.partition_key, runs, _why(state, redo, runs=runs))


def _why(state: State, redo: Redo, *, runs: bool) -> str:
    if state.kind in ("published", "empty"):
        # Left alone, both are fine for the same reason: the day is published.
        return f"{state.kind}, and asked for" if runs else "published"
    if state.needs_attention and not runs:
        return f"{state.kind}, which --redo {redo} leaves alone"
    return "; ".join(state.reasons)


def _would_run(state: State, redo: Redo) -> bool:
    if state.kind in ("running", "waived"):
        return False
    if redo == "missing":
        return state.kind in ("missing", "failed")
    if redo == "failed":
        return state.kind == "failed"
    if redo == "stale":
        # Also where a newer attempt failed: what is published is old all the same.
        return bool(state.stale)
    return True
