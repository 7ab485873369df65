"""Pipelines over months, weeks and hours: a feed of rides, and the little dbt models that read it.

Each pipeline has a feed, two marts and (but for the weekly one) a reporting table of its own, all
named after its kind of partitions, so that any of them may live beside each other and beside the
shop's daily ones. The monthly pipeline is the location's own, with other models; the others are made
here.

What belongs here: making them. What does not: days (`shop.py`).
"""

from __future__ import annotations

import shutil
from collections.abc import Sequence
from datetime import date
from pathlib import Path
from zoneinfo import ZoneInfo

from filelock import FileLock

from customer_pipeline.dbt_adapter.manifest import DbtProject
from customer_pipeline.orchestration.location import build_pipelines
from customer_pipeline.orchestration.pipeline import Pipeline
from customer_pipeline.pipelines import DAILY, MONTHLY, PipelineSpec
from customer_pipeline.settings import Settings
from customer_pipeline.source.calendars import CALENDARS, Cadence
from customer_pipeline.source.places import filled
from tests.support.projects import PROJECT
from tests.support.shop import SOURCE, Shop

WEEKLY = PipelineSpec("weekly_rides", "weekly", job="weekly_rides_pipeline", cron="0 4 * * 1")
HOURLY = PipelineSpec("hourly_rides", "hourly", job="hourly_rides_pipeline", cron="10 * * * *")
SPECS = (DAILY, MONTHLY, WEEKLY, HOURLY)
START = date(2025, 10, 1)
ZONE = "Europe/London"

_HEAD = f"name: rides\nstart: {START}\ntimezone: {ZONE}\nfeeds:\n"
_FEED = """\
  {feed}:
    partitions: {cadence}
    reader: csv
    path: deliveries/{feed}/{path}.csv
    key: [ride_id]
    window_column: began_at
    columns:
      ride_id: {{}}
      began_at: {{type: timestamp}}
      distance: {{type: "decimal(9,2)", required: true}}
      fare: {{type: "decimal(9,2)", required: true}}
"""
_MODELS = {
    "{name}/staging/stg_{cadence}_rides.sql": """\
select {column}, _line, ride_id, began_at, distance, fare
from {{{{ source('raw', '{feed}') }}}}
""",
    "{name}/{cadence}_rides_kept.sql": """\
select {column}, _line, ride_id, began_at, fare
from {{{{ ref('stg_{cadence}_rides') }}}}
where distance > 0
""",
    "{name}/{cadence}_rides_total.sql": """\
select {column}, count(*) as rides, cast(sum(fare) as decimal(18, 2)) as fares
from {{{{ ref('{cadence}_rides_kept') }}}}
group by {column}
""",
    "{name}/{cadence}_rides.yml": """\
sources:
  - name: raw
    database: candidate
    schema: raw
    tables:
      - name: {feed}
        columns:
          - {{name: {column}, data_type: {type}}}
          - {{name: _line, data_type: bigint}}
          - {{name: ride_id, data_type: varchar}}
          - {{name: began_at, data_type: timestamp with time zone}}
          - {{name: distance, data_type: "decimal(9, 2)"}}
          - {{name: fare, data_type: "decimal(9, 2)"}}

models:
  - name: {cadence}_rides_kept
    description: One row per ride that went anywhere.
    config: {{contract: {{enforced: true}}}}
    data_tests:
      - row_satisfies:
          name: a_fare_of_{cadence}_rides_is_not_negative
          arguments: {{expression: fare >= 0}}
    columns:
      - {{name: {column}, data_type: {type}}}
      # Unique in a partition, and the same in each.
      - {{name: _line, data_type: bigint, data_tests: [unique]}}
      - {{name: ride_id, data_type: varchar}}
      - {{name: began_at, data_type: timestamp with time zone}}
      - {{name: fare, data_type: "decimal(9, 2)"}}
  - name: {cadence}_rides_total
    description: One row per partition.
    config:
      contract: {{enforced: true}}
      meta:
        reconcile:
          fares_match_kept:
            expected: {{from: main.{cadence}_rides_kept, value: sum(fare)}}
            actual: {{from: main.{cadence}_rides_total, value: sum(fares)}}
    columns:
      - {{name: {column}, data_type: {type}}}
      - {{name: rides, data_type: bigint}}
      - {{name: fares, data_type: "decimal(18, 2)"}}
""",
}
_REPORTING = {
    "{name}_reporting/{cadence}_rides_ever.sql": """\
select count(*) as partitions, cast(sum(rides) as bigint) as rides
from {{{{ source('marts', '{cadence}_rides_total') }}}}
""",
    "{name}_reporting/{cadence}_rides_ever.yml": """\
sources:
  - name: marts
    database: warehouse
    schema: marts
    tables:
      - name: {cadence}_rides_total

models:
  - name: {cadence}_rides_ever
    description: One row, over all that is published.
    columns:
      - {{name: partitions, data_type: bigint}}
      - {{name: rides, data_type: bigint}}
""",
}


def feed_of(spec: PipelineSpec) -> str:
    return f"{spec.cadence}_rides"


class RideSettings(Settings):
    """Settings whose dbt project is another; a process takes it from CUSTOMER_PIPELINE_MODELS."""

    models: Path

    @property
    def dbt_project_path(self) -> Path:
        return self.models


class RideShop(Shop):
    """A source with the feed of each of `specs`, and a pipeline over each.

    With `DAILY` among them, the source has all feeds of the shop too, delivered from 2025-10-01 on.

    Args:
        models: what `ride_models` has made.
    """

    def __init__(
        self, root: Path, *, models: DbtProject, specs: Sequence[PipelineSpec] = (MONTHLY,)
    ) -> None:
        rides = [spec for spec in specs if spec != DAILY]
        days = SOURCE.partition("feeds:\n")[2] if DAILY in specs else ""
        source = _HEAD + days + "".join(map(_declared, rides))
        there = (root / "data" / ".dbt").exists()
        super().__init__(root, source=source, dbt_cache=None if there else models.cache)
        self.models = models.folder
        self.specs = specs
        for spec in rides:
            (root / "deliveries" / feed_of(spec)).mkdir(exist_ok=True)

    @property
    def settings(self) -> Settings:
        plain = super().settings
        return RideSettings(models=self.models, **plain.model_dump(exclude_unset=True))

    @property
    def pipelines(self) -> dict[str, Pipeline]:
        """All of them, by name."""
        built = build_pipelines(self.settings, [one for one in SPECS if one in self.specs])
        return {pipeline.name: pipeline for pipeline in built}

    @property
    def pipeline(self) -> Pipeline:
        return next(iter(self.pipelines.values()))

    def ride_path(self, key: str, spec: PipelineSpec = MONTHLY) -> Path:
        """Where the rides of the partition `key` are delivered."""
        window = CALENDARS[spec.cadence](START, None, ZoneInfo(ZONE)).window(key)
        place = f"deliveries/{feed_of(spec)}/{_in_paths(spec.cadence)}.csv"
        return self.root / filled(place, window)

    def deliver_rides(
        self,
        key: str,
        spec: PipelineSpec = MONTHLY,
        *,
        rides: int = 3,
        more: Sequence[str] = (),
        fare: str = "2.50",
    ) -> Path:
        """A plain good delivery for the partition `key`, and `more` lines at its end, such as
        `x,2026-03-01T10:00:00Z,1,2`: ride, beginning, distance and fare."""
        begins = CALENDARS[spec.cadence](START, None, ZoneInfo(ZONE)).window(key).start
        lines = [f"{key} {n},{begins.isoformat()},{n + 1}.5,{fare}" for n in range(rides)]
        path = self.ride_path(key, spec)
        path.write_text("\n".join(["ride_id,began_at,distance,fare", *lines, *more, ""]))
        return path


def ride_models(folder: Path) -> DbtProject:
    """The project of the shop's daily models and of those of all of `SPECS`, parsed, below `folder`;
    made once for all processes that share it."""
    project = DbtProject(folder / "ride_models", folder / "ride_models_cache")
    with FileLock(folder / ".ride_models.lock"):
        if not project.folder.exists():
            _write(project.folder)
        _ = project.parsed
    return project


def _write(project: Path) -> None:
    own = shutil.ignore_patterns("target", "logs", *(f"{spec.name}*" for spec in SPECS[1:]))
    shutil.copytree(PROJECT, project, ignore=own)
    for spec in SPECS[1:]:
        for name, text in (_MODELS | (_REPORTING if spec != WEEKLY else {})).items():
            path = project / "models" / name.format(name=spec.name, cadence=spec.cadence)
            path.parent.mkdir(parents=True, exist_ok=True)
            column = CALENDARS[spec.cadence].column
            path.write_text(
                text.format(
                    name=spec.name,
                    cadence=spec.cadence,
                    feed=feed_of(spec),
                    column=column.name,
                    type=column.type.lower(),
                )
            )


def _declared(spec: PipelineSpec) -> str:
    path = _in_paths(spec.cadence)
    return _FEED.format(feed=feed_of(spec), cadence=spec.cadence, path=path)


def _in_paths(cadence: Cadence) -> str:
    return CALENDARS[cadence].in_paths.partition(" or ")[0]
