"""Partitions that failed, are late, still failed or well again: what is told of them.

The ledger says how things are; incidents say what was told. So it does not matter how often, by whom
or after how long a break somebody looks.

What belongs here: deciding. What does not: the words (`wording.py`), and runs that left no word in the
ledger (`runs.py`).
"""

from __future__ import annotations

import sqlite3
from collections import defaultdict
from collections.abc import Mapping, Sequence
from datetime import datetime, timedelta
from hashlib import sha256

from customer_pipeline.alerts import wording
from customer_pipeline.alerts.incidents import (
    FAILED,
    LATE,
    Incident,
    close,
    fresh,
    keep_silent,
    open_incidents,
    record_reminder,
    tell,
    to_be_reminded_of,
)
from customer_pipeline.alerts.message import Alert, Condition
from customer_pipeline.alerts.outbox import note
from customer_pipeline.alerts.scene import Scene
from customer_pipeline.planning.known import Known
from customer_pipeline.warehouse.attempts import Failure

KIND = "partition"
# Patience ends at some time.
_LONGEST_PATIENCE = timedelta(hours=24)


def watch_partitions(connection: sqlite3.Connection, scene: Scene) -> None:
    """Note what there is to tell of partitions. Without a readable ledger, nothing."""
    if scene.known is None:
        return
    _note_recoveries(connection, scene, scene.known)
    _note_failures(connection, scene, scene.known)
    _note_late(connection, scene, scene.known)
    _note_reminders(connection, scene, scene.known)


def condition_of(scene: Scene, key: str) -> Condition:
    """What can be wrong with a partition, whatever it is: its being not published."""
    return Condition(KIND, scene.words.pipeline, key)


def incidents_of(connection: sqlite3.Connection, scene: Scene) -> dict[str, Incident]:
    """The open incidents about the pipeline's partitions, by key."""
    return open_incidents(connection, KIND, scene.words.pipeline)


def identity(what: str, conditions: Mapping[Condition, datetime]) -> str:
    """An identity for an alert that opens these conditions."""
    parts = [
        f"{one.name} {since.isoformat()}"
        for one, since in sorted(conditions.items(), key=lambda item: item[0].name)
    ]
    return f"{what} {sha256(' '.join(parts).encode()).hexdigest()[:24]}"


def _note_recoveries(connection: sqlite3.Connection, scene: Scene, known: Known) -> None:
    waived, mended = [], []
    for key, incident in incidents_of(connection, scene).items():
        published = known.published.get(key)
        if key in known.waivers:
            waived.append(incident)
        elif key not in known.failures and published and published.published_at > incident.since:
            mended.append(incident)
    close(connection, [*waived, *mended])
    told = [incident for incident in mended if incident.told]
    if told:
        counted = scene.words.counted(len(told))
        what = "is published after all" if len(told) == 1 else "are published after all"
        message = wording.well_again(scene.words.pipeline, told, what, counted)
        ended = {one.condition: one.since for one in told}
        note(connection, Alert(identity("mended", ended), message), scene.now)


def _note_failures(connection: sqlite3.Connection, scene: Scene, known: Known) -> None:
    incidents = incidents_of(connection, scene)
    by_run: dict[str, list[Failure]] = defaultdict(list)
    for key, failure in known.failures.items():
        if key in known.waivers and known.waivers[key].waived_at >= failure.failed_at:
            continue
        if failure.failed_at < scene.watching_since:
            if key not in incidents:
                keep_silent(connection, {condition_of(scene, key): failure.since}, now=scene.now)
        elif _is_news(failure, incidents) and not _is_held(failure, scene):
            by_run[failure.run_id].append(failure)
    for failures in by_run.values():
        tell_failures(connection, scene, failures)


def tell_failures(
    connection: sqlite3.Connection, scene: Scene, failures: Sequence[Failure]
) -> None:
    """Note one alert for these failures of one run."""
    published = scene.known.published if scene.known else {}
    message = wording.partitions_failed(scene.words, failures, published, scene.calendar)
    opened = {condition_of(scene, one.partition_key): one.since for one in failures}
    tell(connection, Alert(identity("failed", opened), message), opened, now=scene.now)


def _is_news(failure: Failure, incidents: Mapping[str, Incident]) -> bool:
    known = incidents.get(failure.partition_key)
    return fresh(incidents, failure.partition_key, FAILED) or (known is not None and not known.told)


def _is_held(failure: Failure, scene: Scene) -> bool:
    """Whether it is not told yet, or not at all."""
    if {failure.run_id, failure.backfill_id} & scene.unsettled:
        return True
    if scene.is_muted(failure.partition_key, failure.reason):
        return True
    patience = scene.patience.get(scene.words.feed_of(failure.reason) or "", 1)
    return failure.attempts < patience and scene.now - failure.since < _LONGEST_PATIENCE


def _note_late(connection: sqlite3.Connection, scene: Scene, known: Known) -> None:
    incidents = incidents_of(connection, scene)
    late = {
        key: due
        for key, due in scene.due.items()
        if not (key in known.published or key in known.failures or key in known.waivers)
        and fresh(incidents, key, LATE)
        and not scene.is_muted(key)
    }
    if late:
        opened = {condition_of(scene, key): due for key, due in late.items()}
        alert = Alert(identity("late", opened), wording.partitions_late(scene.words, late))
        tell(connection, alert, opened, rank=LATE, now=scene.now)


def _note_reminders(connection: sqlite3.Connection, scene: Scene, known: Known) -> None:
    due = [
        incident
        for incident in to_be_reminded_of(incidents_of(connection, scene).values(), scene.now)
        if not scene.is_muted(incident.condition.shown, _reason(known, incident))
    ]
    if due:
        reasons = {one.condition.shown: _reason(known, one) for one in due}
        message = wording.still_failed(scene.words, due, reasons, scene.calendar, scene.now)
        again = {one.condition: one.reminded_at for one in due}
        note(connection, Alert(identity("reminder", again), message), scene.now)
        record_reminder(connection, due, scene.now)


def _reason(known: Known, incident: Incident) -> str:
    failure = known.failures.get(incident.condition.shown)
    return failure.reason if failure else "not published"
