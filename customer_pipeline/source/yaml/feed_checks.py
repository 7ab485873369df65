"""What can be wrong with a feed beyond its form: SQL that DuckDB refuses, an unfit constant.

What belongs here: checks that need more than one field, or DuckDB. What does not: the form of the
fields (`feed.py`, `column.py`) and where in the file they are (`source_file.py`).
"""

from __future__ import annotations

from collections.abc import Iterator

import duckdb

from customer_pipeline.source.column import Column
from customer_pipeline.source.feed import Feed
from customer_pipeline.source.mapping.binding import bound_type, require_pure_scalar
from customer_pipeline.source.mapping.casts import strict_cast
from customer_pipeline.source.mapping.sql import applied, attempted
from customer_pipeline.source.mapping.wall_clock import WallClock

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
        if column.constant is not None and (what := _wrong_constant(column, zone)):
            yield ("columns", name, "constant"), what
        if column.expression is not None and (what := _wrong_expression(column, zone, typed=typed)):
            yield ("columns", name, "expression"), what
    if feed.where is not None and (what := _wrong_where(feed, typed=typed)):
        yield ("where",), what


def _wrong_constant(column: Column, zone: str) -> str | None:
    cast = strict_cast(column, "VARCHAR", "value", WallClock(zone))
    query = f"select {cast.typed}, {cast.problem or 'null'} from (select ?::varchar as value)"
    with duckdb.connect() as connection:
        ((typed, problem),) = connection.execute(query, [column.constant]).fetchall()
    return f"{column.constant!r} {problem}" if typed is None else None


def _wrong_expression(column: Column, zone: str, *, typed: bool) -> str | None:
    expression, problem = column.expression or "", None
    try:
        require_pure_scalar(expression, ["value"])
    except ValueError as error:
        return str(error)
    for delivered in _TYPES if typed else ("VARCHAR",):
        try:
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


def _wrong_where(feed: Feed, *, typed: bool) -> str | None:
    where, columns = feed.where or "", dict.fromkeys(feed.delivered_columns, "VARCHAR")
    try:
        require_pure_scalar(where, columns)
    except ValueError as error:
        return str(error)
    try:
        kind = bound_type(f"{attempted(where)}[1]", columns)
    except LookupError as error:
        return f"{error} (it may use all that is declared under columns and ignored_columns)"
    except ValueError as error:
        return None if typed else str(error)
    return None if kind == "BOOLEAN" else f"is of type {kind}, not true or false"
