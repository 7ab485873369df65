"""Variables that are no settings are named, with what was probably meant."""

from __future__ import annotations

from pathlib import Path

import pytest

from customer_pipeline.health.environment import look_at_environment
from customer_pipeline.health.finding import Finding


@pytest.fixture(autouse=True)
def _in_an_empty_folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)


def _look(**environ: str) -> list[Finding]:
    return list(look_at_environment(environ))


def test_settings_and_foreign_variables_are_fine() -> None:
    (found,) = _look(CUSTOMER_PIPELINE_SOURCE="shop.yaml", HOME="/", customer_pipeline_data_dir="d")
    assert (found.level, found.words) == (
        "ok",
        "2 from the environment, there is no .env in this folder",
    )


def test_a_misspelt_setting_is_named_with_what_was_meant() -> None:
    wrong, _ = _look(CUSTOMER_PIPELINE_SORCE="shop.yaml")
    assert wrong.level == "problem"
    assert "CUSTOMER_PIPELINE_SORCE in the environment" in wrong.words
    assert wrong.todo == "write CUSTOMER_PIPELINE_SOURCE"


def test_a_variable_like_no_setting_is_a_warning_that_names_the_settings() -> None:
    wrong, _ = _look(CUSTOMER_PIPELINE_COLOUR="red")
    assert wrong.level == "warning"
    assert "LOCK_TIMEOUT" in wrong.todo


def test_the_file_is_looked_at_too(tmp_path: Path) -> None:
    (tmp_path / ".env").write_text(
        "CUSTOMER_PIPELINE_LOCKTIMEOUT=5\nCUSTOMER_PIPELINE_MAX_RETRIES=1\nOTHER=2\n"
    )
    wrong, summary = _look(CUSTOMER_PIPELINE_SOURCE="shop.yaml")
    assert "CUSTOMER_PIPELINE_LOCKTIMEOUT in .env" in wrong.words
    assert wrong.todo == "write CUSTOMER_PIPELINE_LOCK_TIMEOUT"
    assert summary.words == "1 from the environment, 1 from .env"
