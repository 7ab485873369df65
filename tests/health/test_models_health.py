"""The dbt project: there, parsing, with models. (dbt itself, on copies of the project.)"""

from __future__ import annotations

from pathlib import Path

import pytest

from customer_pipeline.dbt_adapter.manifest import DbtProject
from customer_pipeline.errors import ConfigError, StageError
from customer_pipeline.health.models import look_at_models, usable
from tests.conftest import PROJECT
from tests.support.projects import changed_project


def test_a_parsed_project_is_fine_and_stays_so(dbt_cache: Path) -> None:
    (found,) = look_at_models(DbtProject(PROJECT / "dbt_project", dbt_cache), "daily_customers")
    assert found.level == "ok"
    assert found.words.startswith("5 tables and ")
    assert found.words.endswith("is already parsed")


def test_a_pipeline_without_models_is_a_problem(dbt_cache: Path) -> None:
    (found,) = look_at_models(DbtProject(PROJECT / "dbt_project", dbt_cache), "nobody")
    assert (found.level, found.todo) == ("problem", "put models into models/nobody")


def test_a_model_that_does_not_parse_is_told_in_dbts_words(tmp_path: Path) -> None:
    broken = changed_project(
        tmp_path, {}, {"models/daily_customers/broken.sql": "select * from {{ ref('nowhere') }}"}
    )
    with pytest.raises(StageError, match="nowhere"):
        list(look_at_models(broken, "daily_customers"))


def test_no_project_at_all_is_told(tmp_path: Path) -> None:
    with pytest.raises(ConfigError, match="there is no dbt project"):
        list(look_at_models(DbtProject(tmp_path, tmp_path / "cache"), "daily_customers"))


def test_a_look_makes_no_data_folder(tmp_path: Path) -> None:
    project = DbtProject(PROJECT / "dbt_project", tmp_path / "data" / ".dbt")
    assert usable(project, tmp_path).cache == tmp_path
    (tmp_path / "data").mkdir()
    assert usable(project, tmp_path) == project
