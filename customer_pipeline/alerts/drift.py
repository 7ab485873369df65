"""Columns that are not as declared: told once, when that begins, however many deliveries are like it.

The ledger says since when they have been so (`warehouse/schema_drift.py`); incidents say of which
beginnings somebody was told. What refuses a delivery is told as the failure of its partition.

What belongs here: deciding, and the words. What does not: failures (`partitions.py`).
"""

from __future__ import annotations

import json
import sqlite3
from collections import defaultdict
from collections.abc import Mapping, Sequence

from customer_pipeline.alerts.incidents import close, keep_silent, open_incidents, tell
from customer_pipeline.alerts.message import Alert, Condition, Message
from customer_pipeline.alerts.partitions import identity
from customer_pipeline.alerts.scene import Scene
from customer_pipeline.alerts.store import note_of, set_note
from customer_pipeline.alerts.wording import Words, first_lines
from customer_pipeline.planning.groups import Span
from customer_pipeline.source.drift import now_called
from customer_pipeline.warehouse.schema_drift import SchemaDrift

_KIND = "drift"


def watch_drift(connection: sqlite3.Connection, scene: Scene) -> None:
    """Note what begins to be not as declared. Without a readable ledger, nothing; and nothing of what
    is so when somebody looks for the first time."""
    if scene.known is None:
        return
    pipeline = scene.words.pipeline
    known = open_incidents(connection, _KIND, pipeline)
    watched = note_of(connection, f"{_KIND} {pipeline}")
    ends = _ends(watched)
    beginnings = {
        one: {shown for shown in known if _overlaps(one, shown, ends.get(shown))}
        for one in scene.drift
    }
    still = {shown for shown_of_one in beginnings.values() for shown in shown_of_one}
    close(connection, [incident for shown, incident in known.items() if shown not in still])
    news, silent = defaultdict(list), []
    for one in (one for one, shown in beginnings.items() if not shown):
        if one.refuses or watched is None:
            silent.append(one)
        elif not scene.is_muted(one.last_partition, f"{one.feed}: "):
            news[one.feed].append(one)
    seen = {one: shown or {_shown(one)} for one, shown in beginnings.items()}
    set_note(connection, f"{_KIND} {pipeline}", _note(seen))
    keep_silent(connection, {_condition(scene, one): scene.now for one in silent}, now=scene.now)
    for feed, begun in news.items():
        opened = {_condition(scene, one): scene.now for one in begun}
        alert = Alert(identity(_KIND, opened), _message(scene.words, feed, begun))
        tell(connection, alert, opened, now=scene.now)


def _condition(scene: Scene, drift: SchemaDrift) -> Condition:
    return Condition(_KIND, scene.words.pipeline, _shown(drift))


def _shown(drift: SchemaDrift) -> str:
    return f"{drift.first_partition} {drift.feed} {_column(drift)}"


def _overlaps(drift: SchemaDrift, shown: str, end: str | None) -> bool:
    """Whether an incident, which was seen to reach until `end`, is of this drift: that may have been
    found to begin earlier since, or begin later where its first days were corrected."""
    first, _, what = shown.partition(" ")
    return (
        what == f"{drift.feed} {_column(drift)}"
        and drift.first_partition <= (end or first)
        and first <= drift.last_partition
    )


def _note(seen: Mapping[SchemaDrift, set[str]]) -> str:
    """Until which partition each incident reaches."""
    ends: dict[str, str] = {}
    for drift, shown_of_one in seen.items():
        for shown in shown_of_one:
            ends[shown] = max(ends.get(shown, ""), drift.last_partition)
    return json.dumps(ends)


def _ends(note: str | None) -> dict[str, str]:
    # Older code noted only that somebody looks, in one word.
    return json.loads(note) if note and note.startswith("{") else {}


def _message(words: Words, feed: str, begun: Sequence[SchemaDrift]) -> Message:
    first = min(one.first_partition for one in begun)
    lines = first_lines([f"{_column(one)}, {_when(one)}: {_what_follows(one)}" for one in begun])
    return Message(
        "warning",
        f"{words.pipeline}: {feed}: columns not as declared since {first}",
        reason=lines[0] if len(lines) == 1 else "",
        lines=lines if len(lines) > 1 else (),
        more=words.status_command([first]),
        owners=words.owners_of([f"{feed}: "]),
    )


def _column(drift: SchemaDrift) -> str:
    return f"{drift.kind} column {drift.column_name!r}{now_called(drift.delivered_as)}"


def _when(drift: SchemaDrift) -> str:
    if drift.is_ongoing:
        return f"since {drift.first_partition}"
    return Span(drift.first_partition, drift.last_partition).words


def _what_follows(drift: SchemaDrift) -> str:
    if drift.kind == "new":
        return "it is ignored; declare it in the source's YAML to load it"
    return "it is null in every row"
