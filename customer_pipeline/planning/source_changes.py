"""What the source offers now, beside what raw holds.

Looking is cheap (see `source/offers.py`), and a few files at a time are looked at, since they may be
a year's.

What belongs here: naming the difference. What does not: comparing rows (`verification/source.py`),
and starting runs.
"""

from __future__ import annotations

import os
from collections.abc import Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from functools import partial
from typing import Literal

from customer_pipeline.errors import TransientError
from customer_pipeline.source.feed import Feed
from customer_pipeline.source.offers import Offer, Taken, look
from customer_pipeline.source.partitions import Window
from customer_pipeline.source.readers.delivered_file import FileState
from customer_pipeline.warehouse.deliveries import LoadedContent

# arrived: there was none when it was loaded, or it was never loaded. incomplete, unusable: there is
# something new, which a run cannot take, not yet or not as it is. vanished: sources may keep their
# deliveries for some weeks only, so that this is told and nothing follows from it. unreachable: there
# may be anything.
Kind = Literal["arrived", "changed", "vanished", "incomplete", "unusable", "unreachable"]
_WORDS: Mapping[Kind, str] = {
    "arrived": "a delivery has arrived since",
    "changed": "its delivery has changed since",
    "vanished": "its delivery is gone from the source; what was loaded stays",
    "incomplete": "there is another delivery",
    "unusable": "there is another delivery",
    "unreachable": "its source cannot be looked at now",
}
_ABSENT = "absent"


@dataclass(frozen=True)
class SourceChange:
    """How the source differs from raw, for one feed and partition.

    `fingerprint` is of the new content, for `arrived` and `changed`: whoever acts once per change can
    tell one from the next by it. `reason` says why a new delivery cannot be taken.
    """

    feed: str
    partition_key: str
    kind: Kind
    fingerprint: str | None = None
    reason: str = ""

    @property
    def calls_for_a_run(self) -> bool:
        """Whether a run could take it in. All other changes are for people to know."""
        return self.kind in ("arrived", "changed")

    @property
    def words(self) -> str:
        return f"{self.feed}: {_WORDS[self.kind]}" + (f": {self.reason}" if self.reason else "")


def source_changes(
    feeds: Mapping[str, Feed],
    windows: Sequence[Window],
    loaded: Mapping[str, Mapping[str, LoadedContent]],
    *,
    hash_all: bool = False,
    give_up: bool = True,
) -> list[SourceChange]:
    """The changes of these feeds and windows, in the order of windows, then feeds.

    Args:
        loaded: what raw holds, by partition key and feed.
        hash_all: believe no file's time of change.
        give_up: when a source cannot be reached now. Otherwise that is one of the changes, and the
            others are looked at.

    Raises:
        ConfigError: a feed's declaration cannot work.
        TransientError: a source cannot be reached now, and `give_up` is true.
    """
    pairs = [(name, window) for window in windows for name in feeds]
    with ThreadPoolExecutor(max_workers=os.cpu_count()) as pool:
        found = pool.map(partial(_change, feeds, loaded, hash_all, give_up), pairs)
        return [change for change in found if change]


def _change(
    feeds: Mapping[str, Feed],
    loaded: Mapping[str, Mapping[str, LoadedContent]],
    hash_all: bool,
    give_up: bool,
    pair: tuple[str, Window],
) -> SourceChange | None:
    name, window = pair
    content = loaded.get(window.key, {}).get(name)
    taken = _taken(content) if content and content.fingerprint != _ABSENT else None
    try:
        offer = look(feeds[name], window, taken, hash_all=hash_all)
    except TransientError as error:
        if give_up:
            raise
        return SourceChange(name, window.key, "unreachable", reason=str(error))
    kind = _kind(offer, taken)
    return kind and SourceChange(name, window.key, kind, offer.fingerprint, offer.reason)


def _taken(content: LoadedContent) -> Taken:
    if content.size is None or content.modified_ns is None:
        return Taken(content.fingerprint, version=content.file_version)
    file = FileState(content.size, content.modified_ns)
    return Taken(content.fingerprint, file, content.file_version)


def _kind(offer: Offer, taken: Taken | None) -> Kind | None:
    if offer.state == "missing":
        return "vanished" if taken else None
    if offer.state != "there":
        return offer.state
    if taken is None:
        return "arrived"
    return "changed" if taken.fingerprint != offer.fingerprint else None
