"""Spans of time in words."""

from __future__ import annotations


def seconds_text(seconds: float) -> str:
    """`12 s`, `4 min`, `2.5 h` or `3 days`."""
    if seconds < 100:
        return f"{max(1, round(seconds))} s"
    if seconds < 100 * 60:
        return f"{round(seconds / 60)} min"
    if seconds < 48 * 3600:
        return f"{seconds / 3600:.1f} h"
    return f"{seconds / 86400:.0f} days"
