"""Partitions cut into the pieces that a run each works on.

What belongs here: the cutting. What does not: which partitions (`plan.py`), and launching runs.
"""

from __future__ import annotations

from collections.abc import Collection, Iterable, Sequence


def pieces(
    keys: Sequence[str], chosen: Collection[str], *, longest: int | None = None
) -> list[list[str]]:
    """The chosen partitions as pieces without gaps, each of at most `longest` partitions.

    A run takes everything from its first to its last partition, so a piece must not span one that
    is to be left alone.

    Args:
        keys: the calendar, in order: what stands side by side here is side by side.
        longest: None for pieces as long as there are.
    """
    found: list[list[str]] = []
    wanted, open_piece = frozenset(chosen), False
    for key in keys:
        if key not in wanted:
            open_piece = False
        elif open_piece and (longest is None or len(found[-1]) < longest):
            found[-1].append(key)
        else:
            found.append([key])
            open_piece = True
    return found


def apart(keys: Sequence[str], cut: Iterable[Sequence[str]]) -> list[list[Sequence[str]]]:
    """The pieces in at most two lots, in neither of which two pieces are side by side.

    Dagster makes a run of each range without gaps that a backfill names. So pieces that touch have
    to be named by different backfills to become different runs.

    Args:
        keys: the calendar, in order.
        cut: pieces without gaps, in the order of the calendar.
    """
    place = {key: n for n, key in enumerate(keys)}
    lots: tuple[list[Sequence[str]], list[Sequence[str]]] = ([], [])
    end, lot = -1, 0
    for piece in cut:
        touches = place[piece[0]] == end + 1 and end >= 0
        lot = 1 - lot if touches else 0
        lots[lot].append(piece)
        end = place[piece[-1]]
    return [one for one in lots if one]
