"""Which partitions are to run because the source has corrected them, or has delivered late.

What belongs here: that decision, for the sensor and for `plan --redo stale` alike. What does not:
comparing with the source (`source_changes.py`), and asking for runs (`orchestration/late_data.py`).
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from hashlib import sha256

from customer_pipeline.planning.known import Known
from customer_pipeline.planning.source_changes import SourceChange
from customer_pipeline.source.feed import Feed
from customer_pipeline.source.partitions import Window
from customer_pipeline.warehouse.ledger import source_fingerprint

# By partition key and feed: the fingerprint of the delivery that the newest extract refused.
Refused = Mapping[tuple[str, str], str]


@dataclass(frozen=True)
class Late:
    """A partition that is to run. `reasons` are lines for people; `change` tells this difference
    between the source and what is published from every other one of that partition."""

    partition_key: str
    reasons: tuple[str, ...]
    change: str


def late_partitions(
    feeds: Mapping[str, Feed],
    windows: Sequence[Window],
    known: Known,
    changes: Iterable[SourceChange],
    *,
    refused: Refused,
) -> list[Late]:
    """The partitions that a run could bring up to what the source has now, in the order of `windows`.

    Nothing follows for one that nobody has ever asked for, or that is waived; nor while one of its
    deliveries is gone, incomplete, unusable, or still the one that was refused: a run would fail, or
    replace rows that are published by none. One that has never been published waits for all of its
    deliveries.

    Args:
        changes: how the source differs from raw, of those feeds and windows that were looked at.
        refused: of these too; without those that nobody looked at.
    """
    of_key: dict[str, list[SourceChange]] = defaultdict(list)
    for change in changes:
        of_key[change.partition_key].append(change)
    found = (_late(feeds, window, known, of_key[window.key], refused) for window in windows)
    return [late for late in found if late]


def _late(
    feeds: Mapping[str, Feed],
    window: Window,
    known: Known,
    changes: Sequence[SourceChange],
    refused: Refused,
) -> Late | None:
    key = window.key
    loaded = {feed: content.fingerprint for feed, content in known.loaded.get(key, {}).items()}
    offered = loaded | {change.feed: change.fingerprint for change in changes}
    bad = {feed: refused[key, feed] for feed in feeds if (key, feed) in refused}
    if key in known.waivers or not all(change.calls_for_a_run for change in changes):
        return None
    if any(offered.get(feed) == fingerprint for feed, fingerprint in bad.items()):
        return None
    if key not in known.published and not (
        key in known.failures
        and all(feed in offered or of.may_be_empty(window) for feed, of in feeds.items())
    ):
        return None
    reasons = (
        *(change.words for change in changes),
        *_loaded_otherwise(known, key, loaded),
        *_mended(known, key, [feed for feed in bad if feed in offered]),
    )
    return Late(key, reasons, _digest(known, key, loaded, changes, bad)) if reasons else None


def _loaded_otherwise(known: Known, key: str, loaded: Mapping[str, str]) -> Iterable[str]:
    """That raw has gone ahead of what is published: another delivery of the partition was refused, or
    the run died. What failed later than that would fail again."""
    published, failure = known.published.get(key), known.failures.get(key)
    if published is None or (failure and failure.stage != "extract"):
        return
    if source_fingerprint(loaded) != published.source_fingerprint:
        yield "raw holds a different delivery from the published one"


def _mended(known: Known, key: str, feeds: Sequence[str]) -> Iterable[str]:
    """That what an extract refused is not what these feeds offer any more."""
    failure = known.failures.get(key)
    if failure and failure.stage == "extract":
        yield from (f"{feed}: what made its newest run fail is gone" for feed in feeds)


def _digest(
    known: Known,
    key: str,
    loaded: Mapping[str, str],
    changes: Sequence[SourceChange],
    refused: Mapping[str, str],
) -> str:
    """A run that changes nothing leaves it as it is, so that none is asked for twice."""
    published = known.published.get(key)
    parts = [
        published.run_id if published else "",
        *sorted(f"loaded {feed} {fingerprint}" for feed, fingerprint in loaded.items()),
        *sorted(f"offered {change.feed} {change.fingerprint}" for change in changes),
        *sorted(f"refused {feed} {fingerprint}" for feed, fingerprint in refused.items()),
    ]
    return sha256("\n".join(parts).encode()).hexdigest()[:16]
