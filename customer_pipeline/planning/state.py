"""The state of each partition, from what the warehouse knows of it.

Dagster's own opinion plays no part: it may be of another warehouse, or of a run that was killed.
Which runs are under way is the one thing that the ledger cannot know, so the caller says it.

What belongs here: which state, and why, in words. What does not: what is to be done (`plan.py`).
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Literal, get_args

from customer_pipeline.planning.known import Known
from customer_pipeline.planning.late_data import Late
from customer_pipeline.planning.source_changes import SourceChange
from customer_pipeline.warehouse.attempts import Failure
from customer_pipeline.warehouse.ledger import Published
from customer_pipeline.warehouse.waivers import Waiver

Kind = Literal["published", "empty", "failed", "stale", "missing", "running", "waived"]
KINDS: tuple[Kind, ...] = get_args(Kind)
_NEEDS_ATTENTION = ("failed", "stale", "missing")


@dataclass(frozen=True)
class State:
    """How a partition stands, and why.

    `reasons` are lines for people; there are none where all is well. `stale` says why a run would now
    publish something else, also of a partition whose newest attempt failed. `running` names the
    run that works on it, and `source` what else there is to know of its deliveries, which no run
    could take in now.
    """

    partition_key: str
    kind: Kind
    reasons: tuple[str, ...] = ()
    stale: tuple[str, ...] = ()
    published: Published | None = None
    failure: Failure | None = None
    waiver: Waiver | None = None
    running: str | None = None
    source: tuple[str, ...] = ()

    @property
    def needs_attention(self) -> bool:
        return self.kind in _NEEDS_ATTENTION


def states(
    keys: Sequence[str],
    known: Known,
    *,
    code_version: str,
    running: Mapping[str, str],
    changes: Iterable[SourceChange],
    late: Iterable[Late],
) -> list[State]:
    """The states of the partitions `keys`, in that order.

    Args:
        code_version: of the code that a run would use now.
        running: the partitions that runs in flight will touch, each with the run in words.
        changes: how the source's deliveries differ from what raw holds, where somebody looked.
        late: the partitions that are old because of that.
    """
    of_key: dict[str, list[SourceChange]] = defaultdict(list)
    for change in changes:
        of_key[change.partition_key].append(change)
    outdated = {one.partition_key: one.reasons for one in late}
    return [
        _state(key, known, code_version, running.get(key), of_key[key], outdated.get(key, ()))
        for key in keys
    ]


def _state(
    key: str,
    known: Known,
    code_version: str,
    running: str | None,
    changes: Sequence[SourceChange],
    late: tuple[str, ...],
) -> State:
    published, failure = known.published.get(key), known.failures.get(key)
    waiver = known.waivers.get(key)
    is_old = published is not None and published.code_version != code_version
    stale = (*(["the code has changed since"] if is_old else []), *late)
    kind, reasons = _kind_and_reasons(known, key, stale, running)
    other = tuple(change.words for change in changes if change.words not in late)
    return State(key, kind, tuple(reasons), stale, published, failure, waiver, running, other)


def _kind_and_reasons(
    known: Known, key: str, stale: Sequence[str], running: str | None
) -> tuple[Kind, Sequence[str]]:
    published, failure = known.published.get(key), known.failures.get(key)
    if running:
        return "running", [f"being processed by {running}"]
    if waiver := known.waivers.get(key):
        late = failure if failure and failure.failed_at > waiver.waived_at else None
        return "waived", [_waived(waiver), *([_failed(late)] if late else [])]
    if failure:
        old = ["what was published earlier is still there"] if published else []
        return "failed", [_failed(failure), *old, *stale]
    if published:
        return ("stale", stale) if stale else (published.status, ())
    if key in known.loaded:
        return "missing", ["loaded, but no run has published it yet"]
    return "missing", ["never run"]


def _failed(failure: Failure) -> str:
    words = f"failed in {failure.stage} on {failure.failed_at:%Y-%m-%d %H:%M}"
    if failure.attempts > 1:
        words += f" ({failure.attempts} attempts since {failure.since:%Y-%m-%d %H:%M})"
    return f"{words}: {failure.reason}"


def _waived(waiver: Waiver) -> str:
    return f"waived by {waiver.waived_by} on {waiver.waived_at:%Y-%m-%d}: {waiver.reason}"
