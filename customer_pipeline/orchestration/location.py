"""The code location, put together from settings: pipelines, their assets, jobs and schedules."""

from __future__ import annotations

import dagster as dg

from customer_pipeline.dbt_adapter.manifest import DbtProject
from customer_pipeline.orchestration.alerting.sensors import alert_sensors
from customer_pipeline.orchestration.assets import pipeline_assets
from customer_pipeline.orchestration.jobs import daily_job, daily_schedule, refresh_job
from customer_pipeline.orchestration.late_data import late_data_sensor
from customer_pipeline.orchestration.pipeline import Pipeline
from customer_pipeline.orchestration.reporting import reporting_assets
from customer_pipeline.orchestration.sensors import reporting_sensor
from customer_pipeline.pipelines import DAILY
from customer_pipeline.settings import Settings, environment
from customer_pipeline.source.yaml.source_file import load_source


def build_pipeline(settings: Settings) -> Pipeline:
    """The daily pipeline over the source that the settings name.

    Raises:
        ConfigError: a mistake in the source YAML; nothing has been run.
    """
    return Pipeline(
        name=DAILY,
        settings=settings,
        source=load_source(settings.source_path, environment()),
        project=DbtProject(settings.dbt_project_path, settings.dbt_cache_path),
    )


def build_defs(settings: Settings) -> dg.Definitions:
    """Everything Dagster needs to know; the same errors as `build_pipeline`."""
    pipeline = build_pipeline(settings)
    job, refresh = daily_job(pipeline), refresh_job(pipeline)
    return dg.Definitions(
        assets=[*pipeline_assets(pipeline), reporting_assets(pipeline)],
        jobs=[job, refresh],
        schedules=[daily_schedule(pipeline, job)],
        sensors=[
            reporting_sensor(pipeline, refresh),
            late_data_sensor(pipeline, job),
            *alert_sensors(pipeline),
        ],
        # Steps are short and share imports and files: a process each would cost seconds apiece.
        executor=dg.in_process_executor,
    )
