"""The one notice of a backfill, once its last run has ended. What failed in it is part of that notice,
and of no other message until it is reminded of.

What belongs here: deciding. What does not: the words (`run_wording.py`), and when a backfill has ended
(`orchestration/alerting/`).
"""

from __future__ import annotations

import sqlite3

from customer_pipeline.alerts import run_wording
from customer_pipeline.alerts.incidents import FAILED, fresh, tell
from customer_pipeline.alerts.message import Alert
from customer_pipeline.alerts.outbox import is_noted
from customer_pipeline.alerts.partitions import condition_of, incidents_of
from customer_pipeline.alerts.scene import EndedBackfill, Scene
from customer_pipeline.planning.known import Known


def note_backfill(connection: sqlite3.Connection, scene: Scene, backfill: EndedBackfill) -> None:
    """Note a backfill that ended. One that was made of more backfills since is told again.

    Without a readable ledger it waits.
    """
    if scene.known is None:
        return
    identity = backfill_identity(backfill.name, len(backfill.pages))
    if is_noted(connection, identity):
        return
    failed, undone = _casualties(backfill, scene.known)
    message = run_wording.backfill_ended(scene.words, backfill, failed, undone, scene.calendar)
    incidents = incidents_of(connection, scene)
    opened = {
        condition_of(scene, key): scene.known.failures[key].since
        if key in scene.known.failures
        else backfill.ended
        # Who cancels a backfill knows what is not done.
        for key in (*failed, *(undone if backfill.status != "was cancelled" else ()))
        if fresh(incidents, key, FAILED)
    }
    tell(connection, Alert(identity, message), opened, now=scene.now)


def backfill_identity(name: str, parts: int) -> str:
    """What the notice of a backfill is known by, which Dagster sees as so many backfills."""
    return f"backfill {name} {parts}"


def _casualties(backfill: EndedBackfill, known: Known) -> tuple[dict[str, str], list[str]]:
    """What failed in the backfill, with the reasons; and what was asked for and not done."""
    failed, undone = {}, []
    for key in backfill.keys if backfill.publishes else ():
        failure, published = known.failures.get(key), known.published.get(key)
        if failure and failure.run_id in backfill.run_ids:
            failed[key] = failure.reason
        elif not (
            (published and published.published_at >= backfill.started)
            or (failure and failure.failed_at >= backfill.started)
            or key in known.waivers
        ):
            undone.append(key)
    return failed, undone
