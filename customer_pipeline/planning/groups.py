"""Partitions of which the same is to be said, told once.

What belongs here: finding ranges without gaps. What does not: how they look (`cli/`).
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass


@dataclass(frozen=True)
class Span:
    """Partitions from `first` to `last`, both included, without a gap."""

    first: str
    last: str

    @property
    def words(self) -> str:
        return self.first if self.first == self.last else f"{self.first} to {self.last}"


@dataclass(frozen=True)
class Group:
    """All partitions of which `words` are said: how many, and where."""

    words: str
    partitions: int
    spans: tuple[Span, ...]


def grouped(keys: Sequence[str], words: Mapping[str, str]) -> list[Group]:
    """The partitions that `words` says something of, by what it says, in the order of their first.

    Args:
        keys: the calendar: partitions that stand side by side here are side by side.
        words: what is to be said, by partition.
    """
    found: dict[str, list[list[str]]] = {}
    before: str | None = None
    for key in keys:
        said = words.get(key)
        if said is not None:
            ranges = found.setdefault(said, [])
            if said == before:
                ranges[-1].append(key)
            else:
                ranges.append([key])
        before = said
    return [
        Group(said, sum(map(len, ranges)), tuple(Span(one[0], one[-1]) for one in ranges))
        for said, ranges in found.items()
    ]
