"""Reading one feed's delivery for one partition: where it is, and which reader reads it.

What belongs here: the way from a feed and a window to a `Delivery`. What does not: formats (see
`readers/`), and whether a delivery that is missing or empty is allowed (the extract stage).
"""

from __future__ import annotations

import string
from pathlib import Path

from customer_pipeline.errors import ConfigError, MissingDeliveryError
from customer_pipeline.source.delivery import Delivery
from customer_pipeline.source.feed import Feed
from customer_pipeline.source.partitions import Window
from customer_pipeline.source.readers.csv_file import read_csv
from customer_pipeline.source.readers.delivered_file import fingerprint_of
from customer_pipeline.source.readers.jsonl_file import read_jsonl
from customer_pipeline.source.readers.parquet_file import read_parquet
from customer_pipeline.source.readers.python_function import read_python

_FILE_READERS = {"csv": read_csv, "jsonl": read_jsonl, "parquet": read_parquet}


def read_delivery(feed: Feed, window: Window) -> Delivery:
    """Reads what `feed` delivered for `window`.

    Raises:
        ConfigError: for a path template or a function that cannot work.
        MissingDeliveryError: when there is no delivery.
        DeliveryError: when the delivery as a whole is not what the feed declares.
        TransientError: when it could not be had now, and may be later.
    """
    if feed.reader == "python":
        return read_python(feed, window)
    return _FILE_READERS[feed.reader](delivery_path(feed, window), feed)


def delivery_fingerprint(feed: Feed, window: Window) -> str | None:
    """The fingerprint of what `feed` offers for `window` now, or None when there is no delivery.

    A file is hashed as it lies there; what a function gives has to be asked for.

    Raises:
        ConfigError: for a path template or a function that cannot work.
        DeliveryError: when the delivery cannot be opened, or the function gives none that is one.
        TransientError: when it could not be had now, and may be later.
    """
    try:
        if feed.reader == "python":
            return read_python(feed, window).fingerprint
        return fingerprint_of(delivery_path(feed, window))
    except MissingDeliveryError:
        return None


def delivery_path(feed: Feed, window: Window) -> Path:
    """The feed's path for `window`: `{date}` is its first day as YYYY-MM-DD, and what follows a
    colon, as in `{date:%Y%m%d}`, is a strftime format. `{{` and `}}` stand for braces.

    Raises:
        ConfigError: when the feed's path names anything but `date`, or has a stray brace.
    """
    template = feed.path or ""
    day = window.start.date()
    parts: list[str] = []
    try:
        for literal, field, form, conversion in string.Formatter().parse(template):
            parts.append(literal)
            if field is None:
                continue
            if field != "date" or conversion or "{" in (form or ""):
                raise ValueError(f"it names {{{field}}}")
            parts.append(format(day, form or "%Y-%m-%d"))
    except ValueError as error:
        raise ConfigError(
            f"the path cannot be used: {error}",
            where=f"path {template!r}",
            todo="write {date} or {date:%Y%m%d} in it, and double any other brace",
        ) from error
    return Path("".join(parts))
