"""Days of the demo shop in the pipeline's own hands, stage by stage and without Dagster.

What belongs here: calling what the pipeline is made of. What does not: what it is compared with
(`plain_versions.py`).
"""

from __future__ import annotations

import shutil
from collections.abc import Sequence
from dataclasses import dataclass
from datetime import UTC, datetime
from pathlib import Path

import duckdb

from customer_pipeline.orchestration.location import build_pipeline
from customer_pipeline.orchestration.pipeline import Pipeline
from customer_pipeline.reporting.customers import update_customers
from customer_pipeline.settings import DEMO_SOURCE, Settings
from customer_pipeline.source.feed import Feed
from customer_pipeline.stages.candidate import Candidate
from customer_pipeline.stages.extract import extract
from customer_pipeline.stages.load import load
from customer_pipeline.stages.publish import publish
from customer_pipeline.stages.transform import transform
from customer_pipeline.stages.validate import validate
from customer_pipeline.warehouse.ledger import Run
from customer_pipeline.warehouse.sql import transaction

# What a query for a day finds, by table.
_ROWS = {
    "raw.orders": "from raw.orders where _date = ?",
    "reporting.customers_current": "from reporting.customers_current where customer_id in"
    " (select customer_id from raw.customers where _date = ?)",
    "lake/fct_orders": "from {lake_orders} where _date = ?",
    "marts.fct_events": "from marts.fct_events where event_id in"
    " (select event_id from raw.events where _date = ?)",
}


@dataclass(frozen=True)
class DemoDays:
    pipeline: Pipeline

    @classmethod
    def of(cls, folder: Path) -> DemoDays:
        """The demo shop with its data in `folder`, whatever the environment says."""
        return cls(build_pipeline(Settings(source=DEMO_SOURCE, data_dir=folder, warehouse=None)))

    def load(self, day: str) -> None:
        """Extract a day's deliveries, and replace the day's raw rows by them."""
        for name, feed in self.pipeline.feeds.items():
            self._load(day, name, feed)

    def load_corrected(self, day: str, feed: str, *, where: str) -> int:
        """Load a day again as if the shop had delivered `feed` anew, and only the rows for which
        `where` is true; returns the raw rows of that day."""
        corrected = self.pipeline.feeds[feed].model_copy(update={"where": where})
        self._load(day, feed, corrected)
        return self.rows(day)[f"raw.{feed}"]

    def build(self, day: str) -> None:
        """Let dbt build a loaded day, for `publish`."""
        transform(
            self._built(day),
            [day],
            pipeline=self.pipeline.name,
            feeds=self.pipeline.feeds,
            zone=self.pipeline.source.timezone,
            landing=self.pipeline.landing,
            warehouse=self.pipeline.warehouse,
            project=self.pipeline.project,
        )

    def publish(self, day: str) -> None:
        """Publish a day that was built, and let the lake and the customers follow."""
        pipeline = self.pipeline
        self._publish(day, pipeline.marts)
        pipeline.lake.follow(pipeline.warehouse, pipeline.name, pipeline.marts)
        with pipeline.warehouse.write() as connection, transaction(connection):
            connection.execute("create schema if not exists reporting")
            update_customers(connection, pipeline.partitions.column, [day], from_nothing=False)

    def publish_half(self, day: str) -> None:
        """Publish a day, and break after its messages were written and marked as processed."""
        try:
            self._publish(day, [*self.pipeline.marts, "a mart that no model makes"])
        except duckdb.Error:
            return
        raise AssertionError("nothing broke")

    def rows(self, day: str) -> dict[str, int]:
        """What a query for the day finds, by table."""
        pipeline = self.pipeline
        with (
            pipeline.warehouse.read() as connection,
            pipeline.lake.relations(connection, ["fct_orders"]) as lake,
        ):
            counts = {
                table: "select count(*) " + rows.format(lake_orders=lake["fct_orders"])
                for table, rows in _ROWS.items()
            }
            return {
                table: (connection.execute(count, [day]).fetchone() or (0,))[0]
                for table, count in counts.items()
            }

    def rows_in_lake(self, mart: str) -> int:
        """The rows of all days in a table of the lake."""
        return self.pipeline.lake.table(mart).rows().count_rows()

    def _load(self, day: str, name: str, feed: Feed) -> None:
        pipeline, zone = self.pipeline, self.pipeline.source.timezone
        windows = pipeline.partitions.windows([day])
        extract(name, feed, windows, zone=zone, landing=pipeline.landing, give_up=True)
        load(
            name,
            feed,
            [day],
            zone=zone,
            landing=pipeline.landing,
            warehouse=pipeline.warehouse,
            run_id="demonstration",
        )

    def _built(self, day: str) -> Candidate:
        return self.pipeline.candidate(f"built-{day}")

    def _publish(self, day: str, marts: Sequence[str]) -> None:
        pipeline = self.pipeline
        candidate = pipeline.candidate("published-now")
        candidate.remove()
        shutil.copytree(self._built(day).folder, candidate.folder)
        validate(
            candidate,
            feeds=pipeline.feeds,
            partitions=pipeline.partitions,
            landing=pipeline.landing,
            rules=pipeline.rules,
        )
        publish(
            candidate,
            marts,
            messages=pipeline.messages,
            tables_read=pipeline.tables_read,
            warehouse=pipeline.warehouse,
            run=Run("demonstration", pipeline.name, datetime.now(UTC), pipeline.code_version),
        )
