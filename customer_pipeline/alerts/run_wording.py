"""The words of messages about runs, backfills, checks, sensors and schedules.

What belongs here: turning what is known into a `Message`. What does not: deciding whether it is to be
told (`runs.py`, `backfills.py`), and the words about partitions (`wording.py`).
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from customer_pipeline.alerts.message import Message, Severity
from customer_pipeline.alerts.redaction import without_values
from customer_pipeline.alerts.scene import (
    EndedBackfill,
    FailedCheck,
    FailedRun,
    FailingAutomation,
    RunPace,
    Why,
)
from customer_pipeline.alerts.wording import Words, alike, first_lines, lines_of
from customer_pipeline.durations import seconds_text
from customer_pipeline.planning.groups import Span


def run_failed(words: Words, run: FailedRun, why: Why, lost: Sequence[str]) -> Message:
    """A run that left no word in the ledger: killed, never started, or failed around the partitions."""
    about = f"{words.pipeline}: {words.subject(lost)} lost in a failed run" if lost else ""
    facts = [f"run of {run.job}"]
    if len(lost) > 1:
        facts += _of_keys(lost)
    return Message(
        "error",
        about or f"{run.job} failed",
        reason=without_values(why.reason),
        facts=(*([f"in {why.step}"] if why.step else []), *facts),
        since=run.ended,
        more=words.status_command(lost) if lost else "",
        mend=words.mend_command(lost) if lost else "",
        link=words.run_page(run.run_id),
        owners=words.owners_of([]),
    )


def backfill_ended(
    words: Words,
    backfill: EndedBackfill,
    failed: Mapping[str, str],
    undone: Sequence[str],
    calendar: Sequence[str],
) -> Message:
    """The one notice of a backfill: asked, published, failed with reasons, and what to do next."""
    asked = len(backfill.keys)
    published = asked - len(failed) - len(undone)
    counts = f"{words.counted(asked)} asked for, {published:,} published"
    if failed:
        counts += f", {len(failed):,} failed"
    if undone:
        counts += f", {len(undone):,} not done"
    severity: Severity = "error" if failed else "warning" if undone else "info"
    open_keys = sorted([*failed, *undone])
    pages = f"{words.ui}/runs/b/{backfill.pages[0]}" if backfill.pages else ""
    return Message(
        severity,
        f"{words.pipeline}: backfill {backfill.name} {backfill.status}: {counts}",
        reason=without_values(backfill.reason),
        lines=(
            *lines_of(alike(failed), calendar),
            *lines_of(dict.fromkeys(undone, "not done"), calendar),
        ),
        facts=(f"took {seconds_text((backfill.ended - backfill.started).total_seconds())}",),
        more=words.status_command(open_keys or list(backfill.keys)) if asked else "",
        mend=words.mend_command(open_keys) if open_keys else "",
        link=pages,
        owners=words.owners_of(list(failed.values())),
    )


def run_is_slow(words: Words, run: RunPace) -> Message:
    usual = seconds_text(run.usual or 0)
    return Message(
        "warning",
        f"{run.job}: a run has taken {seconds_text(run.seconds)} so far, usually {usual}",
        facts=_of_keys(run.keys),
        more=words.status_command(run.keys) if run.keys else "",
        link=words.run_page(run.run_id),
        owners=words.owners_of([]),
    )


def run_hangs(words: Words, run: RunPace) -> Message:
    return Message(
        "error",
        f"{run.job}: no sign of life from a run for {seconds_text(run.silent)}",
        reason="it is terminated after max_runtime_seconds (dagster.yaml); to end it now, terminate"
        " it on its page",
        facts=(*_of_keys(run.keys), f"running for {seconds_text(run.seconds)}"),
        more=words.status_command(run.keys) if run.keys else "",
        link=words.run_page(run.run_id),
        owners=words.owners_of([]),
    )


def checks_failed(words: Words, checks: Sequence[FailedCheck]) -> Message:
    """Checks that failed in one run that succeeded."""
    errors = [check for check in checks if check.severity == "ERROR"]
    names = list(dict.fromkeys(check.check for check in checks))
    named = names[0] if len(names) == 1 else f"{len(names)} checks"
    lines = [
        f"{check.key or check.asset}: {check.check}: {without_values(check.description)}"
        for check in checks
    ]
    keys = sorted({check.key for check in checks if check.key})
    return Message(
        "error" if errors else "warning",
        f"{words.pipeline}: {named} failed in a run that succeeded"
        + (f" ({words.subject(keys)})" if keys else ""),
        lines=first_lines(lines),
        more=words.status_command(keys) if keys else "",
        link=words.run_page(checks[0].run_id),
        owners=words.owners_of([f"{check.asset.split('/')[-1]}: " for check in checks]),
    )


def automation_fails(words: Words, failing: FailingAutomation) -> Message:
    return Message(
        "error",
        f"the {failing.kind} {failing.name} keeps failing",
        reason=without_values(failing.error),
        facts=(f"its last {failing.ticks} ticks failed",),
        since=failing.since,
        more="customer-pipeline doctor",
        link=f"{words.ui}/automation",
        owners=words.owners_of([]),
    )


def _of_keys(keys: Sequence[str]) -> tuple[str, ...]:
    return (Span(keys[0], keys[-1]).words,) if keys else ()
