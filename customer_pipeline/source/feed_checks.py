"""What can be wrong with a feed beyond its form: SQL that DuckDB refuses, constants that do not fit.

What belongs here: checks that need more than one field, or DuckDB. What does not: the form of the
fields (`feed.py`, `column.py`) and where in the file they are (`yaml_file.py`).
"""

from __future__ import annotations

from collections.abc import Iterator

import duckdb

from customer_pipeline.source.casts import strict_cast
from customer_pipeline.source.column import Column
from customer_pipeline.source.feed import Feed
from customer_pipeline.source.sql import applied, attempted, bound_type, require_pure_scalar
from customer_pipeline.source.wall_clock import WallClock

Found = tuple[tuple[str, ...], str]

# What a typed format may deliver, and an expression may have been written for.
_TYPES = (
    "VARCHAR",
    "BIGINT",
    "DOUBLE",
    "DECIMAL(18, 4)",
    "BOOLEAN",
    "DATE",
    "TIMESTAMP",
    "TIMESTAMP WITH TIME ZONE",
)


def wrong_with(feed: Feed, zone: str) -> Iterator[Found]:
    """What is wrong with `feed`: each mistake's place inside the feed, and what it is."""
    # Text formats deliver texts. What the others deliver is known when a delivery is there.
    typed = feed.reader in ("parquet", "python")
    for name, column in feed.columns.items():
        if column.constant is not None and (what := _wrong_constant(column, column.constant, zone)):
            yield ("columns", name, "constant"), what
        if column.expression is not None:
            if what := _wrong_expression(column, column.expression, zone, typed=typed):
                yield ("columns", name, "expression"), what
    if feed.where is not None and (what := _wrong_where(feed, feed.where, typed=typed)):
        yield ("where",), what


def _wrong_constant(column: Column, text: str, zone: str) -> str | None:
    cast = strict_cast(column, "VARCHAR", "value", WallClock(zone))
    query = f"select {cast.typed}, {cast.problem or 'null'} from (select cast(? as varchar) as value)"
    with duckdb.connect() as connection:
        ((typed, problem),) = connection.execute(query, [text]).fetchall()
    return f"{text!r} {problem}" if typed is None else None


def _wrong_expression(column: Column, expression: str, zone: str, *, typed: bool) -> str | None:
    problem = None
    for delivered in _TYPES if typed else ("VARCHAR",):
        try:
            require_pure_scalar(expression)
            kind = bound_type(f"{applied(expression, 'value')}[1]", {"value": delivered})
            strict_cast(column, kind, "value", WallClock(zone))
        except LookupError as error:
            return f"{error} (an expression is over 'value', the delivered value)"
        except ValueError as error:
            # What it says of the first type, text, is what it says of the feed.
            problem = problem or str(error)
        else:
            return None
    return problem


def _wrong_where(feed: Feed, where: str, *, typed: bool) -> str | None:
    try:
        require_pure_scalar(where)
    except ValueError as error:
        return str(error)
    try:
        kind = bound_type(f"{attempted(where)}[1]", dict.fromkeys(feed.delivered_columns, "VARCHAR"))
    except LookupError as error:
        return f"{error} (it may use all that is declared under columns and ignored_columns)"
    except ValueError as error:
        return None if typed else str(error)
    return None if kind == "BOOLEAN" else f"is of type {kind}, not true or false"
