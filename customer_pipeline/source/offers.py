"""What a feed offers for a window now, looked at as cheaply as can be: a file that has the size, the
time of change and the version of the content that is known has that content, and is not opened.

That a file's time tells the truth is the one thing that has to be believed; whoever does not can have
every file hashed. Rows are read only where nothing else tells whether a file is complete: beside a
manifest that states their number and no more.

What belongs here: looking. What does not: what follows from it
(`planning/source_changes.py`).
"""

from __future__ import annotations

from collections.abc import Callable
from contextlib import suppress
from dataclasses import dataclass
from functools import lru_cache, partial
from pathlib import Path
from typing import Literal

from customer_pipeline.errors import (
    DeliveryError,
    MissingDeliveryError,
    NotReadyError,
    PipelineError,
)
from customer_pipeline.source.feed import Feed
from customer_pipeline.source.partitions import Window
from customer_pipeline.source.places import place_of
from customer_pipeline.source.readers.delivered_file import FileState, fingerprint_of, state_of
from customer_pipeline.source.readers.python_function import read_python
from customer_pipeline.source.readiness import require_ready, require_unchanged, telling_time
from customer_pipeline.source.reading import read_delivery


@dataclass(frozen=True)
class Taken:
    """The content that a file is compared with: its fingerprint, how the file was then (None where
    that does not tell whether it has changed since), and which version of several it was (None where
    that is not known, or the feed names none)."""

    fingerprint: str
    file: FileState | None = None
    version: str | None = None


@dataclass(frozen=True)
class Offer:
    """What there is: a delivery with its fingerprint; nothing; one that is not complete yet; or one
    that no run could use, and why."""

    state: Literal["there", "missing", "incomplete", "unusable"]
    fingerprint: str | None = None
    reason: str = ""


def look(feed: Feed, window: Window, known: Taken | None, *, hash_all: bool = False) -> Offer:
    """What `feed` offers for `window`. What a Python function gives has to be asked for.

    Args:
        known: the content that was taken before.
        hash_all: hash the file also where its size and time say that it is the known one.

    Raises:
        ConfigError: for a path template or a function that cannot work.
        TransientError: when the system fails to look, so that there may be anything.
    """
    ask: Callable[[], str] = (
        (lambda: read_python(feed, window).fingerprint)
        if feed.reader == "python"
        else (lambda: _fingerprint(feed, window, known, hash_all=hash_all))
    )
    try:
        return Offer("there", ask())
    except MissingDeliveryError:
        return Offer("missing")
    except NotReadyError as error:
        return Offer("incomplete", reason=str(error))
    except DeliveryError as error:
        return Offer("unusable", reason=str(error))


def _fingerprint(feed: Feed, window: Window, known: Taken | None, *, hash_all: bool) -> str:
    place = place_of(feed, window)
    state = state_of(place.path)
    is_known_file = known and (known.file, known.version) == (state, place.version)
    if known and is_known_file and not hash_all:
        return known.fingerprint
    # Touched, perhaps: then it is still the known content, whatever its marker says.
    is_like_known = known and (known.file is None or known.file.size == state.size)
    hashed = fingerprint_of if hash_all or telling_time(state) is None else partial(_hashed, state)
    if known and is_like_known and hashed(place.path) == known.fingerprint:
        return known.fingerprint
    promise = require_ready(feed, window, place, state)
    fingerprint = hashed(place.path)
    promise.require_content(fingerprint)
    if promise.only_counts:
        # What is wrong with a delivery that is complete is for a run to find.
        with suppress(DeliveryError):
            read_delivery(feed, window)
    return fingerprint


# A sensor looks every few minutes, and may find the same touched files each time.
@lru_cache(maxsize=4096)
def _hashed(state: FileState, path: Path) -> str:
    """The fingerprint of the file at `path`, which is in `state`; remembered."""
    fingerprint = fingerprint_of(path)
    require_unchanged(path, state)
    return fingerprint


@dataclass(frozen=True)
class DeliveredFile:
    """A file as it is at a moment."""

    path: Path
    state: FileState


def file_of(feed: Feed, window: Window) -> DeliveredFile | None:
    """The file that is delivered for `window` now; None when there is none to be had."""
    if feed.reader == "python":
        return None
    try:
        path = place_of(feed, window).path
        return DeliveredFile(path, state_of(path))
    except PipelineError:
        return None


def unchanged_content(file: DeliveredFile) -> str | None:
    """The fingerprint of the content that the file had at that moment; None when it has changed."""
    try:
        fingerprint = fingerprint_of(file.path)
        return fingerprint if state_of(file.path) == file.state else None
    except PipelineError:
        return None
