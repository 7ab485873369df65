"""Which partitions are to run because the source has corrected them, or has delivered late.

What belongs here: that decision. What does not: comparing with the source (`source_changes.py`), and
asking for runs (`orchestration/late_data.py`).
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from hashlib import sha256

from customer_pipeline.planning.known import Known
from customer_pipeline.planning.source_changes import SourceChange
from customer_pipeline.source.feed import Feed
from customer_pipeline.source.partitions import Window


@dataclass(frozen=True)
class Late:
    """A partition that is to run. `reason` is a line for people; `change` tells this change of the
    source from every other one of that partition."""

    partition_key: str
    reason: str
    change: str


def late_partitions(
    feeds: Mapping[str, Feed],
    windows: Sequence[Window],
    known: Known,
    changes: Sequence[SourceChange],
    *,
    refused: Mapping[tuple[str, str], str],
) -> list[Late]:
    """The partitions that a run could bring up to what the source has now, oldest first.

    Nothing follows for one that nobody has ever asked for, or that is waived; nor for one that has
    failed before the rest of its deliveries is there, or while one of them is not complete, which a run
    could not take. What vanished or cannot be used is no reason.

    Args:
        refused: the fingerprint of the delivery that was refused last, by partition key and feed.
    """
    incomplete = {change.partition_key for change in changes if change.kind == "incomplete"}
    new: dict[str, list[SourceChange]] = defaultdict(list)
    for change in changes:
        seen = refused.get((change.partition_key, change.feed))
        if change.calls_for_a_run and change.fingerprint != seen:
            new[change.partition_key].append(change)
    return [
        Late(window.key, "; ".join(change.words for change in found), _digest(found))
        for window in windows
        if (found := new.get(window.key))
        and window.key not in incomplete
        and _is_asked_for(feeds, window, known, found)
    ]


def _is_asked_for(
    feeds: Mapping[str, Feed], window: Window, known: Known, new: Sequence[SourceChange]
) -> bool:
    key = window.key
    if key in known.waivers:
        return False
    if key in known.published:
        return True
    there = {change.feed for change in new} | known.loaded.get(key, {}).keys()
    return key in known.failures and all(
        name in there or feed.may_be_empty(window) for name, feed in feeds.items()
    )


def _digest(changes: Sequence[SourceChange]) -> str:
    parts = sorted(f"{change.feed} {change.fingerprint}" for change in changes)
    return sha256("\n".join(parts).encode()).hexdigest()[:16]
