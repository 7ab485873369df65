"""Which texts are numbers, booleans, dates and timestamps, and SQL that reads them.

What belongs here: the form of each type's text, checked in full before DuckDB casts it, since its
own casts read '1.5' as the integer 2, '1e3' as 1000, and '1.555' as the decimal 1.56. What does
not: delivered values that have a type of their own (`casts.py`).

Every function returns a pair of SQL texts: the typed value, null where the text has not the form;
and what is wrong with such a text.
"""

from __future__ import annotations

import re

from customer_pipeline.quoting import literal
from customer_pipeline.source.column import Column
from customer_pipeline.source.mapping.formats import (
    EPOCH_FORMATS,
    ISO_DATE,
    ISO_TIME,
    OFFSET,
    parse_format,
)
from customer_pipeline.source.mapping.sql import let
from customer_pipeline.source.mapping.wall_clock import WallClock

# Microseconds from 1970 to the first and the last moment that a four-digit year can name.
_CALENDAR = f"between {-62135596800 * 10**6} and {253402300800 * 10**6 - 1}"


def sql_type(column: Column) -> str:
    """The DuckDB type that the column is loaded as."""
    names = {"text": "VARCHAR", "integer": "BIGINT", "timestamp": "TIMESTAMP WITH TIME ZONE"}
    return names.get(column.type, column.type.upper().replace(" ", ""))


def cast_text(column: Column, text: str, clock: WallClock) -> tuple[str, str]:
    """The SQL `text`, a VARCHAR, as the declared type of `column`, which is not text."""
    match column.kind:
        case "integer" | "decimal" | "double":
            return _number(column, text)
        case "boolean":
            typed = f"case lower({text}) when 'true' then true when '1' then true"
            typed += " when 'false' then false when '0' then false end"
            return typed, "'is not true, false, 1 or 0'"
        case "date":
            return _date(column, text)
        case _ if column.format in EPOCH_FORMATS:
            return _epoch(column, text)
        case _:
            return _timestamp(column, text, clock)


def when(condition: str, value: str) -> str:
    """SQL for `value` where `condition` is true, and null elsewhere."""
    return f"case when {condition} then {value} end"


def wall_time(wall: str, clock: WallClock, invalid: str) -> tuple[str, str]:
    """The instant of the TIMESTAMP `wall`, which is null where the value has not the form of one;
    `invalid` is the problem then."""
    skipped = literal(f"does not exist in {clock.zone}, where the clocks skip it")
    return clock.instant(wall), f"case when {wall} is not null then {skipped} else {invalid} end"


def _number(column: Column, text: str) -> tuple[str, str]:
    point, digits, kind = re.escape(column.decimal_point), "[0-9]+", column.kind
    if column.thousands:
        digits = f"([0-9]+|[0-9]{{1,3}}({re.escape(column.thousands)}[0-9]{{3}})+)"
    if kind == "integer":
        form, name = digits, "an integer"
    elif kind == "double":
        number = f"({digits}({point}[0-9]+)?|{point}[0-9]+)"
        form, name = f"{number}([eE][+-]?[0-9]+)?", "a finite number"
    else:
        scale = column.decimal_digits[1]
        fraction = f"{point}[0-9]{{1,{scale}}}0*" if scale else f"{point}0+"
        form, name = f"({digits}({fraction})?|{fraction})", f"a {column.type} number"
    plain = f"replace({text}, {literal(column.thousands)}, '')" if column.thousands else text
    if column.decimal_point != ".":
        plain = f"replace({plain}, {literal(column.decimal_point)}, '.')"
    typed = f"try_cast({plain} as {sql_type(column)})"
    if kind == "double":
        typed = let("number", typed, when("isfinite(number)", "number"))
    return when(_matches(text, f"[+-]?{form}"), typed), literal(f"is not {name}")


def _date(column: Column, text: str) -> tuple[str, str]:
    if column.format is None:
        form, typed = ISO_DATE, f"try_cast({text} as date)"
    else:
        form = parse_format(column.format, "date").pattern
        typed = f"cast(try_strptime({text}, {literal(column.format)}) as date)"
    shown = column.format or "YYYY-MM-DD"
    return when(_matches(text, form), typed), literal(f"is not a date of the form {shown}")


def _timestamp(column: Column, text: str, clock: WallClock) -> tuple[str, str]:
    if column.format is not None:
        declared, form = parse_format(column.format, "timestamp"), literal(column.format)
        problem = literal(f"is not a timestamp of the form {column.format}")
        # strptime does not know Z, which stands for an offset of zero.
        utc = f"regexp_replace({text}, 'Z$', '+00')" if declared.has_offset else text
        parsed = when(_matches(text, declared.pattern), f"try_strptime({utc}, {form})")
        return (parsed, problem) if declared.has_offset else wall_time(parsed, clock, problem)
    problem = "'is not an ISO 8601 timestamp such as 2026-03-09T14:30:00'"
    form = f"{ISO_DATE}[T ]{ISO_TIME}"
    wall = when(_matches(text, form), f"try_cast({text} as timestamp)")
    typed, problem = wall_time(wall, clock, problem)
    # DuckDB's cast wants seconds before an offset, ISO 8601 does not.
    whole = f"if({text}[17] = ':', {text}, {text}[:16] || ':00' || {text}[17:])"
    instant = when(_matches(text, form + OFFSET), f"try_cast({whole} as timestamptz)")
    return f"coalesce({typed}, {instant})", problem


def _epoch(column: Column, text: str) -> tuple[str, str]:
    decimals = 6 if column.format == "epoch_seconds" else 3
    form = f"[+-]?[0-9]{{1,{18 - decimals}}}(\\.[0-9]{{1,{decimals}}}0*)?"
    number = f"cast({text} as decimal(24, 6))"
    micros = when(_matches(text, form), f"cast({number} * {10**decimals} as bigint)")
    unit = "seconds" if decimals == 6 else "milliseconds"
    problem = literal(f"is not a number of {unit} since 1970 within the years 1 to 9999")
    return let("micros", micros, when(f"micros {_CALENDAR}", "make_timestamptz(micros)")), problem


def _matches(text: str, form: str) -> str:
    return f"regexp_full_match({text}, {literal(form)})"
