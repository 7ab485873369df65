"""The looks that `customer-pipeline doctor` takes, in their order.

What does not belong here: the looks themselves (`health/`, `orchestration/*_health.py`).
"""

from __future__ import annotations

import os
import tempfile
from collections.abc import Callable, Iterator
from dataclasses import replace
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import TYPE_CHECKING

from customer_pipeline.cli.instance import dagster_home, kept_instance
from customer_pipeline.environment import environment
from customer_pipeline.errors import PipelineError
from customer_pipeline.health.environment import look_at_environment
from customer_pipeline.health.finding import Area, Finding
from customer_pipeline.health.overdue import look_for_overdue
from customer_pipeline.pipelines import option_of, pipelines_of
from customer_pipeline.settings import Settings, load_settings
from customer_pipeline.source.partitions import Window
from customer_pipeline.source.yaml.source_file import load_source
from customer_pipeline.warehouse.connection import Warehouse

if TYPE_CHECKING:
    from customer_pipeline.orchestration.pipeline import Pipeline

# Seconds. Whoever asks how things are wants an answer now.
_LOCK_TIMEOUT = 3


def quick_look(now: datetime, grace: timedelta | None) -> Iterator[Finding]:
    """What must not stay unnoticed over night. Imports no more than that takes.

    Args:
        grace: how long after its end a partition is due; None for what the settings say.
    """
    yield from Area("partitions").looked("overdue", lambda: _overdue(now, grace))
    yield from Area("dagster").looked("DAGSTER_HOME", lambda: _daemon_and_runs(now))
    yield from Area("alerts").looked("channels", lambda: _alerts(now))


def whole_look(now: datetime, grace: timedelta | None) -> Iterator[Finding]:
    """All that there is to look at; `grace` as for `quick_look`."""
    from customer_pipeline.health.versions import look_at_versions

    yield from look_at_environment(os.environ)
    try:
        settings = _settings()
    except PipelineError as error:
        yield Area("settings").mistake("values", error)
    else:
        yield from _pipeline_and_files(settings, now, grace)
        yield from Area("dagster").looked("DAGSTER_HOME", lambda: _dagster(settings, now))
        yield from Area("alerts").looked("channels", lambda: _alerts(now))
    yield from look_at_versions()


def _settings() -> Settings:
    settings = load_settings()
    return settings.model_copy(update={"lock_timeout": min(settings.lock_timeout, _LOCK_TIMEOUT)})


def _overdue(now: datetime, grace: timedelta | None) -> Iterator[Finding]:
    settings = _settings()
    source = load_source(settings.source_path, environment())
    specs = pipelines_of(source)
    for spec in specs:
        yield from look_for_overdue(
            _warehouse(settings),
            spec.name,
            source.partitions(spec.cadence),
            now,
            _due_at(grace, spec.due_after(settings.due_by)),
            option=option_of(spec, specs),
        )


def _due_at(grace: timedelta | None, usual: timedelta) -> Callable[[Window], datetime]:
    """When a partition is due: after hours that pass (`grace`), or else at its usual time of day."""
    if grace is None:
        return lambda window: window.end + usual
    return lambda window: (window.end.astimezone(UTC) + grace).astimezone(window.end.tzinfo)


def _alerts(now: datetime) -> Iterator[Finding]:
    from customer_pipeline.health.alerts import look_at_alerts

    yield from look_at_alerts(_settings(), now)


def _warehouse(settings: Settings) -> Warehouse:
    return Warehouse(settings.warehouse_path, settings.lock_timeout)


def _daemon_and_runs(now: datetime) -> Iterator[Finding]:
    if dagster_home() is None:
        yield Area("dagster").warning(
            "daemon",
            "not checked: DAGSTER_HOME is not set",
            "set DAGSTER_HOME if a daemon is to run the pipelines",
        )
        return
    from customer_pipeline.orchestration.instance_health import look_at_daemon, look_for_stuck_runs

    with kept_instance() as instance:
        if instance is not None:
            yield from look_at_daemon(instance, now)
            yield from look_for_stuck_runs(instance, now)


def _pipeline_and_files(
    settings: Settings, now: datetime, grace: timedelta | None
) -> Iterator[Finding]:
    from customer_pipeline.health.data_folder import look_at_data_folder
    from customer_pipeline.health.models import usable
    from customer_pipeline.health.source import look_at_source
    from customer_pipeline.health.warehouse import look_at_warehouse
    from customer_pipeline.orchestration.location import build_pipelines

    pipelines: list[Pipeline] = []
    try:
        pipelines = build_pipelines(settings)
    except PipelineError as error:
        yield Area("source").mistake("declaration", error, todo="fix the source's YAML")
    else:
        yield from look_at_source(pipelines[0].source, now)
    owner = pipelines[0].source.name if pipelines else None
    yield from look_at_data_folder(settings, owner, now)
    warehouse = _warehouse(settings)
    yield from Area("warehouse").looked("file", lambda: look_at_warehouse(warehouse))
    with tempfile.TemporaryDirectory() as scratch:
        found = [
            finding
            for pipeline in pipelines
            for finding in _published(
                replace(pipeline, project=usable(pipeline.project, Path(scratch))), now, grace
            )
        ]
    # All of an area side by side, whichever pipeline it is about.
    areas = list(dict.fromkeys(finding.area for finding in found))
    yield from sorted(found, key=lambda finding: areas.index(finding.area))


def _published(pipeline: Pipeline, now: datetime, grace: timedelta | None) -> Iterator[Finding]:
    """What is published, what follows it, and the models that make it."""
    from customer_pipeline.health.followers import look_at_followers
    from customer_pipeline.health.models import look_at_models

    partitions, warehouse = pipeline.partitions, pipeline.warehouse
    due_at = _due_at(grace, pipeline.due_after)
    yield from Area("partitions").looked(
        pipeline.name,
        lambda: look_for_overdue(
            warehouse, pipeline.name, partitions, now, due_at, option=pipeline.option
        ),
    )
    models = [
        *Area("dbt").looked(
            _called(pipeline, "models"),
            lambda: look_at_models(
                pipeline.project, pipeline.name, called=_called(pipeline, "models")
            ),
        )
    ]
    yield from models
    if all(finding.level == "ok" for finding in models):
        yield from Area("warehouse").looked(
            _called(pipeline, "followers"),
            lambda: look_at_followers(
                warehouse,
                pipeline.reporting,
                pipeline.lake,
                pipeline.marts,
                now,
                called=_called(pipeline, "tables"),
            ),
        )


def _called(pipeline: Pipeline, name: str) -> str:
    """What a finding is called of which every pipeline has one: by the pipeline, but for the first."""
    return pipeline.name if pipeline.option else name


def _dagster(settings: Settings, now: datetime) -> Iterator[Finding]:
    area = Area("dagster")
    if dagster_home() is None:
        yield area.warning(
            "DAGSTER_HOME",
            "is not set: the commands keep no history and see no daemon or schedule",
            "`export DAGSTER_HOME=$PWD/.dagster_home`, which `make install` sets up",
        )
        return
    from customer_pipeline.orchestration.automation_health import look_at_automation
    from customer_pipeline.orchestration.instance_health import (
        look_at_daemon,
        look_at_settings,
        look_for_stuck_runs,
    )
    from customer_pipeline.orchestration.location import build_defs

    with kept_instance() as instance:
        if instance is not None:
            yield area.ok("DAGSTER_HOME", f"is {dagster_home()}")
            yield from look_at_settings(instance)
            yield from look_at_daemon(instance, now)
            yield from look_for_stuck_runs(instance, now)
            yield from look_at_automation(instance, build_defs(settings), now)
