"""One pipeline of the location: everything its assets need, made once from settings and source."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, replace
from datetime import UTC, datetime, timedelta
from functools import cached_property
from typing import Any

import dagster as dg

from customer_pipeline.code_version import code_version, reporting_version
from customer_pipeline.dbt_adapter.manifest import DbtProject
from customer_pipeline.lake.follow import Lake
from customer_pipeline.orchestration.partitions import partitions_definition
from customer_pipeline.orchestration.run_tags import BACKFILL, DAGSTER_BACKFILL
from customer_pipeline.pipelines import PipelineSpec
from customer_pipeline.reporting.refresh import Reporting
from customer_pipeline.settings import Settings
from customer_pipeline.source.feed import Feed, Source
from customer_pipeline.source.partitions import Partitions
from customer_pipeline.stages.candidate import Candidate
from customer_pipeline.stages.landing import Landing
from customer_pipeline.stages.load import raw_columns
from customer_pipeline.stages.messages import Messages, messages_of
from customer_pipeline.stages.reconcile import Rule, rules_of
from customer_pipeline.verification.verify import Verifier
from customer_pipeline.warehouse.connection import Warehouse
from customer_pipeline.warehouse.ledger import Run

# Seconds.
_TICK_LOCK_TIMEOUT = 5
_REFRESH_RETRY_DELAY = 300


@dataclass(frozen=True)
class Pipeline:
    """A pipeline: its feeds, its models and marts, and where its files are.

    The dbt models of a pipeline are those in the folder `models/<name>`. `option` is what a command
    says to mean this pipeline, with a space in front; nothing for the one that is meant without.
    """

    spec: PipelineSpec
    settings: Settings
    source: Source
    project: DbtProject
    option: str = ""

    @property
    def name(self) -> str:
        return self.spec.name

    @property
    def retry_delay(self) -> float:
        """Seconds between two attempts."""
        set_by_hand = self.settings.retry_delay
        return self.spec.retry_delay.total_seconds() if set_by_hand is None else set_by_hand

    @property
    def refresh_retry_delay(self) -> float:
        """Seconds between two attempts at a refresh, which waits for no delivery."""
        set_by_hand = self.settings.retry_delay
        return _REFRESH_RETRY_DELAY if set_by_hand is None else set_by_hand

    @property
    def longest_pause(self) -> float:
        """Seconds for which a step may wait for its next attempts, all in all."""
        return self.settings.max_retries * self.retry_delay

    @cached_property
    def partitions(self) -> Partitions:
        return self.source.partitions(self.spec.cadence)

    @cached_property
    def partitions_def(self) -> dg.TimeWindowPartitionsDefinition:
        return partitions_definition(self.partitions)

    @cached_property
    def feeds(self) -> Mapping[str, Feed]:
        return self.source.feeds_of(self.spec.cadence)

    @property
    def due_after(self) -> timedelta:
        """How long after its end, on the clock of the source's zone, a partition is due."""
        return self.spec.due_after(self.settings.due_by)

    @property
    def owners(self) -> list[str]:
        """Who owns what belongs to no single feed."""
        return [self.source.owner] if self.source.owner else []

    @cached_property
    def marts(self) -> tuple[str, ...]:
        """The tables that are published: every model that dbt makes into a table."""
        return tuple(sorted(self.models))

    @cached_property
    def models(self) -> Mapping[str, Mapping[str, Any]]:
        """What dbt's manifest says of each model that becomes a table."""
        return self.project.models_of(self.name)

    @cached_property
    def rules(self) -> tuple[Rule, ...]:
        return tuple(rules_of(self._metas))

    @cached_property
    def messages(self) -> tuple[Messages, ...]:
        """The marts whose rows are messages that are processed once."""
        return messages_of(self._metas, self.feeds)

    @cached_property
    def tables_read(self) -> Mapping[str, Mapping[str, Mapping[str, str]]]:
        """The tables that models read by hand, of whatever pipeline: by schema and name, their columns
        (name to type). A raw table that a feed of the source fills has the columns of the feed."""
        read = self.project.tables_read()
        fed = {
            name: raw_columns(feed, feed.calendar.column)
            for name, feed in self.source.feeds.items()
        }
        raw = {name: fed.get(name, columns) for name, columns in read["raw"].items()}
        return read | {"raw": raw}

    @property
    def _metas(self) -> Mapping[str, Mapping[str, Any]]:
        return {name: model["config"]["meta"] for name, model in self.models.items()}

    @cached_property
    def landing(self) -> Landing:
        return Landing(self.settings.landing_path, self.partitions.column, self.source.name)

    @cached_property
    def lake(self) -> Lake:
        return Lake(self.settings.lake_path, self.partitions.column)

    @cached_property
    def warehouse(self) -> Warehouse:
        return Warehouse(self.settings.warehouse_path, self.settings.lock_timeout)

    @property
    def warehouse_for_a_tick(self) -> Warehouse:
        """The same for a sensor, which does not wait for long: its next tick looks again."""
        return replace(self.warehouse, lock_timeout=_TICK_LOCK_TIMEOUT)

    @cached_property
    def code_version(self) -> str:
        return code_version(
            self.feeds, self.source.timezone, self.settings.dbt_project_path, self.name
        )

    @cached_property
    def reporting(self) -> Reporting:
        return Reporting(
            pipeline=self.name,
            folder=self.spec.reporting,
            marts=self.marts,
            column=self.partitions.column,
            version=reporting_version(self.settings.dbt_project_path, self.spec.reporting),
            warehouse=self.warehouse,
            project=self.project,
        )

    @property
    def verifier(self) -> Verifier:
        return Verifier(
            pipeline=self.name,
            feeds=self.feeds,
            marts=self.marts,
            messages=self.messages,
            rules=self.rules,
            zone=self.source.timezone,
            landing=self.landing,
            warehouse=self.warehouse,
            lake=self.lake,
        )

    def candidate(self, run_id: str) -> Candidate:
        folder = self.settings.runs_path / run_id
        return Candidate(folder, self.partitions.column, self.code_version)

    def run(self, dagster_run: dg.DagsterRun, *, started_at: float | None) -> Run:
        """The run as the ledger knows it. `started_at` is in seconds since the epoch."""
        tags = dagster_run.tags
        begun = datetime.fromtimestamp(started_at, UTC) if started_at else datetime.now(UTC)
        return Run(
            run_id=dagster_run.run_id,
            pipeline=self.name,
            started_at=begun,
            code_version=self.code_version,
            backfill_id=tags.get(BACKFILL) or tags.get(DAGSTER_BACKFILL),
            launched_by=_launched_by(tags),
        )


def _launched_by(tags: Mapping[str, str]) -> str:
    for tag, word in (
        ("dagster/schedule_name", "schedule"),
        ("dagster/sensor_name", "sensor"),
        (BACKFILL, "backfill"),
        (DAGSTER_BACKFILL, "backfill"),
    ):
        if tag in tags:
            return f"{word} {tags[tag]}"
    return "by hand"
