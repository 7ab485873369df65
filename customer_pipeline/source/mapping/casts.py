"""Strict casts: SQL that gives a delivered value its declared type exactly, or null.

What belongs here: for each pair of delivered and declared type, which values are accepted, and what
to say of the others. What does not: the forms of texts (`text_casts.py`) and whole rows
(`query.py`). Nothing is rounded, trimmed, padded or guessed, as DuckDB's own casts would.
"""

from __future__ import annotations

from dataclasses import dataclass

from customer_pipeline.quoting import literal
from customer_pipeline.source.column import Column
from customer_pipeline.source.mapping.formats import EPOCH_FORMATS
from customer_pipeline.source.mapping.text_casts import cast_text, sql_type, wall_time, when
from customer_pipeline.source.mapping.wall_clock import WallClock

_GROUPS = {
    **dict.fromkeys(("VARCHAR", "ENUM", "UUID"), "text"),
    **dict.fromkeys(("TINYINT", "SMALLINT", "INTEGER", "BIGINT", "HUGEINT"), "integer"),
    **dict.fromkeys(("UTINYINT", "USMALLINT", "UINTEGER", "UBIGINT", "UHUGEINT"), "integer"),
    **dict.fromkeys(("FLOAT", "DOUBLE"), "float"),
    **dict.fromkeys(("TIMESTAMP", "TIMESTAMP_S", "TIMESTAMP_MS", "TIMESTAMP_NS"), "wall"),
    "DECIMAL": "decimal",
    "BOOLEAN": "boolean",
    "DATE": "date",
    "TIMESTAMP WITH TIME ZONE": "instant",
}
# Below these every integer is exact; 2^53 itself may have been 2^53 + 1.
_EXACT_BELOW = {"FLOAT": 2**24, "DOUBLE": 2**53}
_INSTANTS = "timestamptz '0001-01-01 00:00:00+00' and timestamptz '9999-12-31 23:59:59.999999+00'"
_WALLS = "timestamp '0001-01-01 00:00:00' and timestamp '9999-12-31 23:59:59.999999'"


@dataclass(frozen=True)
class StrictCast:
    """`typed` is SQL for the typed value, null where the value cannot be one. `problem` is SQL for
    a text that says why, such as `'is not an integer'`; None when the cast cannot fail."""

    typed: str
    problem: str | None


def strict_cast(column: Column, delivered: str, value: str, clock: WallClock) -> StrictCast:
    """The cast of the SQL `value`, of DuckDB type `delivered`, to the type of `column`.

    `clock` says what times without an offset mean.

    Raises:
        ValueError: in plain words, when no value of that type can be loaded as the declared one.
    """
    group = _GROUPS.get(delivered.partition("(")[0])
    as_text = f"cast({value} as varchar)"
    # The text of a number has no separators, whatever the column declares for texts.
    plain = column.model_copy(update={"thousands": None, "decimal_point": "."})
    match column.kind, group:
        case "text", "text":
            return StrictCast(value if delivered == "VARCHAR" else as_text, None)
        case _, "text":
            return StrictCast(*cast_text(column, as_text, clock))
        case "text", "instant":
            return StrictCast(f"cast({value} at time zone 'UTC' as varchar) || '+00'", None)
        case "text", str():
            return StrictCast(as_text, None)
        case ("decimal", "integer" | "decimal") | ("boolean", "integer"):
            return StrictCast(*cast_text(plain, as_text, clock))
        case "timestamp", "integer" | "float" | "decimal" if column.format in EPOCH_FORMATS:
            return StrictCast(*cast_text(plain, as_text, clock))
        case ("boolean", "boolean") | ("double", "decimal"):
            return StrictCast(f"cast({value} as {sql_type(column)})", None)
        case "integer", "integer":
            return StrictCast(f"try_cast({value} as bigint)", "'does not fit in 64 bits'")
        case "integer", "decimal":
            typed = when(f"{value} = trunc({value})", f"try_cast({value} as bigint)")
            return StrictCast(typed, "'is not an integer'")
        case "integer", "float":
            exact = f"{value} = trunc({value}) and abs({value}) < {_EXACT_BELOW[delivered]}"
            typed = when(exact, f"try_cast({value} as bigint)")
            return StrictCast(typed, "'is not an exact integer'")
        case "double", "integer":
            exact = f"{value} between -{2**53} and {2**53}"
            typed = when(exact, f"cast({value} as double)")
            return StrictCast(typed, "'is not exact as a double'")
        case "double", "float":
            typed = when(f"isfinite({value})", f"cast({value} as double)")
            return StrictCast(typed, "'is not a finite number'")
        case "decimal", "float":
            # The float's shortest text, kept only if the decimal reads back as the same float.
            # DuckDB's cast lets a text with an exponent have a digit too many: 1.5e+16.
            decimal = f"try_cast({as_text} as {sql_type(column)})"
            same = f"cast(cast({decimal} as varchar) as {delivered}) = {value}"
            fits = f"abs({value}) < 1e{column.decimal_digits[0]} and {same}"
            return StrictCast(when(fits, decimal), literal(f"is not a {column.type} number"))
        case "date", "date":
            return _within(value, "date '0001-01-01' and date '9999-12-31'")
        case "date", "wall":
            return _midnight(value)
        case "date", "instant":
            return _midnight(f"({value} at time zone {literal(clock.zone)})")
        case "timestamp", "instant":
            return _within(value, _INSTANTS)
        case "timestamp", "wall":
            # A nanosecond clock is accepted as long as it shows whole microseconds.
            wall = f"cast({value} as timestamp)"
            wall = when(f"{wall} = {value} and {wall} between {_WALLS}", wall)
            problem = "'is finer than a microsecond, or outside the years 1 to 9999'"
            return StrictCast(*wall_time(wall, clock, problem))
    what = f"values of type {delivered} cannot be loaded as {column.type}"
    if column.type == "timestamp" and group in ("integer", "float", "decimal"):
        what += "; if they count from 1970, set 'format: epoch_seconds' or 'epoch_milliseconds'"
    raise ValueError(what)


def _within(value: str, bounds: str) -> StrictCast:
    return StrictCast(when(f"{value} between {bounds}", value), "'is outside the years 1 to 9999'")


def _midnight(wall: str) -> StrictCast:
    typed = when(f"cast(cast({wall} as date) as timestamp) = {wall}", f"cast({wall} as date)")
    return StrictCast(typed, "'has a time, so it is not a date'")
