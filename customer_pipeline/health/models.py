"""The dbt project: is it there, does it parse, and does every pipeline have models?"""

from __future__ import annotations

import os
from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path

from customer_pipeline.dbt_adapter.manifest import DbtProject
from customer_pipeline.errors import ConfigError
from customer_pipeline.health.finding import Area, Finding

_AREA = Area("dbt")


def usable(project: DbtProject, scratch: Path) -> DbtProject:
    """The project, keeping what it parses in `scratch` where its own cache cannot be written to.

    A look at things makes no data folder, and works where it may not write.
    """
    cache = project.cache
    writable = cache.parent.is_dir() and os.access(
        cache if cache.exists() else cache.parent, os.W_OK
    )
    return project if writable else replace(project, cache=scratch)


def look_at_models(
    project: DbtProject, pipeline: str, *, called: str = "models"
) -> Iterator[Finding]:
    """A finding, `called` so, about the project and what is in it for a pipeline. Parses it when its
    files have changed, which takes seconds.

    Raises:
        ConfigError: there is no project.
        StageError: it does not parse.
    """
    if not (project.folder / "dbt_project.yml").is_file():
        raise ConfigError(
            "there is no dbt project",
            where=str(project.folder),
            todo="install customer-pipeline again, or work in a complete clone of it",
        )
    fresh = project.is_parsed
    models, tests = project.models_of(pipeline), project.tests_of(pipeline)
    state = "is already parsed" if fresh else "has changed, and parses"
    words = f"{len(models)} tables and {len(tests)} tests of {pipeline}; the project {state}"
    if models:
        yield _AREA.ok(called, words)
    else:
        yield _AREA.problem(called, words, f"put models into models/{pipeline}")
