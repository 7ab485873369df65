"""What is told of runs: that one failed and left no word of it in the ledger, that one takes far longer
than usual or hangs; and of checks, sensors and schedules that fail.

What belongs here: deciding. What does not: the words (`run_wording.py`), looking at Dagster
(`orchestration/alerting/`), and failures that the ledger knows (`partitions.py`).
"""

from __future__ import annotations

import sqlite3
from collections.abc import Callable, Collection, Sequence
from datetime import datetime, timedelta

from customer_pipeline.alerts import run_wording, wording
from customer_pipeline.alerts.incidents import FAILED, Incident, close, fresh, open_incidents, tell
from customer_pipeline.alerts.message import Alert, Condition
from customer_pipeline.alerts.outbox import note
from customer_pipeline.alerts.partitions import condition_of, identity, incidents_of
from customer_pipeline.alerts.scene import (
    FailedCheck,
    FailedRun,
    FailingAutomation,
    RunPace,
    Scene,
    Why,
)
from customer_pipeline.planning.known import Known

_SLOW = 3


def note_failed_run(
    connection: sqlite3.Connection, scene: Scene, run: FailedRun, why: Callable[[], Why]
) -> None:
    """Note a run that failed for good, unless the ledger tells of its partitions.

    Args:
        why: looks up what the run says of its failure.
    """
    keys = [key for key in run.keys if key in set(scene.calendar)]
    lost, opened = keys, {}
    if run.publishes and keys and scene.known is not None:
        lost = _lost(connection, scene, scene.known, run, keys)
        opened = {condition_of(scene, key): run.ended for key in lost}
        if not lost and not all(_is_published_by(run, scene.known, key) for key in keys):
            return
    elif scene.known is not None and any(_is_told_of(run, scene.known, key) for key in keys):
        return
    # Nobody owes anything for what is no partition.
    if not opened and run.recurring and (keys or not run.keys):
        if run.job in open_incidents(connection, "job", "job"):
            return
        opened = {Condition("job", "job", run.job): run.ended}
    message = run_wording.run_failed(scene.words, run, why(), lost)
    tell(connection, Alert(f"run {run.run_id}", message), opened, now=scene.now)


def _lost(
    connection: sqlite3.Connection,
    scene: Scene,
    known: Known,
    run: FailedRun,
    keys: Sequence[str],
) -> list[str]:
    """The partitions of which neither ledger nor incidents tell how this run, or a later one, ended."""
    incidents = incidents_of(connection, scene)
    return [
        key
        for key in keys
        if not (
            (key in known.published and known.published[key].published_at >= run.started)
            or _is_told_of(run, known, key)
            or key in known.waivers
            or not fresh(incidents, key, FAILED)
            or scene.is_muted(key)
        )
    ]


def _is_told_of(run: FailedRun, known: Known, key: str) -> bool:
    """Whether the ledger says how the partition failed, in this run or in a later one."""
    return key in known.failures and known.failures[key].failed_at >= run.started


def _is_published_by(run: FailedRun, known: Known, key: str) -> bool:
    """Whether the run published it itself, and so failed at something else."""
    return key in known.published and known.published[key].run_id == run.run_id


def note_job_success(
    connection: sqlite3.Connection, scene: Scene, job: str, started: datetime
) -> None:
    """Note that a run of a job succeeded, where an earlier one had not."""
    incident = open_incidents(connection, "job", "job").get(job)
    if incident and started > incident.since:
        _note_end(connection, scene, [incident], job, "succeeds again")


def note_pace(
    connection: sqlite3.Connection,
    scene: Scene,
    run: RunPace,
    *,
    hangs: timedelta,
    least: timedelta,
) -> None:
    """Note a run that takes three times its usual time, at least `least`; and one of which nothing was
    heard for `hangs`."""
    slow_after = max(_SLOW * run.usual, least.total_seconds()) if run.usual else None
    if slow_after is not None and run.seconds >= slow_after:
        message = run_wording.run_is_slow(scene.words, run)
        note(connection, Alert(f"slow {run.run_id}", message), scene.now)
    if run.silent >= hangs.total_seconds():
        message = run_wording.run_hangs(scene.words, run)
        note(connection, Alert(f"hangs {run.run_id}", message), scene.now)


def note_checks(
    connection: sqlite3.Connection,
    scene: Scene,
    failed: Sequence[FailedCheck],
    passed: Collection[tuple[str, str, str]],
) -> None:
    """Note the checks that failed in a run that succeeded, and those that pass again (asset, check and
    partition of each)."""
    known = open_incidents(connection, "check", scene.words.pipeline)
    mended = [known[name] for one in passed if (name := " ".join(one)) in known]
    if mended:
        _note_end(connection, scene, mended, scene.words.pipeline, "passes again")
    news = [
        check
        for check in failed
        if fresh(known, _check_name(check), FAILED)
        and not scene.is_muted(check.key, f"{check.asset.split('/')[-1]}: ")
    ]
    if news:
        opened = {
            Condition("check", scene.words.pipeline, _check_name(check)): scene.now
            for check in news
        }
        message = run_wording.checks_failed(scene.words, news)
        tell(connection, Alert(identity("check", opened), message), opened, now=scene.now)


def note_automation(
    connection: sqlite3.Connection, scene: Scene, failing: Sequence[FailingAutomation]
) -> None:
    """Note the sensors and schedules that keep failing, and those that no longer do."""
    known = open_incidents(connection, "automation", "automation")
    names = {one.name for one in failing}
    for name, incident in known.items():
        if name not in names:
            _note_end(connection, scene, [incident], name, "works again")
    for one in failing:
        if fresh(known, one.name, FAILED):
            opened = {Condition("automation", "automation", one.name): one.since}
            message = run_wording.automation_fails(scene.words, one)
            tell(connection, Alert(identity("automation", opened), message), opened, now=scene.now)


def _check_name(check: FailedCheck) -> str:
    return f"{check.asset} {check.check} {check.key}"


def _note_end(
    connection: sqlite3.Connection,
    scene: Scene,
    incidents: Sequence[Incident],
    scope: str,
    what: str,
) -> None:
    close(connection, incidents)
    told = [incident for incident in incidents if incident.told]
    if told:
        message = wording.well_again(scope, told, what, f"{len(told)} of them:")
        ended = {one.condition: one.since for one in told}
        note(connection, Alert(identity("mended", ended), message), scene.now)
