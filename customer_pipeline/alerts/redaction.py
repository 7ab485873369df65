"""What messages must not tell: secrets, and the contents of rows.

What belongs here: taking them out of messages. What does not: what a secret is
(`customer_pipeline/redaction.py`), and how a text looks on a channel.
"""

from __future__ import annotations

import re
from collections.abc import Iterable
from dataclasses import replace

from customer_pipeline.alerts.message import Message
from customer_pipeline.redaction import without_secrets

# What a reason says of single rows quotes their values, in the way of SQL or of Python. One may go
# over several lines, and where a text was cut, its quote is never closed.
_OF_A_ROW = re.compile(
    r"(?:\bline \d+:|Could not convert string|\bvalue\b|\bkey\b).*", re.IGNORECASE | re.DOTALL
)
_QUOTED = re.compile(r"'(?:[^']|'')*(?:'|$)|\"[^\"]*(?:\"|$)")


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
