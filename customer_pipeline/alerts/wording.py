"""The words of messages about partitions: failed, late, still failed, well again.

What belongs here: turning what is known into a `Message`. What does not: deciding whether it is to be
told (`partitions.py`), and the words about runs (`run_wording.py`).
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime, timedelta

from customer_pipeline.alerts.incidents import Incident
from customer_pipeline.alerts.message import SEVERITIES, Message
from customer_pipeline.alerts.redaction import without_values
from customer_pipeline.phrases import counted
from customer_pipeline.planning.groups import grouped
from customer_pipeline.warehouse.attempts import Failure
from customer_pipeline.warehouse.ledger import Published

_GROUPS_SHOWN = 8
_SPANS_SHOWN = 3
_LINES_SHOWN = 8


@dataclass(frozen=True)
class Words:
    """What messages about a pipeline are made with.

    `unit` is what people call one partition (`day`), `ui` the address of Dagster's pages. `owners` has
    the owner of each feed that has one of its own, `owner` that of all else. `option` is what a command
    says to mean this pipeline, with a space in front; nothing for the one that is meant without.
    """

    pipeline: str
    unit: str
    ui: str
    owners: Mapping[str, str]
    owner: str | None
    option: str = ""

    def run_page(self, run_id: str) -> str:
        return f"{self.ui}/runs/{run_id}"

    def counted(self, number: int) -> str:
        return counted(number, self.unit)

    def feed_of(self, reason: str) -> str | None:
        """The feed that a reason is about, if it says so."""
        feed, colon, _ = reason.partition(": ")
        return feed if colon else None

    def owners_of(self, reasons: Sequence[str]) -> tuple[str, ...]:
        found = [self.owners.get(self.feed_of(reason) or "", self.owner) for reason in reasons]
        return tuple(dict.fromkeys(owner for owner in found or [self.owner] if owner))

    def subject(self, keys: Sequence[str]) -> str:
        """One key by name, many by number."""
        return keys[0] if len(keys) == 1 else self.counted(len(keys))

    def status_command(self, keys: Sequence[str]) -> str:
        if len(keys) == 1:
            one = "--day" if self.unit == "day" else "--partition"
            return f"customer-pipeline status {one} {keys[0]}{self.option}"
        return f"customer-pipeline status --from {keys[0]} --to {keys[-1]}{self.option}"

    def mend_command(self, keys: Sequence[str]) -> str:
        if len(keys) == 1:
            return f"customer-pipeline run --from {keys[0]}{self.option}"
        return f"customer-pipeline backfill --from {keys[0]} --to {keys[-1]}{self.option}"


def partitions_failed(
    words: Words,
    failures: Sequence[Failure],
    published: Mapping[str, Published],
    calendar: Sequence[str],
) -> Message:
    """Partitions that failed in one run."""
    keys = [failure.partition_key for failure in failures]
    first = failures[0]
    kept = sum(published[key].source_rows for key in keys if key in published)
    facts = [f"attempt {first.attempts}"] if len(keys) == 1 else []
    if kept:
        facts.append(f"the {kept:,} rows published before are still there")
    reasons = alike({failure.partition_key: failure.reason for failure in failures})
    return Message(
        "error",
        f"{words.pipeline}: {words.subject(keys)} failed in {_stages(failures)}",
        reason=reasons[keys[0]] if len(set(reasons.values())) == 1 else "",
        lines=lines_of(reasons, calendar) if len(keys) > 1 else (),
        facts=tuple(facts),
        since=min(failure.since for failure in failures),
        more=words.status_command(keys),
        mend=words.mend_command(keys),
        link=words.run_page(first.run_id),
        owners=words.owners_of(list(reasons.values())),
    )


def partitions_late(words: Words, due: Mapping[str, datetime]) -> Message:
    """Partitions that are not published though they should be by now."""
    keys = list(due)
    return Message(
        "error",
        f"{words.pipeline}: {words.subject(keys)} overdue",
        reason="not published, and no attempt has failed: see whether the schedule and the daemon"
        " are running",
        facts=(f"due {due[keys[0]]:%Y-%m-%d %H:%M} ({due[keys[0]].tzinfo})",),
        more=f"customer-pipeline plan --from {keys[0]} --to {keys[-1]}{words.option}",
        mend=words.mend_command(keys),
        owners=words.owners_of([]),
    )


def still_failed(
    words: Words,
    incidents: Sequence[Incident],
    reasons: Mapping[str, str],
    calendar: Sequence[str],
    now: datetime,
) -> Message:
    """The reminder of what was told a day ago or longer, and nobody has mended."""
    keys = [one.condition.shown for one in incidents]
    since = min(one.since for one in incidents)
    known = alike({key: reasons[key] for key in keys})
    return Message(
        "error",
        f"{words.pipeline}: {words.subject(keys)} still not published after {_hours(now - since)}",
        reason=known[keys[0]] if len(keys) == 1 else "",
        lines=lines_of(known, calendar) if len(keys) > 1 else (),
        since=since,
        more=words.status_command(keys),
        mend=f"{words.mend_command(keys)}, or waive: customer-pipeline waive --from {keys[0]}"
        f'{words.option} --reason "…"',
        owners=tuple(dict.fromkeys(owner for one in incidents for owner in one.owners)),
    )


def well_again(scope: str, incidents: Sequence[Incident], what: str, counted: str) -> Message:
    """What was told is over. `what` is how it is now, `counted` how many there are."""
    names = [one.condition.shown for one in incidents]
    return Message(
        SEVERITIES[max(SEVERITIES.index(one.severity) for one in incidents)],
        f"{scope}: {names[0] if len(names) == 1 else counted} {what}",
        lines=tuple(names[:_GROUPS_SHOWN]) if len(names) > 1 else (),
        since=min(one.since for one in incidents),
        owners=tuple(dict.fromkeys(owner for one in incidents for owner in one.owners)),
        good=True,
    )


def first_lines(lines: Sequence[str]) -> tuple[str, ...]:
    """The first few, and how many more there are."""
    more = len(lines) - _LINES_SHOWN
    return (*lines[:_LINES_SHOWN], *([f"and {more} more"] if more > 0 else []))


def alike(reasons: Mapping[str, str]) -> dict[str, str]:
    """The reasons by partition, without the values of rows; those of many without what differs only
    because each names its own partition."""
    plain = {key: without_values(reason) for key, reason in reasons.items()}
    if len(plain) == 1:
        return plain
    return {key: reason.replace(key, "…") for key, reason in plain.items()}


def lines_of(reasons: Mapping[str, str], calendar: Sequence[str]) -> tuple[str, ...]:
    """A line for each reason, with the partitions that have it; most of them first."""
    known = [*calendar, *sorted(set(reasons) - set(calendar))]
    groups = sorted(grouped(known, reasons), key=lambda group: -group.partitions)
    lines = []
    for group in groups[:_GROUPS_SHOWN]:
        spans = ", ".join(span.words for span in group.spans[:_SPANS_SHOWN])
        if len(group.spans) > _SPANS_SHOWN:
            spans += f" and {len(group.spans) - _SPANS_SHOWN} more"
        lines.append(f"{spans} ({group.partitions}): {group.words}")
    if more := len(groups) - len(lines):
        lines.append(f"and {more} more reasons")
    return tuple(lines)


def _stages(failures: Sequence[Failure]) -> str:
    return " and ".join(dict.fromkeys(failure.stage for failure in failures))


def _hours(time: timedelta) -> str:
    hours = time / timedelta(hours=1)
    return f"{hours:.0f} hours" if hours < 48 else f"{hours / 24:.0f} days"
