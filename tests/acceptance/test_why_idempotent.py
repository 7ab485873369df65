"""The document on idempotent loads shows what its script prints."""

from __future__ import annotations

import importlib
import io
import re
from contextlib import redirect_stdout
from pathlib import Path

import pytest

from customer_pipeline.stages import transform
from tests.support.compiled_models import CompiledModels
from tests.support.dagster_processes import PROJECT

DOCS = PROJECT / "docs"


@pytest.fixture(scope="module")
def printed(
    dbt_cache: Path, session_folder: Path, tmp_path_factory: pytest.TempPathFactory
) -> list[str]:
    """The tables that the script prints."""
    folder, output = tmp_path_factory.mktemp("why_idempotent"), io.StringIO()
    (folder / ".dbt").symlink_to(dbt_cache)
    models = CompiledModels.of(PROJECT / "dbt_project", session_folder / "models")
    with pytest.MonkeyPatch.context() as patch, redirect_stdout(output):
        patch.setattr(transform, "build", models.build)
        patch.syspath_prepend(DOCS)
        importlib.import_module("why_idempotent").main(folder)
    return output.getvalue().strip().split("\n\n")


def text() -> str:
    return (DOCS / "why-idempotent.md").read_text(encoding="utf-8")


@pytest.mark.slow
def test_the_document_shows_the_numbers_that_its_script_prints(printed: list[str]) -> None:
    document = text()
    assert len(printed) == 3
    for table in printed:
        assert table in document


@pytest.mark.slow
def test_its_sentences_name_no_other_numbers(printed: list[str]) -> None:
    without_tables = re.sub(r"^[|].*$", "", text(), flags=re.MULTILINE)
    sentences = re.sub(r"```.*?```|`[^`]*`|\d{4}-\d\d-\d\d", "", without_tables, flags=re.DOTALL)
    named = set(re.findall(r"\d+", sentences))
    assert named
    assert named <= set(re.findall(r"\d+", " ".join(printed)))


def test_the_document_links_to_files_that_exist() -> None:
    links = re.findall(r"\]\(([^)]+)\)", text())
    assert links
    assert [link for link in links if not (DOCS / link).exists()] == []
