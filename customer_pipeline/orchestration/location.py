"""The code location, put together from settings: pipelines, their assets, jobs and schedules."""

from __future__ import annotations

from collections.abc import Sequence

import dagster as dg

from customer_pipeline.dbt_adapter.manifest import DbtProject
from customer_pipeline.errors import ConfigError
from customer_pipeline.orchestration.alerting.sensors import alert_sensors
from customer_pipeline.orchestration.assets import pipeline_assets
from customer_pipeline.orchestration.jobs import pipeline_job, pipeline_schedule, refresh_job
from customer_pipeline.orchestration.late_data import late_data_sensor
from customer_pipeline.orchestration.pipeline import Pipeline
from customer_pipeline.orchestration.reporting import reporting_assets
from customer_pipeline.orchestration.sensors import reporting_sensor
from customer_pipeline.orchestration.unstable import known_to_be_unstable
from customer_pipeline.pipelines import PIPELINES, PipelineSpec, option_of, pipelines_of
from customer_pipeline.settings import Settings, environment
from customer_pipeline.source.yaml.source_file import load_source


def build_pipelines(
    settings: Settings, pipelines: Sequence[PipelineSpec] = PIPELINES
) -> list[Pipeline]:
    """The pipelines that have something to do with the source that the settings name; at least one.

    Raises:
        ConfigError: a mistake in the source YAML; nothing has been run.
    """
    source = load_source(settings.source_path, environment())
    project = DbtProject(settings.dbt_project_path, settings.dbt_cache_path)
    specs = pipelines_of(source, pipelines)
    return [
        Pipeline(spec, settings, source, project, option=option_of(spec, specs)) for spec in specs
    ]


def build_pipeline(settings: Settings, name: str | None = None) -> Pipeline:
    """One of the pipelines: the one called `name`, or else the first.

    Raises:
        ConfigError: as `build_pipelines`, and where there is none of that name.
    """
    built = {pipeline.name: pipeline for pipeline in build_pipelines(settings)}
    if name is None:
        return next(iter(built.values()))
    if name not in built:
        raise ConfigError(
            f"there is no pipeline {name!r} over this source",
            where=str(settings.source_path),
            todo=f"one of {', '.join(built)}",
        )
    return built[name]


def build_defs(settings: Settings, pipelines: Sequence[PipelineSpec] = PIPELINES) -> dg.Definitions:
    """Everything Dagster needs to know; the same errors as `build_pipelines`."""
    built = build_pipelines(settings, pipelines)
    with known_to_be_unstable():
        definitions = _definitions(built)
        if any(pipeline.owners for pipeline in built):
            # Dagster makes the jobs, and gives them their owners, when somebody asks for them; once.
            definitions.resolve_all_job_defs()
    return definitions


def _definitions(built: Sequence[Pipeline]) -> dg.Definitions:
    jobs, refresh = [pipeline_job(pipeline) for pipeline in built], refresh_job(built)
    reporting = [reporting_assets(pipeline) for pipeline in built if pipeline.reporting.tables]
    return dg.Definitions(
        assets=[*(asset for pipeline in built for asset in pipeline_assets(pipeline)), *reporting],
        jobs=[*jobs, refresh],
        schedules=[
            pipeline_schedule(pipeline, job) for pipeline, job in zip(built, jobs, strict=True)
        ],
        sensors=[
            reporting_sensor(built, refresh),
            late_data_sensor(built, jobs),
            *alert_sensors(built),
        ],
        # Steps are short and share imports and files: a process each would cost seconds apiece.
        executor=dg.in_process_executor,
    )
