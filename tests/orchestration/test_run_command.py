"""`customer-pipeline run`, as a user types it: what it says after the table."""

from __future__ import annotations

from pathlib import Path

import pytest
from typer.testing import CliRunner

from customer_pipeline.cli.main import cli
from tests.support.shop import Shop

DAY = "2026-03-03"


def typed(*arguments: str) -> str:
    done = CliRunner().invoke(cli, ["run", *arguments])
    assert done.exit_code == 0, done.output
    return done.output


def test_a_newcomer_who_runs_the_demo_is_told_what_to_do_next(
    tmp_path: Path, without_dbt: None, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    monkeypatch.delenv("DAGSTER_HOME", raising=False)
    monkeypatch.delenv("CUSTOMER_PIPELINE_SOURCE", raising=False)
    monkeypatch.setenv("CUSTOMER_PIPELINE_DATA_DIR", str(tmp_path / "data"))
    assert "Next: run it again" in typed("--last", "1")
    assert "Next:" not in typed("--from", "2026-03-09")


def test_a_run_of_ones_own_source_ends_with_its_table(terminal: Shop) -> None:
    terminal.deliver_day(DAY)
    shown = typed("--from", DAY)
    assert "published" in shown
    assert "Next:" not in shown
