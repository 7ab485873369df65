"""Plain words for what pydantic finds wrong with the data of a source YAML.

What belongs here: one sentence for each kind of mistake, and what was probably meant. What does
not: which mistakes there are (`feed.py`, `column.py`).
"""

from __future__ import annotations

import difflib
import re
from collections.abc import Sequence
from typing import Any

from pydantic import BaseModel
from pydantic_core import ErrorDetails

from customer_pipeline.source.acceptance import EmptyDays, ReadyWhen
from customer_pipeline.source.column import Column
from customer_pipeline.source.feed import Feed, Source
from customer_pipeline.source.yaml.document import Place

_KINDS = {
    bool: "a yes or no",
    int: "a number",
    float: "a number",
    list: "a list",
    dict: "a mapping",
}
_SHAPES = {
    **dict.fromkeys(("tuple_type", "list_type"), "must be a list, such as [a, b]"),
    **dict.fromkeys(("dict_type", "model_type"), "must be a mapping, with a key on each line"),
    **dict.fromkeys(("bool_type", "bool_parsing"), "must be true or false"),
    **dict.fromkeys(("float_type", "float_parsing"), "must be a number"),
    "too_short": "must have at least one entry",
    "string_too_short": "must not be empty",
}


def place_of(error: ErrorDetails, data: Any) -> Place:
    """The key or value of `data` that `error` is about, or where its missing key belongs."""
    place: list[str | int] = []
    for part in error["loc"]:
        if isinstance(data, dict | list) and _has(data, part):
            data = data[part]  # type: ignore[index]
            place.append(part)
        elif error["type"] == "missing":
            place.append(part)
    return tuple(place)


def words_of(error: ErrorDetails, place: Place, written: str | None) -> str:
    """What is wrong, in one sentence without the place. `written` is the value as in the file."""
    context = error.get("ctx", {})
    match error["type"]:
        case "missing":
            return "the key is missing"
        case "extra_forbidden":
            keys = _keys(place[:-1])
            return "there is no such key" + (_meant(place[-1], keys) or f"; use {_listed(keys)}")
        case "value_error":
            return str(context["error"])
        case "string_type":
            return _no_text(error["input"], written)
        case "literal_error":
            options = re.findall(r"'(\w+)'", context["expected"])
            return f"must be {context['expected']}{_meant(written, options)}"
        case kind if kind in _SHAPES:
            return _SHAPES[kind]
        case kind if kind.startswith("date_"):
            return f"{written} is not a calendar date"
        case _:
            return error["msg"].replace("Input should be", "must be")


def _has(data: dict[str, Any] | list[Any], part: str | int) -> bool:
    return part in data if isinstance(data, dict) else isinstance(part, int) and part < len(data)


def _no_text(value: Any, written: str | None) -> str:
    if value is None:
        return "must be text, but there is none"
    if written is None:
        return f"must be text, not {_KINDS.get(type(value), 'this')}"
    kind = _KINDS.get(type(value), f"a {type(value).__name__}")
    quoted = "'" + written.replace("'", "''") + "'"
    return f"must be text, but YAML reads {written} as {kind}: write {quoted}"


def _keys(place: Place) -> list[str]:
    model: type[BaseModel] = Source
    match place:
        case ("feeds", _):
            model = Feed
        case ("feeds", _, "columns", _):
            model = Column
        case ("feeds", _, "missing"):
            model = EmptyDays
        case ("feeds", _, "ready_when"):
            model = ReadyWhen
    return [field.alias or name for name, field in model.model_fields.items()]


def _listed(names: Sequence[str]) -> str:
    return f"{', '.join(names[:-1])} or {names[-1]}"


def _meant(given: object, options: Sequence[str]) -> str:
    close = difflib.get_close_matches(str(given).lower(), options, n=1)
    return f"; did you mean {close[0]!r}?" if close else ""
