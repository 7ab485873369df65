"""A time zone in which it is midnight at a moment that a test chooses."""

from __future__ import annotations

import struct
from dataclasses import dataclass
from datetime import datetime, timedelta, timezone
from pathlib import Path

_DAY = 24 * 60 * 60


@dataclass(frozen=True)
class Zone:
    """A zone that never changes its clocks: what it is called, and what Python is to know of it."""

    name: str
    offset: timezone


def zone_with_midnight(at: datetime, folder: Path) -> Zone:
    """A zone for which Python, with `folder` in its PYTHONTZPATH, has the offset that makes it
    midnight at `at`.

    It is called like a real one with almost that offset, since others know real ones only.
    """
    utc = at.hour * 3600 + at.minute * 60 + at.second
    seconds = -utc if utc <= _DAY // 2 else _DAY - utc
    hours = round(seconds / 3600)
    # In these names the sign is that of the way back to Greenwich.
    name = f"Etc/GMT{-hours:+d}"
    path = folder / name
    path.parent.mkdir(parents=True)
    path.write_bytes(_tzif(seconds))
    return Zone(name, timezone(timedelta(seconds=seconds)))


def _tzif(offset: int) -> bytes:
    """A file of RFC 8536 with one offset and no changes."""
    header = b"TZif2" + bytes(15) + struct.pack(">6l", 0, 0, 0, 0, 1, 4)
    block = struct.pack(">lbb", offset, 0, 0) + b"LMT\0"
    return (header + block) * 2 + b"\n\n"
