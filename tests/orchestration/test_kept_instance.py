"""The Dagster instance of a command: the one of DAGSTER_HOME, none, or one that is forgotten."""

from __future__ import annotations

from pathlib import Path

import pytest

from customer_pipeline.cli.instance import kept_instance, working_instance
from customer_pipeline.errors import ConfigError
from tests.support.dagster_processes import Home


def test_without_a_home_nothing_is_kept(monkeypatch: pytest.MonkeyPatch) -> None:
    for value in (None, ""):
        monkeypatch.delenv("DAGSTER_HOME", raising=False)
        if value is not None:
            monkeypatch.setenv("DAGSTER_HOME", value)
        with kept_instance() as kept, working_instance() as working:
            assert kept is None
            assert working.is_ephemeral


def test_with_a_home_its_instance_is_used_for_both(
    home: Home, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("DAGSTER_HOME", str(home.folder))
    with kept_instance() as kept:
        assert kept is not None
        assert kept.root_directory == str(home.folder)
    with working_instance() as working:
        assert working.root_directory == str(home.folder)


@pytest.mark.parametrize(
    ("settings", "said"),
    [
        ("nonsense: {a: 1}\n", 'unexpected config entry "nonsense"'),
        ("a: [\n", "while parsing"),
        ("event_log_storage: {module: no_such_module, class: Log}\n", "no_such_module"),
    ],
)
def test_settings_that_dagster_cannot_use_are_one_sentence(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, settings: str, said: str
) -> None:
    (tmp_path / "dagster.yaml").write_text(settings)
    monkeypatch.setenv("DAGSTER_HOME", str(tmp_path))
    with pytest.raises(ConfigError, match=said) as caught, working_instance():
        pass
    assert "dagster.yaml" in caught.value.where
    assert len(str(caught.value)) < 400


@pytest.mark.parametrize(
    ("home_folder", "said"), [("/no/such/folder", "no such folder"), (".", "not absolute")]
)
def test_a_home_that_is_none_is_named_by_whatever_opens_it(
    monkeypatch: pytest.MonkeyPatch, home_folder: str, said: str
) -> None:
    monkeypatch.setenv("DAGSTER_HOME", home_folder)
    for opened in (kept_instance, working_instance):
        with pytest.raises(ConfigError, match=f"DAGSTER_HOME={home_folder}.*{said}"), opened():
            pass
