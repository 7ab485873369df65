"""Which of several versions of one delivery counts, by what their names say.

Versions are compared as people count: by the numbers in them, from left to right, so that 10 comes
after 9 and 1.2.1 after 1.2. What stands between the numbers must be the same (in any case), else
nobody can say which is newer. A name without any version is older than all of them.

What belongs here: that order. What does not: finding the files (`places.py`).
"""

from __future__ import annotations

import re
from collections.abc import Sequence

Ordinal = tuple[int, ...]


def highest(versions: Sequence[str]) -> str:
    """The highest of `versions` (at least one).

    Raises:
        ValueError: two of them cannot be compared, or are the same number.
    """
    best, *others = versions
    for other in others:
        best = _higher(best, other)
    return best


def _higher(one: str, other: str) -> str:
    (words, numbers), (other_words, other_numbers) = _parts(one), _parts(other)
    common = min(len(numbers), len(other_numbers))
    comparable = not (one and other) or (
        # What stands before each number, and after the last one.
        words[:common] == other_words[:common] and words[-1] == other_words[-1]
    )
    if not comparable:
        raise ValueError(f"nobody can say which of {one!r} and {other!r} is newer")
    if numbers == other_numbers:
        raise ValueError(f"{one!r} and {other!r} are the same number")
    return max((numbers, one), (other_numbers, other))[1]


def _parts(version: str) -> tuple[list[str], Ordinal]:
    """What stands before, between and after the numbers, and the numbers."""
    pieces = re.split(r"([0-9]+)", version.casefold())
    return pieces[::2], tuple(int(digits) for digits in pieces[1::2])
