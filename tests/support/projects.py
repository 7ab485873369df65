"""Copies of the dbt project with mistakes in them, for real dbt."""

from __future__ import annotations

import shutil
from collections.abc import Mapping
from dataclasses import replace
from pathlib import Path

from customer_pipeline.dbt_adapter.manifest import DbtProject
from customer_pipeline.orchestration.pipeline import Pipeline

PROJECT = Path(__file__).resolve().parents[2] / "dbt_project"


def changed_project(
    folder: Path, changes: Mapping[str, tuple[str, str]], files: Mapping[str, str]
) -> DbtProject:
    """A copy below `folder`: in the file by which each change goes, one text by another; and new
    files."""
    copy = folder / "dbt_project"
    shutil.copytree(PROJECT, copy, ignore=shutil.ignore_patterns("target", "logs"))
    for name, (old, new) in changes.items():
        text = (copy / name).read_text()
        assert old in text, f"{name} has no {old!r}"
        (copy / name).write_text(text.replace(old, new))
    for name, text in files.items():
        (copy / name).parent.mkdir(parents=True, exist_ok=True)
        (copy / name).write_text(text)
    return DbtProject(copy, folder / "dbt_cache")


def with_project(pipeline: Pipeline, project: DbtProject) -> Pipeline:
    return replace(pipeline, project=project)
