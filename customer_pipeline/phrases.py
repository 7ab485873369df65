"""Turns of phrase that many messages share: how many of something, and which run.

What does not belong here: spans of time (`durations.py`), sizes on disk (`health/sizes.py`), and what
only the messages of one package say.
"""

from __future__ import annotations

# So much of an id tells it from others, in Dagster's UI too.
_SHORT = 8


def counted(number: float, noun: str) -> str:
    """Such as `1 month`, `12 months`, `1,200 failing rows` or `23.5 hours`."""
    return f"{f'{number:,}'.removesuffix('.0')} {noun}{'' if number == 1 else 's'}"


def short(run_id: str) -> str:
    """The beginning of a run's id (or of a fingerprint), as people know it."""
    return run_id[:_SHORT]
