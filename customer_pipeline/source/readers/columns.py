"""Matching the columns that a delivery has with those that its feed declares, by name.

What belongs here: absent, new, doubled and unnamed columns, and the table every reader returns.
What does not: types (`mapping/`).
"""

from __future__ import annotations

import json
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass

import pyarrow as pa
import yaml

from customer_pipeline.errors import DeliveryError
from customer_pipeline.source.delivery import LINE
from customer_pipeline.source.drift import ColumnsError, Drift
from customer_pipeline.source.feed import Feed
from customer_pipeline.source.readers.renames import likely_renames

_NAMES_SHOWN = 8


@dataclass(frozen=True)
class ColumnMatch:
    """The declared columns, in declared order, each with what the delivery calls it, if it has it."""

    declared: Mapping[str, str | None]
    warnings: tuple[str, ...]
    drift: tuple[Drift, ...]

    def select(self, delivered: pa.Table) -> pa.Table:
        """The declared columns of `delivered`, as declared, without metadata, absent ones as nulls."""
        nulls = pa.nulls(delivered.num_rows)
        return pa.table(
            {
                name: nulls if delivered_as is None else delivered.column(delivered_as)
                for name, delivered_as in self.declared.items()
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
        DeliveryError: for a column without a name, two of the same name (in any case), and one that
            is there by two of the names that are declared for it.
        ColumnsError: for a column that is absent and not optional, for an optional one that was
            renamed, by all appearances, and for a new one where the feed does not ignore these.
    """
    _refuse_unusable_names(delivered, where)
    found = _found(delivered, feed, where)
    new = [name for name in delivered if name not in found.values()]
    absent = [
        name
        for name, delivered_as in found.items()
        if delivered_as is None and _is_used(name, feed)
    ]
    drift = _drift(absent, new, feed)
    gone = [one for one in drift if one.refuses and one.kind != "new"]
    if gone:
        raise _columns_are_gone(gone, new, drift, feed, where)
    if new and feed.new_columns == "fail":
        lines = first_lines or {}
        raise ColumnsError(
            f"the delivery has columns that the feed does not declare: {_shown(new, lines)}",
            where=where,
            todo="declare them, list them under 'ignored_columns', or set 'new_columns: ignore'",
            drift=drift,
        )
    warnings = [f"column {name!r} is absent: its values are null" for name in absent]
    if new:
        warnings.append(f"new columns are ignored: {_shown(new)}")
    return ColumnMatch(found, tuple(warnings), drift)


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
                todo="have the source give it a name",
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


def _found(delivered: Sequence[str], feed: Feed, where: str) -> dict[str, str | None]:
    """What the delivery calls each declared column; None where it has none."""
    found: dict[str, str | None] = {}
    for name, names in feed.delivered_names.items():
        present = [one for one in names if one in delivered]
        if len(present) > 1:
            raise DeliveryError(
                f"the delivery has {_shown(present)}, which are declared as names of one column",
                where=where,
                todo="take the one that is another column out of the list under 'from'",
            )
        found[name] = present[0] if present else None
    return found


def _is_used(name: str, feed: Feed) -> bool:
    """Whether it matters that a declared column is gone: one that is listed to be ignored is not
    loaded, but `where` may look at it."""
    return name not in feed.ignored_columns or name in (feed.where or "")


def _drift(absent: Sequence[str], new: Sequence[str], feed: Feed) -> tuple[Drift, ...]:
    """How each column differs that does; one that was probably renamed does so once, as that."""
    declared = feed.delivered_columns
    # What is listed to be ignored has no values that could be missed.
    loaded = {name: declared[name] for name in absent if name not in feed.ignored_columns}
    renamed = likely_renames(loaded, new, declared.keys() - set(absent))
    gone: list[Drift] = []
    for name in absent:
        if name in renamed:
            gone.append(Drift(name, "renamed", renamed[name], refuses=True))
        else:
            kind = "absent" if declared[name] else "missing"
            gone.append(Drift(name, kind, refuses=not declared[name]))
    refuses = feed.new_columns == "fail"
    others = (Drift(name, "new", refuses=refuses) for name in new if name not in renamed.values())
    return (*gone, *others)


def _columns_are_gone(
    gone: Sequence[Drift], new: Sequence[str], drift: Sequence[Drift], feed: Feed, where: str
) -> ColumnsError:
    todo = "have them delivered, or mark them 'optional: true' in the feed"
    renamed = next((one for one in gone if one.kind == "renamed"), None)
    if renamed:
        names = (renamed.delivered_as or "", *feed.delivered_names[renamed.column])
        listed = ", ".join(map(_in_yaml, names))
        todo = (
            f"if {renamed.column!r} was renamed, set 'from: [{listed}]' for its column;"
            f" if not, list {renamed.delivered_as!r} under 'ignored_columns'; {todo}"
        )
    has_new = f"; it has these that the feed does not declare: {_shown(new)}" if new else ""
    names = _shown([one.column for one in gone])
    return ColumnsError(
        f"the delivery lacks columns that the feed declares: {names}{has_new}",
        where=where,
        todo=todo,
        drift=drift,
    )


def _in_yaml(name: str) -> str:
    """`name` as an entry of a list in YAML: in quotes only where it would be read as something else."""
    try:
        is_plain = yaml.safe_load(f"[{name}]") == [name]
    except yaml.YAMLError:
        is_plain = False
    return name if is_plain else json.dumps(name, ensure_ascii=False)


def _shown(names: Iterable[str], first_lines: Mapping[str, int] | None = None) -> str:
    lines = first_lines or {}
    texts = [
        repr(name if len(name) <= 60 else name[:60] + "...")
        + (f" (first on line {lines[name]})" if name in lines else "")
        for name in names
    ]
    more = f" and {len(texts) - _NAMES_SHOWN} more" if len(texts) > _NAMES_SHOWN else ""
    return ", ".join(texts[:_NAMES_SHOWN]) + more
