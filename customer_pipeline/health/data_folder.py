"""The data folder: may be written to, has room, is this source's, and what dead runs left in it."""

from __future__ import annotations

import os
import shutil
from collections.abc import Iterator
from contextlib import suppress
from datetime import UTC, datetime, timedelta
from pathlib import Path

from customer_pipeline.health.finding import Area, Finding
from customer_pipeline.health.sizes import bytes_below, size_text
from customer_pipeline.phrases import counted
from customer_pipeline.settings import Settings
from customer_pipeline.stages.landing import owner_of

_AREA = Area("data")
# Bytes. A run needs room for its candidate in the data folder, and for what it loads in the warehouse.
_LEAST_FREE = 200_000_000
# A run touches its folder at every stage.
_SILENCE = timedelta(hours=1)
_MANY_LEFT = 1_000_000_000


def look_at_data_folder(settings: Settings, source: str | None, now: datetime) -> Iterator[Finding]:
    """Findings about the folder as a whole.

    Args:
        source: the source's name; None when it could not be read.
    """
    for name, folder in _folders(settings).items():
        yield from _AREA.looked(name, lambda name=name, folder=folder: _writable(name, folder))
    yield from _AREA.looked("room", lambda: _room(settings))
    if source is not None:
        yield from _AREA.looked("owner", lambda: _owner(settings, source))
    yield from _AREA.looked("leftovers", lambda: _leftovers(settings, now))


def existing(path: Path) -> Path:
    """The path itself, or the innermost folder above it that exists."""
    return next(folder for folder in (path, *path.parents) if folder.exists())


def _folders(settings: Settings) -> dict[str, Path]:
    elsewhere = settings.warehouse_path.parent
    folders = {"folder": settings.data_path}
    return folders if elsewhere == settings.data_path else folders | {"warehouse's": elsewhere}


def _writable(name: str, folder: Path) -> Iterator[Finding]:
    there = existing(folder)
    todo = "set CUSTOMER_PIPELINE_DATA_DIR to a folder that the pipeline's user may write to"
    if not there.is_dir():
        yield _AREA.problem(name, f"{there} is no folder", todo)
    elif not os.access(there, os.W_OK | os.X_OK):
        yield _AREA.problem(name, f"{there} cannot be written to", todo)
    elif there != folder:
        yield _AREA.ok(name, f"{folder} is made by the first run")
    else:
        yield _AREA.ok(name, f"{folder} can be written to")


def _room(settings: Settings) -> Iterator[Finding]:
    free = {
        folder: shutil.disk_usage(existing(folder)).free for folder in _folders(settings).values()
    }
    warehouse = settings.warehouse_path
    size = warehouse.stat().st_size if warehouse.exists() else 0
    beside = free[warehouse.parent]
    fullest = min(free, key=lambda folder: free[folder])
    words = f"{size_text(free[fullest])} of the disk are free"
    if fullest != settings.data_path:
        words += f" at {fullest}"
    if free[fullest] < _LEAST_FREE:
        yield _AREA.problem("room", words, "make room: a run that finds none fails")
    elif beside < size:
        yield _AREA.warning(
            "room",
            f"{size_text(beside)} of the disk are free beside the warehouse, which has"
            f" {size_text(size)}",
            "make room: `customer-pipeline maintain` copies the warehouse there",
        )
    else:
        yield _AREA.ok("room", words)


def _owner(settings: Settings, source: str) -> Iterator[Finding]:
    owner = owner_of(settings.landing_path)
    if not owner:
        yield _AREA.ok("owner", f"no source has used it yet; the next run makes it {source}'s")
    elif owner != source:
        yield _AREA.problem(
            "owner",
            f"it belongs to the source {owner!r}, and {source!r} is set",
            "set CUSTOMER_PIPELINE_DATA_DIR to a folder of its own for each source",
        )
    else:
        yield _AREA.ok("owner", f"it belongs to the source {source!r}")


def _leftovers(settings: Settings, now: datetime) -> Iterator[Finding]:
    root, dead = settings.runs_path, []
    for folder in root.iterdir() if root.is_dir() else ():
        # A run may remove its folder at this moment.
        with suppress(FileNotFoundError):
            if now - datetime.fromtimestamp(folder.stat().st_mtime, UTC) > _SILENCE:
                dead.append(folder)
    size = sum(map(bytes_below, dead))
    whose = "a run that failed or was" if len(dead) == 1 else "runs that failed or were"
    words = f"{counted(len(dead), 'folder')} of {whose} killed, {size_text(size)}"
    if size >= _MANY_LEFT:
        yield _AREA.warning(
            "leftovers", words, f"remove them from {root} if no run is active; or wait a week"
        )
    elif dead:
        yield _AREA.ok("leftovers", f"{words}; a run removes them after a week")
    else:
        yield _AREA.ok("leftovers", "no run has left anything behind")
