"""Verify: source, landing, raw, marts, ledger and lake, compared anew for a range of partitions.

What belongs here: the order in which places are compared. What does not: the comparisons.
"""

from __future__ import annotations

import tempfile
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path

from customer_pipeline.lake.follow import Lake
from customer_pipeline.source.feed import Feed
from customer_pipeline.source.partitions import Window
from customer_pipeline.stages.landing import Landing
from customer_pipeline.stages.messages import Messages
from customer_pipeline.stages.reconcile import Rule
from customer_pipeline.verification.findings import Finding
from customer_pipeline.verification.lake import lake_against_ledger
from customer_pipeline.verification.source import against_source, extracted_again
from customer_pipeline.verification.warehouse import (
    Tables,
    marts_against_ledger,
    marts_against_raw,
    raw_against_landing,
)
from customer_pipeline.warehouse.attempts import failures_of
from customer_pipeline.warehouse.connection import Warehouse
from customer_pipeline.warehouse.ledger import published_partitions
from customer_pipeline.warehouse.waivers import waivers_of


@dataclass(frozen=True)
class Verifier:
    """Everything that a pipeline's partitions are looked up in."""

    pipeline: str
    feeds: Mapping[str, Feed]
    marts: Sequence[str]
    messages: Sequence[Messages]
    rules: Sequence[Rule]
    zone: str
    landing: Landing
    warehouse: Warehouse
    lake: Lake

    def findings(self, windows: Sequence[Window], *, deep: bool = False) -> list[Finding]:
        """All differences, in the order of partitions, and for each from the source onwards.

        A waived partition is in order when nothing of it is in the marts and the lake.

        Args:
            deep: also extract every delivery again, and compare all values.

        Raises:
            ConfigError: there is no warehouse, or a feed's declaration cannot work.
            TransientError: the warehouse is held, or a source cannot be reached.
        """
        with self.warehouse.read() as connection:
            waived = waivers_of(connection, self.pipeline)
        owed = [window for window in windows if window.key not in waived]
        found = [*self._source(owed, deep=deep), *self._warehouse(windows)]
        return sorted(found, key=lambda finding: finding.partition_key)

    def _source(self, windows: Sequence[Window], *, deep: bool) -> Iterator[Finding]:
        for name, feed in self.feeds.items():
            yield from against_source(name, feed, windows, self.landing)
            if deep:
                with tempfile.TemporaryDirectory(prefix="verify-") as folder:
                    yield from extracted_again(
                        name, feed, windows, self.landing, zone=self.zone, folder=Path(folder)
                    )

    def _warehouse(self, windows: Sequence[Window]) -> Iterator[Finding]:
        keys = [window.key for window in windows]
        # Held for reading to the end, so that nothing is published between two looks.
        with self.warehouse.read() as connection:
            waived = waivers_of(connection, self.pipeline)
            owed = tuple(key for key in keys if key not in waived)
            tables = Tables(
                self.feeds, self.marts, self.messages, self.rules, self.landing, tuple(keys)
            )
            recorded = published_partitions(connection, self.pipeline)
            published = {key: recorded[key] for key in keys if key in recorded}
            failures = {
                key: failure.reason
                for key, failure in failures_of(connection, self.pipeline).items()
            }
            yield from (
                Finding(key, "ledger", f"not published: {failures.get(key, 'never run')}")
                for key in owed
                if key not in published
            )
            yield from raw_against_landing(connection, replace(tables, keys=owed))
            yield from marts_against_raw(connection, tables, published)
            yield from marts_against_ledger(connection, tables, published)
            yield from lake_against_ledger(connection, self.lake, self.marts, keys, published)
