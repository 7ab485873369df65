"""Whether a delivered file is complete, by the feed's `ready_when`: nobody should take half of one.

Here alone the source looks at a clock, and it decides when a file is read and never what is in it.

What belongs here: quiet files, markers and manifests. What does not: missing files (`places.py` and
the extract stage), and what is wrong with a complete one (`readers/`).
"""

from __future__ import annotations

import json
import re
import time
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from customer_pipeline.errors import DeliveryError, MissingDeliveryError, NotReadyError
from customer_pipeline.source.feed import Feed
from customer_pipeline.source.partitions import Window
from customer_pipeline.source.places import Place, filled
from customer_pipeline.source.readers.delivered_file import FileState, read_bytes, state_of

_NANOSECONDS = 1_000_000_000
# File systems note the time of a change in steps; the coarsest in use are of two seconds.
_STEP = 2 * _NANOSECONDS


@dataclass(frozen=True)
class Promise:
    """What a manifest states of a delivery; None where it says nothing. `size` is in bytes, and
    `sha256` of the file as it lies there."""

    where: str = ""
    rows: int | None = None
    size: int | None = None
    sha256: str | None = None

    @property
    def only_counts(self) -> bool:
        """Whether nothing but reading the file can tell if it is complete."""
        return self.rows is not None and self.size is None and self.sha256 is None

    def require_size(self, size: int) -> None:
        """Raises NotReadyError when the file has another size."""
        if self.size not in (None, size):
            raise self._not_kept(f"{self.size} bytes, the file has {size}")

    def require_content(self, sha256: str) -> None:
        """Raises NotReadyError when the file has another content."""
        if self.sha256 not in (None, sha256):
            raise self._not_kept(f"sha256 {self.sha256}, the file has {sha256}")

    def require_rows(self, rows: int) -> None:
        """Raises an error when the delivery has another number of rows: NotReadyError when the rest
        may be on its way, DeliveryError when it is complete in bytes, or has more."""
        if self.only_counts and rows < (self.rows or 0):
            raise self._not_kept(f"{self.rows} rows, the file has {rows}")
        if self.rows not in (None, rows):
            raise DeliveryError(
                f"the manifest states {self.rows} rows, the delivery has {rows}",
                where=self.where,
                todo="have the delivery and its manifest written again",
            )

    def require_whole(self, error: DeliveryError) -> None:
        """Raises NotReadyError when `error`, with which the file could not be read, may come from a
        part of it being there only."""
        if self.only_counts:
            raise self._not_kept(f"{self.rows} rows, and {error.what}") from error

    def _not_kept(self, difference: str) -> NotReadyError:
        return NotReadyError(
            f"the delivery is not complete yet: its manifest states {difference}",
            where=self.where,
            todo="wait for the rest of it; if it is all there, have the manifest written again",
        )


def require_ready(feed: Feed, window: Window, place: Place, state: FileState) -> Promise:
    """Checks that the file at `place`, which is in `state`, is complete as far as can be told
    without reading it; gives what is to be checked of its content.

    Raises:
        NotReadyError: when it is not complete yet.
        DeliveryError: when there is a manifest that states nothing, or may not be read.
        TransientError: when the system fails to look.
        ConfigError: for a template that cannot be used.
    """
    rule = feed.ready_when
    if rule is None:
        return Promise()
    if rule.quiet_for is not None:
        _require_quiet(place, state, rule.quiet_for)
    elif rule.suffix is not None:
        _require_marker(Path(f"{place.path}{rule.suffix}"), place, state)
    elif rule.marker is not None:
        _require_marker(_beside(rule.marker, "marker", window, place), place, state)
    elif rule.manifest is not None:
        promise = _promise(_beside(rule.manifest, "manifest", window, place), place)
        promise.require_size(state.size)
        return promise
    return Promise()


def require_unchanged(path: Path, state: FileState) -> None:
    """Raises NotReadyError when the file at `path`, which has been read, is not in `state` any more."""
    if state_of(path) != state:
        raise NotReadyError(
            "the delivery is not complete yet: it changed while it was being read",
            where=str(path),
            todo="wait until it has been written completely",
        )


def telling_time(state: FileState) -> int | None:
    """When the file was changed last, for whoever wants to tell later whether it was changed since.

    None when that was just now: a further change might leave the same time.
    """
    return state.modified_ns if time.time_ns() - state.modified_ns > _STEP else None


def _beside(template: str, name: str, window: Window, place: Place) -> Path:
    return filled(template, window, version=place.version or "", name=name)


def _require_quiet(place: Place, state: FileState, seconds: float) -> None:
    quiet = (time.time_ns() - state.modified_ns) / _NANOSECONDS
    if quiet < seconds:
        ago = f"{quiet:.0f} seconds ago" if quiet >= 0 else "in the future, by this host's clock"
        raise NotReadyError(
            f"the delivery may not be complete yet: it was changed {ago}",
            where=str(place.path),
            todo=f"it is accepted once it has not changed for {seconds:g} seconds",
        )


def _require_marker(marker: Path, place: Place, state: FileState) -> None:
    try:
        is_older = state_of(marker).modified_ns < state.modified_ns
    except MissingDeliveryError:
        what, todo = "there is no", "it is accepted once that file is there"
    else:
        if not is_older:
            return
        what, todo = "it was changed after", "it is accepted once that file is written again"
    raise NotReadyError(
        f"the delivery is not complete yet: {what} {marker.name}", where=str(place.path), todo=todo
    )


def _promise(manifest: Path, place: Place) -> Promise:
    try:
        stated = json.loads(read_bytes(manifest))
    except MissingDeliveryError as error:
        raise NotReadyError(
            f"the delivery is not complete yet: there is no {manifest.name}",
            where=str(place.path),
            todo="it is accepted once that manifest is there",
        ) from error
    except ValueError as error:
        raise NotReadyError(
            f"the delivery is not complete yet: its manifest is not complete JSON ({error})",
            where=str(manifest),
            todo="wait for the rest of it, or have it written again",
        ) from error
    return _stated(stated, str(manifest))


def _stated(stated: Any, where: str) -> Promise:
    stated = stated if isinstance(stated, dict) else {}
    known = {name: stated[name] for name in ("rows", "size", "sha256") if name in stated}
    wrong = [name for name, value in known.items() if not _makes_sense(name, value)]
    if not known or wrong:
        raise DeliveryError(
            f"the manifest's {wrong[0]!r} is {known[wrong[0]]!r}"
            if wrong
            else "the manifest states nothing about the delivery",
            where=where,
            todo='have it written as {"rows": 17, "size": 1234, "sha256": "..."}, or one of these',
        )
    if "sha256" in known:
        known["sha256"] = known["sha256"].lower()
    return Promise(where, **known)


def _makes_sense(name: str, value: object) -> bool:
    if name == "sha256":
        return isinstance(value, str) and re.fullmatch(r"[0-9a-fA-F]{64}", value) is not None
    return type(value) is int and value >= 0
