"""The data folder: whether it can be used, whose it is, and what was left behind in it."""

from __future__ import annotations

import os
import shutil
from collections import namedtuple
from datetime import UTC, datetime, timedelta
from pathlib import Path

import pytest

from customer_pipeline.health.data_folder import look_at_data_folder
from customer_pipeline.health.finding import Finding
from customer_pipeline.settings import Settings

Usage = namedtuple("Usage", ("total", "used", "free"))


def _look(folder: Path, source: str | None = "shop") -> dict[str, Finding]:
    found = look_at_data_folder(Settings(data_dir=folder), source, datetime.now(UTC))
    return {one.name: one for one in found}


def test_a_folder_that_is_still_to_be_made_is_fine(tmp_path: Path) -> None:
    found = _look(tmp_path / "a" / "b")
    assert {one.level for one in found.values()} == {"ok"}
    assert "made by the first run" in found["folder"].words
    assert not (tmp_path / "a").exists()


def test_a_file_where_the_folder_should_be_is_a_problem(tmp_path: Path) -> None:
    (tmp_path / "file").touch()
    found = _look(tmp_path / "file" / "data")["folder"]
    assert (found.level, found.words) == ("problem", f"{tmp_path / 'file'} is no folder")


@pytest.mark.skipif(os.geteuid() == 0, reason="root may write everywhere")
def test_a_folder_that_is_read_only_is_a_problem(tmp_path: Path) -> None:
    tmp_path.chmod(0o500)
    assert _look(tmp_path / "data")["folder"].level == "problem"


def test_the_folder_of_another_source_is_a_problem(tmp_path: Path) -> None:
    (tmp_path / "landing").mkdir()
    (tmp_path / "landing" / "SOURCE").write_text("shop")
    assert _look(tmp_path)["owner"].level == "ok"
    assert _look(tmp_path, "other")["owner"].level == "problem"
    assert "owner" not in _look(tmp_path, None)


@pytest.mark.parametrize(
    ("free", "level"), [(100_000_000, "problem"), (400_000_000, "warning"), (600_000_000, "ok")]
)
def test_a_disk_that_fills_up_is_seen_before_it_is_full(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, free: int, level: str
) -> None:
    with (tmp_path / "warehouse.duckdb").open("wb") as file:
        file.truncate(500_000_000)
    monkeypatch.setattr(shutil, "disk_usage", lambda _: Usage(1, 1, free))
    assert _look(tmp_path)["room"].level == level


@pytest.mark.parametrize(
    ("full", "free", "level"),
    [
        ("warehouse", 400_000_000, "warning"),
        ("warehouse", 100_000_000, "problem"),
        ("data", 400_000_000, "ok"),
        ("data", 100_000_000, "problem"),
    ],
)
def test_the_warehouse_needs_room_where_it_is(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, full: str, free: int, level: str
) -> None:
    for name in ("data", "warehouse"):
        (tmp_path / name).mkdir()
    with (tmp_path / "warehouse" / "file.duckdb").open("wb") as file:
        file.truncate(500_000_000)
    usages = {name: Usage(1, 1, free if name == full else 10**12) for name in ("data", "warehouse")}
    monkeypatch.setattr(shutil, "disk_usage", lambda folder: usages[folder.name])
    settings = Settings(
        data_dir=tmp_path / "data", warehouse=tmp_path / "warehouse" / "file.duckdb"
    )
    found = {one.name: one for one in look_at_data_folder(settings, None, datetime.now(UTC))}
    assert found["room"].level == level
    if level == "problem":
        assert (str(tmp_path / "warehouse") in found["room"].words) == (full == "warehouse")


def test_a_folder_that_a_run_removes_at_this_moment_is_no_leftover(tmp_path: Path) -> None:
    runs = tmp_path / "runs"
    runs.mkdir()
    # What a run has removed after it was seen is like what never leads anywhere.
    (runs / "just removed").symlink_to(tmp_path / "gone")
    found = _look(tmp_path)["leftovers"]
    assert (found.level, found.words) == ("ok", "no run has left anything behind")


def test_what_dead_runs_have_left_is_counted(tmp_path: Path) -> None:
    for name, age in (("dead", timedelta(hours=2)), ("alive", timedelta(minutes=2))):
        (tmp_path / "runs" / name).mkdir(parents=True)
        with (tmp_path / "runs" / name / "candidate.duckdb").open("wb") as file:
            file.truncate(1_200_000_000)
        then = (datetime.now(UTC) - age).timestamp()
        os.utime(tmp_path / "runs" / name, (then, then))
    found = _look(tmp_path)["leftovers"]
    assert found.level == "warning"
    assert "1 folder of a run that failed or was killed, 1.2 GB" in found.words
    assert str(tmp_path / "runs") in found.todo
