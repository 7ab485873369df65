"""`customer-pipeline maintain`, as a user types it."""

from __future__ import annotations

import os
from pathlib import Path

import pytest
from typer.testing import CliRunner

from customer_pipeline.cli.main import cli
from customer_pipeline.errors import ConfigError
from customer_pipeline.warehouse import compaction
from tests.support.published import Published

DAYS = ["2026-03-01", "2026-03-02"]


@pytest.fixture
def published(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Published:
    monkeypatch.setattr(compaction, "_GRACE_SECONDS", 0)
    monkeypatch.setenv("CUSTOMER_PIPELINE_DATA_DIR", str(tmp_path))
    monkeypatch.setenv("COLUMNS", "200")
    published = Published(tmp_path)
    published.make()
    return published


def test_it_shows_each_table_and_the_warehouse_before_and_after(published: Published) -> None:
    for turn in range(5):
        published.publish(*DAYS, orders=2000, customer=f"turn {turn}")
        published.follow()
    rows = published.in_warehouse("orders")
    done = CliRunner().invoke(cli, ["maintain", "--keep-days", "0"])
    assert done.exit_code == 0, done.output
    for name in ("lake/orders", "lake/summary", "warehouse.duckdb"):
        assert name in done.output
    for word in ("what", "before", "after", "tidied", "compacted"):
        assert word in done.output
    assert len(list(published.lake.root.rglob("_date=*/*.parquet"))) == 4
    assert published.in_warehouse("orders") == published.in_lake("orders") == rows

    again = CliRunner().invoke(cli, ["maintain", "--keep-days", "0"])
    assert again.exit_code == 0, again.output
    assert again.output.count("nothing to do") == 2
    assert "nothing to gain" in again.output


def test_without_a_lake_it_looks_after_the_warehouse(published: Published) -> None:
    done = CliRunner().invoke(cli, ["maintain"])
    assert done.exit_code == 0, done.output
    assert "warehouse.duckdb" in done.output
    assert "lake/" not in done.output
    assert not published.lake.root.exists()


def test_without_a_warehouse_it_says_what_to_do(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("CUSTOMER_PIPELINE_DATA_DIR", str(tmp_path / "none"))
    done = CliRunner().invoke(cli, ["maintain"])
    assert isinstance(done.exception, ConfigError)
    assert "run a partition first" in str(done.exception)


def test_what_was_done_to_the_lake_is_shown_also_when_the_warehouse_cannot_be_compacted(
    published: Published,
) -> None:
    for turn in range(5):
        published.publish(*DAYS, orders=2000, customer=f"turn {turn}")
        published.follow()
    os.link(published.warehouse.path, published.warehouse.path.with_name("second name"))
    done = CliRunner().invoke(cli, ["maintain", "--keep-days", "0"])
    assert isinstance(done.exception, ConfigError)
    assert "has a second name" in str(done.exception)
    assert done.output.count("tidied") == 2
