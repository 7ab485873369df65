"""From delivered columns to loaded ones: one query over a delivery, as a feed declares it.

What belongs here: the SQL that reads the rows of a delivery, gives each column its type, and says
of each row what is wrong with it. What does not: running it, and the casts (`casts.py`).
"""

from __future__ import annotations

from dataclasses import dataclass
from datetime import UTC, datetime

import pyarrow as pa

from customer_pipeline.errors import DeliveryError
from customer_pipeline.quoting import literal, quoted
from customer_pipeline.source.column import Column
from customer_pipeline.source.delivery import LINE
from customer_pipeline.source.feed import Feed
from customer_pipeline.source.mapping.binding import BoundTypes, bound_types
from customer_pipeline.source.mapping.casts import StrictCast, strict_cast
from customer_pipeline.source.mapping.sql import applied, attempted
from customer_pipeline.source.mapping.text_casts import sql_type
from customer_pipeline.source.mapping.wall_clock import WallClock
from customer_pipeline.source.partitions import Window

REASON = "_reason"
_VALUE_SHOWN = 200


@dataclass(frozen=True)
class _Problem:
    """SQL for whether a row has the problem (true, false or null), and for a text that says so."""

    condition: str
    words: str


@dataclass(frozen=True)
class _Steps:
    """What the steps of the query select for a column, in this order: what was delivered, the value
    that is to be loaded, that value with its type. A constant has nothing delivered."""

    delivered: str
    value: str
    typed: str
    problems: tuple[_Problem, ...] = ()


def mapping_query(feed: Feed, delivered: pa.Schema, window: Window, zone: str) -> str:
    """A query over the relation `delivered`: the rows of `feed`'s delivery for `window`.

    Its result has the loaded columns in declared order, each of its `sql_type`, then `_line`
    (BIGINT) and `_reason` (VARCHAR): null for a good row, otherwise what is wrong with it, such as
    `quantity: 'n/a' is not an integer; customer_id: is empty, but it is required`. Rows for which
    `where` is not true are not in the result; those on which it fails are, with a reason. The
    session's time zone makes no difference, except to what an `expression` or `where` does with it.
    It does to how Arrow labels the column's type, so let it be UTC.

    Args:
        delivered: the schema of the relation: that of a `Delivery`'s `rows`.
        zone: the time zone of times that name none.

    Raises:
        DeliveryError: when a delivered column has a type that DuckDB cannot read (so build the
            query before you register the relation) or from which the declared one cannot come, or
            `where` is no condition over the delivered types.
    """
    mapper = _Mapper.of(feed, delivered, window, zone)
    steps = [mapper.steps(n, name, column) for n, (name, column) in enumerate(feed.columns.items())]
    problems = [problem for step in steps for problem in step.problems]
    belongs = "[true]"
    if feed.where is not None:
        belongs = attempted(feed.where)
        problems.insert(0, _Problem("belongs is null", "'where: the condition fails on this row'"))
    named = [f"t{n} as {quoted(name)}" for n, name in enumerate(feed.columns)]
    return f"""
with delivered_rows as (
    select {_listed(LINE, *(step.delivered for step in steps), f"{belongs} as belongs")}
    from delivered
),
own_rows as (
    select {_listed(LINE, "belongs", *(step.value for step in steps))}
    from delivered_rows
    where belongs is null or belongs[1]
),
typed_rows as (
    select {_listed("*", *(step.typed for step in steps))}
    from own_rows
)
select {_listed(*named, LINE, f"{_reason(problems)} as {REASON}")}
from typed_rows
"""


def exact_rows(rows: pa.Table, window: Window) -> pa.Table:
    """`rows` without types of which DuckDB silently drops a part: instants in nanoseconds become
    instants in microseconds.

    Raises:
        DeliveryError: when one of them is not whole microseconds.
    """
    for n, field in enumerate(rows.schema):
        if pa.types.is_timestamp(field.type) and field.type.unit == "ns" and field.type.tz:
            try:
                exact = rows.column(n).cast(pa.timestamp("us", field.type.tz))
            except pa.ArrowInvalid as error:
                raise DeliveryError(
                    f"{field.name}: there are times finer than a microsecond",
                    where=window.key,
                    todo="have it delivered in microseconds",
                ) from error
            rows = rows.set_column(n, field.name, exact)
    return rows


@dataclass(frozen=True)
class _Mapper:
    """Writes the steps of each column."""

    feed: Feed
    window: Window
    clock: WallClock
    types: BoundTypes

    @classmethod
    def of(cls, feed: Feed, delivered: pa.Schema, window: Window, zone: str) -> _Mapper:
        expressions = tuple(
            (column.delivered_names(name)[0], column.expression)
            for name, column in feed.columns.items()
            if column.expression is not None
        )
        try:
            types = bound_types(delivered, expressions, feed.where)
        except ValueError as error:
            raise DeliveryError(
                str(error), where=window.key, todo="have it delivered with the types it had before"
            ) from error
        return cls(feed, window, WallClock.over(window, zone), types)

    def steps(self, n: int, name: str, column: Column) -> _Steps:
        if column.is_constant:
            text = "null" if column.constant is None else literal(column.constant)
            constant = strict_cast(column, "VARCHAR", f"cast({text} as varchar)", self.clock).typed
            return _Steps("", "", f"cast({constant} as {sql_type(column)}) as t{n}")
        source = column.delivered_names(name)[0]
        if column.expression is None:
            kind, step, value, failed = self.types.columns[source], f"d{n} as v{n}", f"v{n}", None
        else:
            kind = self.types.expressions[source, column.expression]
            # Not every day has the type for which the expression was written (where nothing was
            # delivered, it is text): then it fails on each value, and there are none there.
            sql = applied(column.expression, f"d{n}") if kind else f"if(d{n} is null, [null], null)"
            step, value = f"d{n}, {sql} as v{n}", f"v{n}[1]"
            shown = _shown(f"d{n}", self.types.columns[source])
            failed = _Problem(f"v{n} is null", f"'the expression fails on ' || {shown}")
        cast = self._cast(name, column, kind or "VARCHAR", value)
        problems = [failed] if failed else []
        if cast.problem is not None:
            words = f"{_shown(value, kind or 'VARCHAR')} || ' ' || {cast.problem}"
            problems.append(_Problem(f"t{n} is null and {value} is not null", words))
        if name in self.feed.required_columns:
            empty = f"{value} is null" + (f" and v{n} is not null" if failed else "")
            problems.append(_Problem(empty, "'is empty, but it is required'"))
        if name == self.feed.window_column:
            problems.append(self._outside(column, f"t{n}"))
        label = literal(f"{name}: ")
        return _Steps(
            delivered=f"{quoted(source)} as d{n}",
            value=step,
            typed=f"cast({cast.typed} as {sql_type(column)}) as t{n}",
            problems=tuple(_Problem(p.condition, f"{label} || {p.words}") for p in problems),
        )

    def _cast(self, name: str, column: Column, kind: str, value: str) -> StrictCast:
        try:
            return strict_cast(column, kind, value, self.clock)
        except ValueError as error:
            raise DeliveryError(
                f"{column.delivered_names(name)[0]}: {error}",
                where=self.window.key,
                todo=f"correct the type of column {name}, or have it delivered as declared",
            ) from error

    def _outside(self, column: Column, typed: str) -> _Problem:
        start, end = self.window.start, self.window.end
        if column.type == "date":
            first, last = f"date '{start.date()}'", f"date '{end.date()}'"
            shown, partition = typed, f"[{start.date()}, {end.date()})"
        else:
            first, last = _instant(start), _instant(end)
            wall = f"({typed} at time zone {literal(self.clock.zone)})"
            shown, written = f"cast({wall} as varchar)", _wall
            if start.utcoffset() != end.utcoffset() or start.fold:
                # On such a clock a time alone may be two.
                ahead = f"cast({wall} - ({typed} at time zone 'UTC') as varchar)"
                offset = f"if({ahead}[1] = '-', {ahead}[:6], '+' || {ahead}[:5])"
                shown, written = f"{shown} || {offset}", _with_offset
            partition = f"[{written(start)}, {written(end)}) in {self.clock.zone}"
        words = literal(f" lies outside the partition {partition}")
        return _Problem(
            f"{typed} < {first} or {typed} >= {last}",
            f"{_in_quotes(f'cast({shown} as varchar)')} || {words}",
        )


def _instant(time: datetime) -> str:
    return f"timestamptz '{time.astimezone(UTC).isoformat(' ')}'"


def _wall(time: datetime) -> str:
    return time.replace(tzinfo=None).isoformat(" ")


def _with_offset(time: datetime) -> str:
    return time.isoformat(" ")


def _shown(value: str, kind: str) -> str:
    """SQL for the text of a value in a reason."""
    if kind == "TIMESTAMP WITH TIME ZONE":
        return _in_quotes(f"cast({value} at time zone 'UTC' as varchar) || '+00'")
    return _in_quotes(f"left(cast({value} as varchar), {_VALUE_SHOWN})")


def _in_quotes(text: str) -> str:
    """SQL for a text in quotes: so blanks can be seen, and whoever tells of a row without telling what
    it holds (an alert) knows what to leave out."""
    return f"'''' || replace({text}, '''', '''''') || ''''"


def _reason(problems: list[_Problem]) -> str:
    if not problems:
        return "cast(null as varchar)"
    # The words are only put together for rows with a problem: most days have none.
    any_problem = " or ".join(f"({problem.condition})" for problem in problems)
    words = [f"case when {problem.condition} then {problem.words} end" for problem in problems]
    return f"case when {any_problem} then concat_ws('; ', {', '.join(words)}) end"


def _listed(*items: str) -> str:
    return ",\n        ".join(item for item in items if item)
