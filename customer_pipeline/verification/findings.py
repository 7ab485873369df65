"""What a verification finds: one difference between two places that should agree.

What belongs here: the value. What does not: looking (`source.py`, `warehouse.py`, `lake.py`).
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal

Place = Literal["source", "landing", "raw", "marts", "ledger", "lake"]


@dataclass(frozen=True)
class Finding:
    """A difference in one partition: where it was noticed, and what it is, in one line."""

    partition_key: str
    place: Place
    what: str
