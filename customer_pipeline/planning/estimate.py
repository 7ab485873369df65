"""How long a run would take, going by the runs that were.

What belongs here: the arithmetic. What does not: the history (`warehouse/attempts.py`).
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from itertools import combinations
from statistics import median

from customer_pipeline.warehouse.attempts import RunTime


@dataclass(frozen=True)
class Estimate:
    """Seconds that one run would take: at least and at most, from that many earlier runs."""

    least: float
    most: float
    runs: int


def estimate(history: Sequence[RunTime], partitions: int) -> Estimate | None:
    """The time of one run over `partitions`; None without history.

    A run takes some seconds to start, and some for each partition. Runs of different lengths tell
    the two apart (the median slope of all pairs, which a run that waited for hours does not bend).
    Where all were equally long, the truth lies between "all start" and "all partitions".
    """
    if not history or not partitions:
        return None
    slopes = [
        (one.seconds - other.seconds) / (one.partitions - other.partitions)
        for one, other in combinations(history, 2)
        if one.partitions != other.partitions
    ]
    if slopes:
        each = max(0.0, median(slopes))
        start = max(0.0, median(run.seconds - each * run.partitions for run in history))
        seconds = start + each * partitions
        return Estimate(seconds, seconds, len(history))
    seconds = median(run.seconds for run in history)
    scaled = seconds * partitions / history[0].partitions
    return Estimate(min(seconds, scaled), max(seconds, scaled), len(history))
