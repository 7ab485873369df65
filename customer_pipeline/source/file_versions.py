"""Which of several versions of one delivery counts, by what their names say.

Versions are compared as people count: by the numbers in them, from left to right, so that 10 comes
after 9 and 1.2.1 after 1.2. What stands before, between and after the numbers must be the same (in
any case), else nobody can say which is newer. No version at all comes before the first.

What belongs here: that order. What does not: finding the files (`places.py`).
"""

from __future__ import annotations

import re
from collections.abc import Sequence

Ordinal = tuple[int, ...]


def highest(versions: Sequence[str]) -> str:
    """The highest of `versions` (at least one).

    Raises:
        ValueError: it is unclear which of two is newer.
    """
    best, *others = versions
    for other in others:
        best = _higher(best, other)
    return best


def _higher(one: str, other: str) -> str:
    (words, numbers), (other_words, other_numbers) = _parts(one), _parts(other)
    common = min(len(numbers), len(other_numbers))
    is_alike = words[:common] == other_words[:common] and words[-1] == other_words[-1]
    if numbers == other_numbers or not (is_alike or one == "" or other == ""):
        raise ValueError(f"it is unclear which of {one!r} and {other!r} is newer")
    return one if numbers > other_numbers else other


def _parts(version: str) -> tuple[list[str], Ordinal]:
    """What stands before, between and after the numbers, and the numbers."""
    pieces = re.split(r"([0-9]+)", version.casefold())
    return pieces[::2], tuple(int(digits) for digits in pieces[1::2])
