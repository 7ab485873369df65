"""Does the source offer other deliveries now than raw holds?

Files are hashed and not read as tables, a few at a time, since they may be a year's.

What belongs here: comparing fingerprints. What does not: comparing rows (`verification/source.py`).
"""

from __future__ import annotations

import os
from collections.abc import Iterator, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from itertools import product

from customer_pipeline.errors import DeliveryError
from customer_pipeline.source.feed import Feed
from customer_pipeline.source.partitions import Window
from customer_pipeline.source.reading import delivery_fingerprint

_ABSENT = "absent"


def changed_deliveries(
    feeds: Mapping[str, Feed],
    windows: Sequence[Window],
    loaded: Mapping[str, Mapping[str, str]],
) -> dict[str, list[str]]:
    """What has changed, in words, by partition key; partitions without a change are left out.

    A delivery that cannot be used now, or is gone where no rule allows that (sources may keep
    deliveries for some weeks only), is no change: a run could only fail of it.

    Args:
        loaded: the fingerprint of what raw holds, by partition key and feed.

    Raises:
        ConfigError: a feed's declaration cannot work.
        TransientError: a source cannot be reached now.
    """
    pairs = [
        (name, window)
        for window, name in product(windows, feeds)
        if name in loaded.get(window.key, {})
    ]
    found: dict[str, list[str]] = {}
    with ThreadPoolExecutor(max_workers=os.cpu_count()) as pool:
        offered = pool.map(lambda pair: _offered(feeds[pair[0]], pair[1]), pairs)
        for (name, window), fingerprint in zip(pairs, offered, strict=True):
            for words in _change(fingerprint, loaded[window.key][name]):
                found.setdefault(window.key, []).append(f"{name}: {words}")
    return found


def _offered(feed: Feed, window: Window) -> str | None:
    """The fingerprint of what a run would load; None when it could only fail."""
    try:
        fingerprint = delivery_fingerprint(feed, window)
    except DeliveryError:
        return None
    if fingerprint is None and feed.may_be_empty(window.start.date()):
        return _ABSENT
    return fingerprint


def _change(offered: str | None, loaded: str) -> Iterator[str]:
    if offered is None or offered == loaded:
        return
    if loaded == _ABSENT:
        yield "a delivery has come since"
    elif offered == _ABSENT:
        yield "its delivery is gone since"
    else:
        yield "its delivery has changed since"
