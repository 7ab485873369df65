"""Chance that is the same everywhere: 64-bit words hashed from names and numbers.

What belongs here: words, and how a word becomes a number or a pick out of a table, with integer
arithmetic only. What does not: what is drawn. NumPy's own distributions are not used, since their
results may change between its versions.
"""

from __future__ import annotations

from hashlib import sha256
from itertools import pairwise

import numpy as np
from numpy.typing import NDArray

Words = NDArray[np.uint64]
Ints = NDArray[np.int64]
Flags = NDArray[np.bool_]

_STEP = np.uint64(0x9E3779B97F4A7C15)
_HALF = np.uint64(32)


def words(seed: int, stream: str, *keys: Ints | int) -> Words:
    """One word for each combination of keys (arrays of one length, or single numbers).

    The same (seed, stream, keys) always gives the same word, whatever else is drawn, so any
    customer, invoice or line can be computed alone. `stream` says what the word is for: different
    streams are independent of each other.
    """
    start = int.from_bytes(sha256(f"{seed}/{stream}".encode()).digest()[:8], "big")
    state = np.array([start], dtype=np.uint64)
    for key in keys:
        state = _mix((np.atleast_1d(key).astype(np.uint64) * _STEP) ^ state)
    return state


def below(drawn: Words, limit: Ints | int) -> Ints:
    """Numbers from 0 to `limit - 1` (a limit is at most 2^32)."""
    limits = np.atleast_1d(limit).astype(np.uint64)
    return (((drawn >> _HALF) * limits) >> _HALF).astype(np.int64)


def one_in(drawn: Words, limit: int) -> Flags:
    """True for one word in `limit`."""
    return below(drawn, limit) == 0


def one_of_each(drawn: Words, numbers: Ints, size: int, count: int) -> Flags:
    """True for exactly one number of each `size` below `count`, so that there are never more of them
    than that; `drawn` has a word for each number's group, `numbers // size`."""
    group, place = np.divmod(numbers, size)
    return (place == below(drawn, size)) & (group < count // size)


def pick(table: Ints, drawn: Words) -> Ints:
    """Values out of a table, each entry as likely as any other."""
    return table[below(drawn, len(table))]


def curve(*points: tuple[int, int]) -> Ints:
    """A table of 1,000 values for `pick`: straight lines through (per mille, value) points."""
    values = []
    for (left, low), (right, high) in pairwise(points):
        values += [low + (high - low) * n // (right - left) for n in range(right - left)]
    return np.array(values, dtype=np.int64)


def weighted(weights: dict[int, int]) -> Ints:
    """A table for `pick` in which each value is as likely as its weight says."""
    return np.repeat(np.array(list(weights), np.int64), np.array(list(weights.values()), np.int64))


def _mix(state: Words) -> Words:
    """The finalizer of splitmix64 (Steele, Lea, Flood 2014), done in place."""
    state += _STEP
    state ^= state >> np.uint64(30)
    state *= np.uint64(0xBF58476D1CE4E5B9)
    state ^= state >> np.uint64(27)
    state *= np.uint64(0x94D049BB133111EB)
    state ^= state >> np.uint64(31)
    return state
