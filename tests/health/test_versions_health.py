"""Installed versions, compared with what the distribution asks for."""

from __future__ import annotations

from importlib import invalidate_caches
from pathlib import Path

import pytest

from customer_pipeline.health.finding import Finding
from customer_pipeline.health.versions import look_at_versions


def _asking_for(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, *needed: str, python: str = ">=3.11"
) -> dict[str, Finding]:
    """What is found when a distribution of that name with these needs comes first."""
    folder = tmp_path / "customer_pipeline-9.dist-info"
    folder.mkdir()
    lines = ["Metadata-Version: 2.4", "Name: customer-pipeline", "Version: 9"]
    lines += [f"Requires-Python: {python}", *(f"Requires-Dist: {one}" for one in needed)]
    (folder / "METADATA").write_text("\n".join(lines) + "\n")
    monkeypatch.syspath_prepend(tmp_path)
    invalidate_caches()
    return {one.name: one for one in look_at_versions()}


def test_what_is_installed_here_is_what_is_asked_for() -> None:
    found = {one.name: one for one in look_at_versions()}
    assert {one.level for one in found.values()} == {"ok"}
    assert all(name in found["packages"].words for name in ("dagster 1.", "duckdb 1.", "dbt-core"))


def test_packages_outside_their_range_or_not_there_are_named(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    found = _asking_for(
        tmp_path,
        monkeypatch,
        *("duckdb<1", "dagster>=1", "no-such-package>=2", 'not-here; extra == "pandas"'),
    )
    assert found["duckdb"].level == found["no-such-package"].level == "problem"
    assert found["duckdb"].words.endswith("<1 is needed")
    assert "is not installed" in found["no-such-package"].words
    assert "not-here" not in found
    assert "duckdb" not in found["packages"].words.replace("dbt-duckdb", "")


def test_another_python_than_asked_for_is_named(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    assert _asking_for(tmp_path, monkeypatch, python=">=4")["python"].level == "problem"
