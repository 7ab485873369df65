"""What must not leave the house: secrets, and the contents of rows.

What belongs here: taking them out of texts. What does not: how a text looks on a channel.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping
from dataclasses import replace

from customer_pipeline.alerts.message import Message

_HIDDEN = "***"
_SECRET_NAME = re.compile(
    r"(?i)(pass(word|wd|phrase)?|token|secret|credential|(api|access|private)_?key)"
)
_USERINFO = re.compile(r"(?<=://)[^/\s@]+@")
_ASSIGNED = re.compile(
    r"(?i)\b([\w-]*(?:password|passwd|pwd|token|secret|credential|api[_-]?key|access[_-]?key|signature))"
    r"""(["']?\s*[=:]\s*)("[^"]*"|'[^']*'|[^\s&,;]+)"""
)
_HEADER = re.compile(r"(?i)\b(bearer|basic)\s+[\w.~+/=-]{8,}")
# What a reason says of single rows quotes their values, in the way of SQL or of Python.
_OF_A_ROW = re.compile(
    r"(?:\bline \d+:|Could not convert string|\bvalue\b|\bkey\b).*", re.IGNORECASE
)
_QUOTED = re.compile(r"'(?:[^']|'')*'|\"[^\"]*\"")
# Shorter ones would take words apart.
_SHORTEST_SECRET = 6


def secrets_in(environment: Mapping[str, str]) -> tuple[str, ...]:
    """The values of variables whose names say that they are secret, longest first."""
    values = {
        value
        for name, value in environment.items()
        if _SECRET_NAME.search(name) and len(value) >= _SHORTEST_SECRET
    }
    return tuple(sorted(values, key=len, reverse=True))


def without_secrets(text: str, secrets: Iterable[str] = ()) -> str:
    """`text` without these secrets, without the passwords of URLs, and without what is assigned to
    a name such as `token` or `password`."""
    for secret in secrets:
        text = text.replace(secret, _HIDDEN)
    text = _USERINFO.sub(f"{_HIDDEN}@", text)
    text = _HEADER.sub(rf"\1 {_HIDDEN}", text)
    return _ASSIGNED.sub(rf"\1\2{_HIDDEN}", text)


def redacted(message: Message, secrets: Iterable[str]) -> Message:
    """The message with all its texts without secrets."""
    known = tuple(secrets)
    return replace(
        message,
        title=without_secrets(message.title, known),
        reason=without_secrets(message.reason, known),
        lines=tuple(without_secrets(line, known) for line in message.lines),
        facts=tuple(without_secrets(fact, known) for fact in message.facts),
    )


def without_values(reason: str) -> str:
    """`reason` without the values that it quotes of single rows. (They are in quarantine.)"""
    return _OF_A_ROW.sub(lambda found: _QUOTED.sub("'…'", found[0]), reason)
