"""What somebody asks of a backfill, and what that means for partitions as they
stand.

What belongs here: the choice of partitions, and their cutting into runs. What does not: deciding about a
single one (`planning/plan.py`), and doing anything.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from datetime import datetime

from customer_pipeline.planning.pieces import pieces
from customer_pipeline.planning.plan import Decision, Redo, left_over, plan
from customer_pipeline.planning.state import State


@dataclass(frozen=True)
class Asked:
    """A backfill as it was typed.

    Args:
        keys: the partitions that were named, all of them, oldest first.
        look_at: the feeds whose deliveries are compared with what is loaded.
        resumes: the moment at which the backfill began that this one goes on with, if it does.
        verify_first: how many run alone and are verified before the rest is started.
        longest_run: how many partitions a run takes at most; None for as long runs as there are.
        max_active_runs: None for as many runs at once as Dagster's instance allows.
    """

    keys: tuple[str, ...]
    redo: Redo
    look_at: tuple[str, ...] = ()
    resumes: datetime | None = None
    verify_first: int = 1
    longest_run: int | None = None
    max_active_runs: int | None = None
    newest_first: bool = False
    reason: str = ""

    def decide(self, states: Sequence[State]) -> list[Decision]:
        """What runs and what is left alone, of partitions in these states."""
        if self.resumes is not None:
            return left_over(states, self.resumes)
        return plan(states, self.redo)

    def in_order(self, keys: Sequence[str]) -> list[str]:
        """Partitions in the order in which they are to run."""
        return sorted(keys, reverse=self.newest_first)

    def runs_of(self, calendar: Sequence[str], keys: Sequence[str]) -> list[list[str]]:
        """The runs that make these partitions, in the order of the calendar."""
        return pieces(calendar, keys, longest=self.longest_run)
