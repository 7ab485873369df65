"""Deliveries that are gone from the source, and new ones that no run can take: told once, since
nothing else follows from them. One that may be complete, or reached, a moment later is told when it
was not for an hour.

What belongs here: deciding, and the words. What does not: looking at the source
(`planning/source_changes.py`), and runs for what has changed (`planning/late_data.py`).
"""

from __future__ import annotations

import sqlite3
from collections import defaultdict
from collections.abc import Collection, Mapping, Sequence
from datetime import timedelta
from typing import Literal, get_args

from customer_pipeline.alerts import wording
from customer_pipeline.alerts.incidents import (
    FAILED,
    LATE,
    close,
    fresh,
    keep_silent,
    open_incidents,
    tell,
)
from customer_pipeline.alerts.message import Alert, Condition, Message
from customer_pipeline.alerts.outbox import note
from customer_pipeline.alerts.partitions import identity
from customer_pipeline.alerts.redaction import without_values
from customer_pipeline.alerts.scene import Scene
from customer_pipeline.planning.known import Known
from customer_pipeline.planning.source_changes import SourceChange

_Told = Literal["vanished", "unusable", "incomplete", "unreachable"]
_TOLD: tuple[_Told, ...] = get_args(_Told)
# For how long it is waited for what may pass by itself. That says nothing of what there was before.
_PATIENCE: Mapping[_Told, timedelta] = {
    "incomplete": timedelta(hours=1),
    "unreachable": timedelta(hours=1),
}
_WHAT: Mapping[_Told, str] = {
    "vanished": "gone from the source",
    "unusable": "in a form that no run can use",
    "incomplete": "still not complete",
    "unreachable": "still unreachable",
}
_ADVICE: Mapping[_Told, str] = {
    "vanished": "ask for it again; if the source does not keep deliveries that long, lower the"
    " feed's look_back",
}


def watch_deliveries(
    connection: sqlite3.Connection,
    scene: Scene,
    looked_at: Mapping[str, Collection[str]],
    changes: Sequence[SourceChange],
) -> None:
    """Note what there is to tell of deliveries. Without a readable ledger, nothing.

    Args:
        looked_at: the partitions at whose deliveries somebody has looked, by feed.
        changes: how these differ from what is loaded.
    """
    if scene.known is None:
        return
    _note_recoveries(connection, scene, looked_at, changes)
    for kind in _TOLD:
        known = open_incidents(connection, kind, scene.words.pipeline)
        found = {
            _shown(one): one
            for one in changes
            if one.kind == kind and not _is_known_otherwise(one, scene, scene.known)
        }
        began = {
            Condition(kind, scene.words.pipeline, shown): (
                known[shown].since if shown in known else scene.now
            )
            for shown in found
            if fresh(known, shown, FAILED)
        }
        patience = _PATIENCE.get(kind, timedelta(0))
        told = {one: since for one, since in began.items() if scene.now - since >= patience}
        waiting = {one: since for one, since in began.items() if one not in told}
        keep_silent(connection, waiting, rank=LATE, now=scene.now)
        if told:
            message = _message(scene, kind, [found[one.shown] for one in told])
            tell(connection, Alert(identity(kind, told), message), told, now=scene.now)


def _note_recoveries(
    connection: sqlite3.Connection,
    scene: Scene,
    looked_at: Mapping[str, Collection[str]],
    changes: Sequence[SourceChange],
) -> None:
    """What is in order again is told, if it was told; what has become something else, or is no longer
    looked at, is not. What comes again, and is not complete yet, has not come."""
    seen = {_name(feed, key) for feed, keys in looked_at.items() for key in keys}
    now = {_shown(one): one.kind for one in changes if not one.calls_for_a_run}
    mended = []
    for kind in _TOLD:
        known = open_incidents(connection, kind, scene.words.pipeline)
        undecided = ("unreachable",) if kind in _PATIENCE else tuple(_PATIENCE)
        over = [one for shown, one in known.items() if now.get(shown) not in (kind, *undecided)]
        close(connection, over)
        mended += [
            one
            for one in over
            if one.told and one.condition.shown in seen and one.condition.shown not in now
        ]
    if mended:
        what = "is in order again" if len(mended) == 1 else "are in order again"
        counted = f"{len(mended):,} deliveries"
        message = wording.well_again(scene.words.pipeline, mended, what, counted)
        ended = {one.condition: one.since for one in mended}
        note(connection, Alert(identity("mended", ended), message), scene.now)


def _shown(change: SourceChange) -> str:
    return _name(change.feed, change.partition_key)


def _name(feed: str, key: str) -> str:
    return f"{feed} of {key}"


def _is_known_otherwise(change: SourceChange, scene: Scene, known: Known) -> bool:
    """Whether nobody wants to hear of it, or has heard that the partition failed because of it."""
    key, failure = change.partition_key, known.failures.get(change.partition_key)
    return (
        key in known.waivers
        or scene.is_muted(key, f"{change.feed}: ")
        or (failure is not None and scene.words.feed_of(failure.reason) == change.feed)
    )


def _message(scene: Scene, kind: _Told, changes: Sequence[SourceChange]) -> Message:
    words, keys = scene.words, sorted({one.partition_key for one in changes})
    name = f"{_shown(changes[0])} is" if len(changes) == 1 else f"{len(changes):,} deliveries are"
    return Message(
        "warning",
        f"{words.pipeline}: {name} {_WHAT[kind]}",
        reason=_ADVICE.get(kind, ""),
        lines=_spans(scene, changes) if kind == "vanished" else _reasons(changes),
        facts=("what is published stays published",),
        more=f"{words.status_command(keys)} --source",
        owners=words.owners_of([f"{one.feed}: " for one in changes]),
    )


def _spans(scene: Scene, changes: Sequence[SourceChange]) -> tuple[str, ...]:
    """A line for each feed; one delivery is in the title."""
    by_feed: dict[str, dict[str, str]] = defaultdict(dict)
    for one in changes if len(changes) > 1 else ():
        by_feed[one.feed][one.partition_key] = one.feed
    return tuple(line for of in by_feed.values() for line in wording.lines_of(of, scene.calendar))


def _reasons(changes: Sequence[SourceChange]) -> tuple[str, ...]:
    several = len(changes) > 1
    return wording.first_lines(
        [(f"{_shown(one)}: " if several else "") + without_values(one.reason) for one in changes]
    )
