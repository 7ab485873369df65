"""Source against landing: is what lies in the landing area what the source offers now?

The delivery is read again as it lies there, whatever its size, its time of change and its marker
say. A deep look also maps it again, into a folder of its own, and compares every value.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from pathlib import Path

import duckdb
import pyarrow as pa
import pyarrow.parquet as pq

from customer_pipeline.errors import DeliveryError, MissingDeliveryError
from customer_pipeline.source.feed import Feed
from customer_pipeline.source.partitions import Window
from customer_pipeline.source.reading import read_delivery
from customer_pipeline.stages.extract import extract
from customer_pipeline.stages.landing import Landing, Manifest
from customer_pipeline.verification.findings import Finding
from customer_pipeline.warehouse.connection import prepare
from customer_pipeline.warehouse.content_hash import content_hashes


def against_source(
    feed_name: str, feed: Feed, windows: Sequence[Window], landing: Landing
) -> Iterator[Finding]:
    """Differences between what the source offers now and what was landed from it.

    Raises:
        ConfigError: the feed's declaration cannot work.
        TransientError: the source cannot be reached now.
    """
    for window in windows:
        manifest = landing.read(feed_name, window.key)
        if manifest is None:
            yield Finding(window.key, "landing", f"{feed_name}: never extracted")
        elif manifest.state == "rejected":
            what = f"{feed_name}: the newest delivery was refused: {manifest.reason}"
            yield Finding(window.key, "landing", what)
        elif what := _changed(feed, window, manifest):
            yield Finding(window.key, "source", f"{feed_name}: {what}")


def _changed(feed: Feed, window: Window, manifest: Manifest) -> str | None:
    try:
        delivery = read_delivery(feed, window, as_it_lies=True)
    except MissingDeliveryError:
        return "the delivery is gone" if manifest.state == "landed" else None
    except DeliveryError as error:
        return f"the delivery has changed and cannot be used: {error}"
    if manifest.state == "absent":
        return f"a delivery of {delivery.row_count} rows has arrived"
    if delivery.fingerprint != manifest.fingerprint:
        return f"the delivery has changed: {delivery.row_count} rows, was {manifest.source_rows}"
    rows = manifest.source_rows + manifest.other_rows
    if delivery.row_count != rows:
        return f"{delivery.row_count} rows in the source, {rows} landed, quarantined or elsewhere"
    return None


def extracted_again(
    feed_name: str,
    feed: Feed,
    windows: Sequence[Window],
    landing: Landing,
    *,
    zone: str,
    folder: Path,
) -> Iterator[Finding]:
    """Differences between the landed rows and those that an extract into `folder` makes now.

    Raises the same errors as `against_source`.
    """
    scratch = Landing(folder, landing.column, landing.source)
    extracted = extract(
        feed_name, feed, windows, zone=zone, landing=scratch, give_up=False, as_it_lies=True
    )
    for again in extracted:
        landed = landing.read(feed_name, again.partition_key)
        if landed is None or landed.state == "rejected":
            continue
        if landed.state != again.state or landed.landed_rows != again.landed_rows:
            yield Finding(
                again.partition_key,
                "landing",
                f"{feed_name}: {_in_words(landed)}, but extracting it again gives"
                f" {_in_words(again)}",
            )
        elif landed.state == "landed" and _hash(landing, landed) != _hash(scratch, again):
            yield Finding(
                again.partition_key,
                "landing",
                f"{feed_name}: extracting it again gives as many rows, but other values"
                + ("" if landed.declaration == again.declaration else ", under newer rules"),
            )


def _in_words(manifest: Manifest) -> str:
    if manifest.state == "landed":
        return f"{manifest.landed_rows} rows landed"
    return f"{manifest.state} ({manifest.reason})"


def landed_rows(landing: Landing, manifest: Manifest) -> pa.Table:
    """The rows that lie in the landing area."""
    path = landing.data_path(manifest)
    return pq.ParquetFile(path).read() if path else pa.table({})


def _hash(landing: Landing, manifest: Manifest) -> str:
    key = manifest.partition_key
    with duckdb.connect() as connection:
        prepare(connection)
        connection.register("rows", landed_rows(landing, manifest))
        return content_hashes(connection, {"rows": "rows"}, landing.column, [key])[key]
