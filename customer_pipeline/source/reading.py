"""Reading one feed's delivery for one partition: which file, whether it is complete, which reader.

What belongs here: the way from a feed and a window to a `Delivery`. What does not: where files are
(`places.py`), formats (`readers/`), and whether a delivery that is missing or empty is allowed (the
extract stage).
"""

from __future__ import annotations

from dataclasses import replace

from customer_pipeline.errors import DeliveryError, NotReadyError
from customer_pipeline.source.delivery import Delivery
from customer_pipeline.source.drift import ColumnsError
from customer_pipeline.source.feed import Feed
from customer_pipeline.source.partitions import Window
from customer_pipeline.source.places import Place, place_of
from customer_pipeline.source.readers.csv_file import read_csv
from customer_pipeline.source.readers.delivered_file import FileState, fingerprint_of, state_of
from customer_pipeline.source.readers.jsonl_file import read_jsonl
from customer_pipeline.source.readers.parquet_file import read_parquet
from customer_pipeline.source.readers.python_function import read_python
from customer_pipeline.source.readiness import Promise, require_ready, require_unchanged

_FILE_READERS = {"csv": read_csv, "jsonl": read_jsonl, "parquet": read_parquet}


def read_delivery(
    feed: Feed, window: Window, *, known: str | None = None, as_it_lies: bool = False
) -> Delivery:
    """Reads what `feed` delivered for `window`.

    Args:
        known: the fingerprint of a content that was complete, and so is wherever it is found again: a
            file may be touched, or restored after its marker.
        as_it_lies: whatever the feed's `ready_when` says about its being complete.

    Raises:
        ConfigError: for a path template or a function that cannot work.
        MissingDeliveryError: when there is no delivery.
        DeliveryError: when the delivery as a whole is not what the feed declares.
        NotReadyError: when it is not complete yet, or was changed while it was read.
        TransientError: when it could not be had now, and may be later.
    """
    if feed.reader == "python":
        return read_python(feed, window)
    place = place_of(feed, window)
    state = state_of(place.path)
    if as_it_lies:
        return _read(feed, place, state, Promise())
    try:
        return _read(feed, place, state, require_ready(feed, window, place, state))
    except NotReadyError:
        if known is None or fingerprint_of(place.path) != known:
            raise
        return _read(feed, place, state, Promise())


def _read(feed: Feed, place: Place, state: FileState, promise: Promise) -> Delivery:
    try:
        delivery = _FILE_READERS[feed.reader](place.path, feed)
    except DeliveryError as error:
        # What is wrong with a file that is being written is no news.
        require_unchanged(place.path, state)
        # Of the columns, the beginning of a file tells all.
        if not isinstance(error, ColumnsError):
            promise.require_whole(error)
        raise
    require_unchanged(place.path, state)
    promise.require_content(delivery.fingerprint)
    promise.require_rows(delivery.row_count)
    return replace(delivery, file=state, version=place.version)
