"""A line of JSON as a record, and JSON values as texts.

What belongs here: what counts as one JSON object, and the text of each kind of value, digits kept.
What does not: files and columns (`jsonl_file.py`).
"""

from __future__ import annotations

import json
from collections.abc import Sequence
from typing import Any, NoReturn


class BadJsonError(ValueError):
    """A line that is not one JSON object with usable texts. Its message is the reason."""


class _Number(str):
    """A JSON number by its digits, so that none is lost; a class of its own, so that a nested one
    is not mistaken for a text."""

    __slots__ = ()


def parse_line(line: str, names: Sequence[str]) -> tuple[dict[str, Any], list[str | None]]:
    """The JSON object on `line`, and the values of `names` in it as texts.

    Texts are as they are, numbers by their digits, booleans `true` and `false`, nested values
    compact JSON; JSON's null and a key that is absent are None.

    Raises:
        BadJsonError: when the line is blank, is not exactly one JSON object (RFC 8259: so no NaN),
            has a key twice, or a text with a NUL or half a surrogate pair (which is no Unicode).
    """
    if not line.strip():
        raise BadJsonError("a blank line")
    try:
        record = _DECODER.decode(line)
        if not isinstance(record, dict):
            raise BadJsonError("not a JSON object")
        values = [_text(record.get(name)) for name in names]
    except json.JSONDecodeError as error:
        raise BadJsonError(_reason(error)) from error
    except RecursionError as error:
        raise BadJsonError("nested too deeply") from error
    # Raw ones cannot have come this far: only an escape brings them in.
    if "\\u" in line:
        _refuse_unusable(values)
    return record, values


def _reason(error: json.JSONDecodeError) -> str:
    position = f"at character {error.pos + 1}"
    if error.msg == "Extra data":
        return f"more than one JSON value: the second begins {position}"
    return f"not JSON: {error.msg} {position}"


def _text(value: Any) -> str | None:
    return value if value is None or isinstance(value, str) else _compact(value)


def _refuse_unusable(values: Sequence[str | None]) -> None:
    for value in values:
        if value is None:
            continue
        if "\0" in value:
            raise BadJsonError("a NUL character in a string")
        if any("\ud800" <= character <= "\udfff" for character in value):
            raise BadJsonError("half a surrogate pair in a string")


def _compact(value: Any) -> str:
    match value:
        case _Number():
            return value
        case dict():
            members = (f"{_compact(key)}:{_compact(member)}" for key, member in value.items())
            return "{" + ",".join(members) + "}"
        case list():
            return "[" + ",".join(map(_compact, value)) + "]"
        case _:
            return json.dumps(value, ensure_ascii=False)


def _object(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
    members = dict(pairs)
    if len(members) < len(pairs):
        keys = [key for key, _ in pairs]
        twice = next(key for key in keys if keys.count(key) > 1)
        raise BadJsonError(f"the key {twice!r} occurs twice in one object")
    return members


def _refuse_constant(name: str) -> NoReturn:
    raise BadJsonError(f"{name} is not JSON")


_DECODER = json.JSONDecoder(
    object_pairs_hook=_object,
    parse_int=_Number,
    parse_float=_Number,
    parse_constant=_refuse_constant,
)
