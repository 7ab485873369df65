"""Which processes hold the warehouse's file now, without opening it.

DuckDB names the holder only to a process that is refused. Who holds the file for reading refuses
writers alone, and so is seen here before a run meets it. Only Linux tells; elsewhere nobody is seen.

What belongs here: asking the system. What does not: waiting for the file (`connection.py`).
"""

from __future__ import annotations

import os
import re
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Literal

_LOCKS = Path("/proc/locks")
_LOCK = re.compile(r"\d+: POSIX +\w+ +(READ|WRITE) +(\d+) [0-9a-f]+:[0-9a-f]+:(\d+) ")


@dataclass(frozen=True)
class Holder:
    """A process that holds the file for reading (others may read too) or for writing."""

    process: int
    program: str
    holds_for: Literal["reading", "writing"]


def holders_of(path: Path) -> list[Holder]:
    """The other processes that hold the file `path`; none where the system does not tell."""
    try:
        inode, locks = path.stat().st_ino, _LOCKS.read_text()
    except OSError:
        return []
    found = {
        Holder(process, _program(process), "reading" if kind == "READ" else "writing")
        for kind, process, of in _held(locks)
        if of == inode and process != os.getpid()
    }
    return sorted(found, key=lambda holder: holder.process)


def _held(locks: str) -> Iterator[tuple[str, int, int]]:
    """Each lock's kind, process and inode. (The device is not compared: some file systems give two
    different numbers for it.)"""
    for kind, process, inode in _LOCK.findall(locks):
        yield kind, int(process), int(inode)


def _program(process: int) -> str:
    try:
        return Path(f"/proc/{process}/comm").read_text().strip()
    except OSError:
        return "a program"
