"""What was raised, out of what Dagster keeps of an error: on one line, without traces.

What does not belong here: where errors are kept (events, ticks), and what follows from them.
"""

from __future__ import annotations

from typing import Any


def first_error(error: Any) -> str:
    """What was raised first, of all that was raised because of it."""
    while error is not None and error.cause is not None:
        error = error.cause
    return error.message if error is not None else ""


def first_line(text: str) -> str:
    lines = (line.strip() for line in text.splitlines())
    return next((line for line in lines if line), "no reason given")
