"""Matching the columns that a delivery has with those that its feed declares, by name.

What belongs here: absent, new, doubled and unnamed columns, and the table every reader returns.
What does not: types (`mapping/`).
"""

from __future__ import annotations

import difflib
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass

import pyarrow as pa

from customer_pipeline.errors import DeliveryError
from customer_pipeline.source.delivery import LINE
from customer_pipeline.source.feed import Feed

_NAMES_SHOWN = 8


@dataclass(frozen=True)
class ColumnMatch:
    """The declared columns, in declared order, each with whether the delivery has it."""

    declared: Mapping[str, bool]
    warnings: tuple[str, ...]

    def select(self, delivered: pa.Table) -> pa.Table:
        """The declared columns of `delivered`, without metadata, absent ones as nulls."""
        nulls = pa.nulls(delivered.num_rows)
        return pa.table(
            {
                name: delivered.column(name) if present else nulls
                for name, present in self.declared.items()
            }
        )


def match_columns(
    delivered: Sequence[str],
    feed: Feed,
    where: str,
    *,
    first_lines: Mapping[str, int] | None = None,
) -> ColumnMatch:
    """Matches the `delivered` column names with those of `feed`.

    `first_lines` says on which line a name was first seen, where a format repeats its names.

    Raises:
        DeliveryError: for a column without a name, two of the same name (in any case), a column
            that is absent and not optional, or a new one where the feed does not ignore these.
    """
    _refuse_unusable_names(delivered, where)
    declared = feed.delivered_columns
    new = [name for name in delivered if name not in declared]
    absent = [name for name in declared if name not in delivered]
    _refuse_absent([name for name in absent if not declared[name]], new, where)
    if new and feed.new_columns == "fail":
        lines = first_lines or {}
        raise DeliveryError(
            f"the delivery has columns that the feed does not declare: {_shown(new, lines)}",
            where=where,
            todo="declare them, list them under 'ignored_columns', or set 'new_columns: ignore'",
        )
    warnings = [f"column {name!r} is absent: its values are null" for name in absent]
    if new:
        warnings.append(f"new columns are ignored: {_shown(new)}")
    return ColumnMatch({name: name not in absent for name in declared}, tuple(warnings))


def with_lines(rows: pa.Table, lines: pa.Array | pa.ChunkedArray) -> pa.Table:
    """`rows` with `_line` as its last column; columns that hold nothing but nulls and have no type
    become text, so that a day without values does not differ in kind from the others."""
    columns = {
        name: pa.nulls(len(lines), pa.string()) if pa.types.is_null(values.type) else values
        for name, values in zip(rows.column_names, rows.columns, strict=True)
    }
    return pa.table({**columns, LINE: lines})


def _refuse_unusable_names(delivered: Sequence[str], where: str) -> None:
    spellings: dict[str, str] = {}
    for position, name in enumerate(delivered, start=1):
        if not name.strip():
            raise DeliveryError(
                f"column {position} has no name",
                where=where,
                todo="have the source name it",
            )
        first = spellings.get(name.casefold())
        if first is not None:
            both = f"{name!r} twice" if first == name else f"both {first!r} and {name!r}"
            raise DeliveryError(
                f"the delivery has {both} as a column's name",
                where=where,
                todo="have the source give each column its own name",
            )
        spellings[name.casefold()] = name


def _refuse_absent(absent: list[str], new: list[str], where: str) -> None:
    if not absent:
        return
    todo = "have them delivered, or mark them 'optional: true' in the feed"
    for name in absent:
        lookalikes = {other.casefold(): other for other in new}
        if close := difflib.get_close_matches(name.casefold(), lookalikes, n=1, cutoff=0.6):
            todo = (
                f"if {name!r} was renamed, set 'from: {lookalikes[close[0]]}' for its column; "
                + todo
            )
            break
    has_new = f"; it has these that the feed does not declare: {_shown(new)}" if new else ""
    raise DeliveryError(
        f"the delivery lacks columns that the feed declares: {_shown(absent)}{has_new}",
        where=where,
        todo=todo,
    )


def _shown(names: Iterable[str], first_lines: Mapping[str, int] | None = None) -> str:
    lines = first_lines or {}
    texts = [
        repr(name if len(name) <= 60 else name[:60] + "...")
        + (f" (first on line {lines[name]})" if name in lines else "")
        for name in names
    ]
    more = f" and {len(texts) - _NAMES_SHOWN} more" if len(texts) > _NAMES_SHOWN else ""
    return ", ".join(texts[:_NAMES_SHOWN]) + more
