"""The source: does each feed have the delivery of the newest partition, and if not, what is there?

What belongs here: a cheap look at where deliveries lie. What does not: reading them (`source/`), and
whether what was loaded is still what they offer (`planning/source_changes.py`).
"""

from __future__ import annotations

import glob
import os
import re
from collections.abc import Iterator, Sequence
from datetime import datetime
from functools import partial
from pathlib import Path

from customer_pipeline.errors import MissingDeliveryError
from customer_pipeline.health.finding import Area, Finding
from customer_pipeline.redaction import discreet
from customer_pipeline.source.feed import Feed, Source
from customer_pipeline.source.offers import look
from customer_pipeline.source.partitions import Window
from customer_pipeline.source.places import delivery_path, place_of

_AREA = Area("source")
_NEWEST = 7


def look_at_source(source: Source, now: datetime) -> Iterator[Finding]:
    """A finding for the source, and one for each feed, as of the moment `now`."""
    until = f" to {source.end}" if source.end else ""
    yield _AREA.ok(
        source.name, f"{len(source.feeds)} feeds from {source.start}{until} in {source.timezone}"
    )
    for name, feed in source.feeds.items():
        partitions = source.partitions(feed.partitions)
        windows = partitions.windows(partitions.complete_keys(now)[-_NEWEST:])
        if windows:
            yield from _AREA.looked(name, partial(_look, name, feed, windows))
        else:
            yield _AREA.warning(
                name,
                f"no {partitions.noun} has ended yet since {source.start}",
                "wait, or fix the source's `start`",
            )


def _look(name: str, feed: Feed, windows: Sequence[Window]) -> Iterator[Finding]:
    newest = windows[-1]
    if feed.reader == "python":
        # Only a call can tell; one partition is enough to see that the source answers.
        there = [newest] if look(feed, newest, None).state != "missing" else []
    else:
        there = [window for window in windows if _is_there(feed, window)]
    if newest in there:
        yield _delivered(name, feed, newest)
    elif feed.may_be_empty(newest):
        yield _AREA.ok(
            name, f"nothing was delivered for {newest.key}, which the feed's rule allows"
        )
    elif there:
        yield _AREA.warning(
            name,
            f"nothing has been delivered for {newest.key} yet; the newest delivery is {there[-1].key}",
            "ask whoever delivers it, if it is late",
        )
    elif feed.reader == "python":
        yield _AREA.warning(
            name,
            f"{feed.function} returned nothing for {newest.key}",
            "ask whoever delivers it, if it is late",
        )
    else:
        yield _nothing(name, feed, windows)


def _is_there(feed: Feed, window: Window) -> bool:
    try:
        return place_of(feed, window).path.exists()
    except MissingDeliveryError:
        return False  # of all versions


def _delivered(name: str, feed: Feed, newest: Window) -> Finding:
    if feed.reader != "python":
        path = place_of(feed, newest).path
        if not os.access(path, os.R_OK):
            return _AREA.problem(
                name,
                discreet(f"{path} cannot be read"),
                "give the user who runs the pipeline permission to read it",
            )
    return _AREA.ok(name, f"{newest.key} has been delivered")


def _nothing(name: str, feed: Feed, windows: Sequence[Window]) -> Finding:
    """None of the newest partitions: is it the path, or has nothing been delivered lately?"""
    path = delivery_path(feed, windows[-1])
    pattern = Path(_any_date(feed))
    if any(Path(pattern.anchor).glob(str(pattern.relative_to(pattern.anchor)))):
        return _AREA.warning(
            name,
            f"nothing was delivered for {windows[0].key} to {windows[-1].key}; there are older ones",
            "ask whoever delivers it",
        )
    parent = next(folder for folder in path.parents if folder.exists())
    place = "" if parent == path.parent else f"; there is no folder {_child(parent, path)}"
    return _AREA.problem(
        name,
        discreet(f"no file at all matches {feed.path}{place}"),
        "fix `path` in the source's YAML, or have it delivered there",
    )


def _any_date(feed: Feed) -> str:
    """The feed's path as a glob pattern in which every date, and a version, is a star."""
    parts = re.split(r"(?<!\{)\{(?:date|version)[^{}]*\}(?!\})", feed.path or "")
    return "*".join(glob.escape(part.replace("{{", "{").replace("}}", "}")) for part in parts)


def _child(parent: Path, path: Path) -> Path:
    return parent / path.relative_to(parent).parts[0]
