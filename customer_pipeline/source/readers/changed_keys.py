"""Keys of a JSON Lines file that change their name from one line to another.

What belongs here: finding and refusing them. What does not: columns that are gone from a whole
delivery (`columns.py`), and which names are alike (`renames.py`).
"""

from __future__ import annotations

from collections.abc import Mapping, Set

from customer_pipeline.source.drift import ColumnsError, Drift
from customer_pipeline.source.feed import Feed
from customer_pipeline.source.readers.renames import alike


def refuse_changed_keys(
    beside_new: Mapping[str, Set[str]],
    first_lines: Mapping[str, int],
    feed: Feed,
    where: str,
    *,
    drift: tuple[Drift, ...],
) -> None:
    """Refuses a file in which some lines have, in place of a declared key, a new one that is like it:
    ignoring that would lose what these lines say.

    Args:
        beside_new: all keys of the lines that have a new key, by that key.
        first_lines: on which line each key was first seen.
        drift: how the columns of the whole file differ.

    Raises:
        ColumnsError: when there is such a key.
    """
    renamed = {
        column: new
        for new, beside in beside_new.items()
        for column in _renamed(new, beside, feed, first_lines.keys())
    }
    if not renamed:
        return
    column, new = next(iter(renamed.items()))
    changed = [Drift(name, "renamed", now, refuses=True) for name, now in renamed.items()]
    others = [one for one in drift if one.column not in renamed.values()]
    raise ColumnsError(
        f"{column!r} seems to be called {new!r} on some lines, first on line {first_lines[new]}",
        where=where,
        todo=f"have it called the same on every line; if {new!r} is another column, list it under"
        " 'ignored_columns'",
        drift=(*changed, *others),
    )


def _renamed(new: str, beside: Set[str], feed: Feed, seen: Set[str]) -> dict[str, str]:
    names = feed.delivered_names
    gone = {
        column: True
        for column, its_names in names.items()
        if column not in feed.ignored_columns and not beside & {*its_names} and seen & {*its_names}
    }
    return alike(gone, [new], names.keys() - gone.keys())
