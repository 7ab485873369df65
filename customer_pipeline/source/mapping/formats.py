"""Formats of dates and timestamps: which directives a source may declare, and what they match.

What belongs here: turning a declared format into a regular expression that is as strict as the
format reads. What does not: the cast itself (`text_casts.py`). DuckDB's own strptime takes '26' for
a year, skips blanks, and reads 'infinity' as a date, so every text is matched first.
"""

from __future__ import annotations

import re
from dataclasses import dataclass
from typing import Literal

EPOCH_FORMATS = ("epoch_seconds", "epoch_milliseconds")

_YEAR, _MONTH, _DAY = {"%Y", "%y"}, {"%m", "%-m", "%b", "%B"}, {"%d", "%-d"}
_NUMBERS = {"%m", "%d", "%H", "%I", "%M", "%S"}
_UNPADDED = {"%-m", "%-d", "%-H", "%-I", "%-M", "%-S"}
_DIGITS = _NUMBERS | _UNPADDED | {"%Y", "%y", "%f"}
# 0001 to 9999.
_FOUR_DIGITS = "([1-9][0-9]{3}|0[0-9]{2}[1-9]|0[0-9][1-9]0|0[1-9]00)"
OFFSET = "(Z|[+-](0[0-9]|1[0-5])(:?[0-5][0-9])?)"
_MATCHES = {
    "%Y": _FOUR_DIGITS,
    "%y": "[0-9]{2}",
    **dict.fromkeys(_UNPADDED, "[0-9]{1,2}"),
    **dict.fromkeys(("%b", "%B", "%a", "%A"), "[A-Za-z]+"),
    "%f": "[0-9]{1,6}",
    "%p": "[AaPp][Mm]",
    "%z": OFFSET,
    "%%": "%",
}
_DATE_ONLY = _YEAR | _MONTH | _DAY | {"%a", "%A", "%%"}

ISO_DATE = f"{_FOUR_DIGITS}-[0-9]{{2}}-[0-9]{{2}}"
ISO_TIME = "([01][0-9]|2[0-3]):[0-5][0-9](:[0-5][0-9](\\.[0-9]{1,6}0*)?)?"


@dataclass(frozen=True)
class DateFormat:
    """The expression (RE2) that a whole text must match, and whether the text says its offset from
    UTC."""

    pattern: str
    has_offset: bool


def parse_format(text: str, kind: Literal["date", "timestamp"]) -> DateFormat:
    """What the strptime format `text` accepts for a column of type `kind`.

    Raises:
        ValueError: in plain words, when it does not give one date (or instant), or holds a
            directive that is not supported.
    """
    parts = re.findall(r"%-?.|%|[^%]+", text, flags=re.DOTALL)
    directives = {part for part in parts if part.startswith("%")}
    if unknown := sorted(directives - _MATCHES.keys() - _NUMBERS):
        raise ValueError(f"{unknown[0]!r} is not supported in a format")
    missing = [
        name
        for name, group in (("year", _YEAR), ("month", _MONTH), ("day", _DAY))
        if not directives & group
    ]
    if missing:
        raise ValueError(f"the format {text!r} lacks the {' and the '.join(missing)}")
    if kind == "date" and (times := sorted(directives - _DATE_ONLY)):
        raise ValueError(
            f"a date's format takes no {times[0]}: declare a timestamp, or write the time that"
            " every text has, such as ' 00:00:00'"
        )
    if bool(directives & {"%I", "%-I"}) != ("%p" in directives):
        raise ValueError("%I (hours from 1 to 12) and %p (AM or PM) only make sense together")
    if "%z" in directives and parts[-1] != "%z":
        raise ValueError("%z (the offset from UTC) must be at the end of the format")
    if kind == "timestamp" and parts[-1].endswith("Z"):
        raise ValueError("write %z in place of the final Z: it is read as UTC then")
    neighbours = zip(parts, ["", *parts], [*parts[1:], ""], strict=False)
    pattern = "".join(_match(part, before, after) for part, before, after in neighbours)
    return DateFormat(pattern=pattern, has_offset="%z" in directives)


def _match(part: str, before: str, after: str) -> str:
    """The expression for one part, given its neighbours. A number may lack its leading zero, as in
    every strptime, but not beside another number: 2026111 would have two readings."""
    if part in _NUMBERS:
        alone = not (_ends_in_number(before) or _starts_with_number(after))
        return "[0-9]{1,2}" if alone else "[0-9]{2}"
    if part in _UNPADDED and (_ends_in_number(before) or _starts_with_number(after)):
        raise ValueError(f"{part} needs a separator between it and the next number")
    return _MATCHES.get(part) or re.escape(part)


def _ends_in_number(part: str) -> bool:
    return part in _DIGITS or (not part.startswith("%") and part[-1:].isdigit())


def _starts_with_number(part: str) -> bool:
    return part in _DIGITS or (not part.startswith("%") and part[:1].isdigit())
