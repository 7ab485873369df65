"""A feed's rows counted again, from its delivery to raw: is every one of them accounted for?

What belongs here: the comparisons per feed and partition. What does not: what the models made of the
rows (`reconcile.py`), and what follows from a difference (`validate.py`).
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from pathlib import Path

import duckdb
import pyarrow.parquet as pq

from customer_pipeline.errors import StageError
from customer_pipeline.outcomes import CheckResult, Comparable
from customer_pipeline.partition_column import PartitionColumn
from customer_pipeline.quoting import quoted
from customer_pipeline.source.feed import Feed
from customer_pipeline.source.partitions import Window
from customer_pipeline.stages.candidate import Delivered
from customer_pipeline.stages.landing import Landing, Manifest
from customer_pipeline.warehouse.sql import rows_by_partition


def feed_check_names(feeds: Iterable[str]) -> dict[str, str]:
    """The names of the comparisons of these feeds, each with what it states."""
    names: dict[str, str] = {}
    for feed in feeds:
        names |= {
            f"{feed}_source_rows_are_landed_or_quarantined": (
                f"every row that {feed} delivered is landed or in quarantine"
            ),
            f"{feed}_raw_rows_match_landing": f"raw.{feed} holds exactly the landed rows",
            f"{feed}_dropped_rows_within_threshold": (
                f"no more rows of {feed} are missing from raw than the feed's threshold allows"
            ),
            f"{feed}_has_rows": f"{feed} has rows, unless its rule allows an empty delivery",
        }
    return names


def feed_checks(
    connection: duckdb.DuckDBPyConnection,
    delivered: Sequence[Delivered],
    *,
    feeds: Mapping[str, Feed],
    landing: Landing,
    windows: Mapping[str, Window],
) -> Iterator[CheckResult]:
    """The comparisons of each delivery in the windows, with both numbers.

    Raises:
        StageError: the candidate lacks a feed's rows.
    """
    raw_counts = {feed: _raw_counts(connection, feed, landing.column) for feed in feeds}
    for row in delivered:
        if row.partition_key not in windows:
            continue
        manifest = landing.read(row.feed, row.partition_key)
        files = _rows_in_files(manifest, landing) if manifest and row.is_of(manifest) else None
        if manifest is None or files is None:
            yield CheckResult(
                f"{row.feed}_raw_rows_match_landing",
                row.partition_key,
                passed=False,
                description="another run has landed a newer delivery since this one was loaded",
            )
            continue
        raw_rows = raw_counts[row.feed].get(row.partition_key, 0)
        yield from _counts_of_feed(
            row, manifest.source_rows, files, raw_rows, feeds[row.feed], windows[row.partition_key]
        )


def _counts_of_feed(
    row: Delivered,
    source_rows: int,
    files: tuple[int, int],
    raw_rows: int,
    feed: Feed,
    window: Window,
) -> Iterator[CheckResult]:
    landed, quarantined = files
    yield _equal(
        f"{row.feed}_source_rows_are_landed_or_quarantined",
        row.partition_key,
        {"source_rows": source_rows, "landed_and_quarantined_rows": landed + quarantined},
    )
    yield _equal(
        f"{row.feed}_raw_rows_match_landing",
        row.partition_key,
        {"landed_rows": landed, "raw_rows": raw_rows},
    )
    dropped = source_rows - raw_rows
    share = dropped / source_rows if source_rows else 0.0
    limit = feed.quarantine_threshold
    yield CheckResult(
        f"{row.feed}_dropped_rows_within_threshold",
        row.partition_key,
        passed=share <= limit,
        description=f"{dropped} of {source_rows} rows dropped ({share:.1%}), {limit:.1%} allowed",
        metadata={"dropped_rows": dropped, "source_rows": source_rows, "dropped_share": share},
    )
    by_rule = feed.may_be_empty(window)
    yield CheckResult(
        f"{row.feed}_has_rows",
        row.partition_key,
        passed=raw_rows > 0 or by_rule,
        description=f"{raw_rows} rows" + ("; the feed's rule allows none" if by_rule else ""),
        metadata={"raw_rows": raw_rows, "rows_needed": 0 if by_rule else 1},
    )


def _equal(check: str, key: str, numbers: Mapping[str, Comparable]) -> CheckResult:
    (left_name, left), (right_name, right) = numbers.items()
    return CheckResult(
        check,
        key,
        passed=left == right,
        description=f"{left_name} {left}, {right_name} {right}",
        metadata=numbers,
    )


def _rows_in_files(manifest: Manifest, landing: Landing) -> tuple[int, int] | None:
    """The rows that lie in landing and in quarantine; None when they were replaced just now."""
    paths = landing.data_path(manifest), landing.quarantine_path(manifest)
    try:
        landed, quarantined = (_rows_in(path) for path in paths)
    except FileNotFoundError:
        return None
    return landed, quarantined


def _rows_in(path: Path | None) -> int:
    return 0 if path is None else pq.read_metadata(path).num_rows


def _raw_counts(
    connection: duckdb.DuckDBPyConnection, feed: str, column: PartitionColumn
) -> dict[str, int]:
    try:
        return rows_by_partition(connection, f"raw.{quoted(feed)}", column)
    except duckdb.CatalogException as error:
        raise StageError(
            f"the candidate lacks raw.{feed}", todo="run the transform again"
        ) from error
