"""Which declared columns that are gone were probably renamed, and to what.

What belongs here: comparing names. What does not: what follows from it (`columns.py`).
"""

from __future__ import annotations

import difflib
import re
from collections.abc import Collection, Mapping, Sequence, Set
from itertools import product

# How alike the letters of two names are (0 to 1) of which one was probably made into the other:
# enough to suggest it of a delivery that is refused anyway, and enough to refuse one.
_ALIKE = 0.6
_VERY_ALIKE = 0.8
# Shorter pieces of names are alike by chance: `id` is in `paid`, `age` in `page`.
_LEAST_WORD = 3
_LEAST_PART = 4


def likely_renames(
    gone: Mapping[str, bool], new: Sequence[str], kept: Collection[str]
) -> dict[str, str]:
    """What columns that are gone are probably called now: a new name for each that has one.

    Of one column gone and one new in the same delivery, the one is taken for the other whatever
    they are called.

    Args:
        gone: declared columns that were not delivered, each with whether it may be absent.
        new: delivered columns that are not declared.
        kept: columns that are both. A word that these have too tells nothing.
    """
    if len(gone) == len(new) == 1:
        return {next(iter(gone)): new[0]}
    return alike(gone, new, kept)


def alike(gone: Mapping[str, bool], new: Sequence[str], kept: Collection[str]) -> dict[str, str]:
    """The same by the names alone."""
    common = {word for name in kept for word in _words(name)}
    pairs = [
        (_likeness(name, other), name, other)
        for name, other in product(gone, sorted(new))
        if _is_like(name, other, _VERY_ALIKE if gone[name] else _ALIKE, common)
    ]
    renamed: dict[str, str] = {}
    for _, name, other in sorted(pairs, key=lambda pair: -pair[0]):
        if name not in renamed and other not in renamed.values():
            renamed[name] = other
    return renamed


def _is_like(name: str, other: str, cutoff: float, common: Set[str]) -> bool:
    return (
        _likeness(name, other) >= cutoff
        or _contains(name, other)
        or any(
            one.startswith(two) or two.startswith(one)
            for one, two in product(_words(name) - common, _words(other) - common)
        )
    )


def _likeness(name: str, other: str) -> float:
    return difflib.SequenceMatcher(None, name.casefold(), other.casefold()).ratio()


def _contains(name: str, other: str) -> bool:
    short, long = sorted((_letters(name), _letters(other)), key=len)
    return len(short) >= _LEAST_PART and short in long


def _letters(name: str) -> str:
    return re.sub(r"[\W_]", "", name).casefold()


def _words(name: str) -> set[str]:
    """`customerName` and `customer_name` have the words customer and name."""
    parts = re.split(r"[\W_]+|(?<=[a-z])(?=[A-Z])", name)
    return {part.casefold() for part in parts if len(part) >= _LEAST_WORD}
