"""Parts of the pipeline alone, as somebody selects them in the UI (case L4)."""

from __future__ import annotations

import shutil
import subprocess
import sys
from pathlib import Path

import duckdb
import pytest

from tests.support.dagster_processes import Home
from tests.support.runs import run_days
from tests.support.shop import HEADERS, Shop
from tests.support.warehouse import contents, query

DAYS = ["2026-03-03", "2026-03-04"]
BUILT = ["candidate", "validation", "marts"]


@pytest.fixture
def shop(tmp_path: Path, dbt_cache: Path) -> Shop:
    shop = Shop(tmp_path / "shop", dbt_cache=dbt_cache)
    for n, day in enumerate(DAYS):
        shop.deliver_day(day, orders=n + 2)
    return shop


def test_stage_by_stage_in_runs_of_their_own_is_the_same_as_all_at_once(
    shop: Shop, home: Home, without_dbt: None
) -> None:
    warehouse = shop.settings.warehouse_path
    assert run_days(shop, home, *DAYS, only=["landing"]).succeeded
    assert not warehouse.exists()
    assert run_days(shop, home, *DAYS, only=["raw"]).succeeded
    assert query(warehouse, "select count(*) from raw.orders") == [(2 * (2 + 3),)]
    assert query(warehouse, "select count(*) from ops.partitions") == [(0,)]
    assert run_days(shop, home, *DAYS, only=BUILT).succeeded
    by_stages = contents(warehouse)

    warehouse.unlink()
    shutil.rmtree(shop.settings.landing_path)
    assert run_days(shop, home, *DAYS).succeeded
    assert contents(warehouse) == by_stages


@pytest.mark.parametrize("only", ["marts", "validation"])
def test_what_needs_a_candidate_says_what_to_select_with_it(
    shop: Shop, home: Home, without_dbt: None, only: str
) -> None:
    assert run_days(shop, home, *DAYS).succeeded
    before = contents(shop.settings.warehouse_path)
    ran = run_days(shop, home, *DAYS, only=[only])
    assert not ran.succeeded
    assert "select candidate/*, validation/* and marts/* together" in ran.error
    assert ran.steps("STEP_UP_FOR_RETRY") == []
    assert contents(shop.settings.warehouse_path) == before


def test_marts_alone_are_not_published_from_the_candidate_of_another_run(
    shop: Shop, home: Home, without_dbt: None
) -> None:
    assert run_days(shop, home, *DAYS, only=["landing", "raw", "candidate"]).succeeded
    assert not run_days(shop, home, *DAYS, only=["marts"]).succeeded
    assert query(shop.settings.warehouse_path, "select count(*) from ops.partitions") == [(0,)]


@pytest.mark.parametrize(
    ("only", "said"),
    [
        ("raw", [f"materialize landing/{feed} first" for feed in sorted(HEADERS)]),
        ("candidate", ["there is no warehouse yet (run the load first)"]),
    ],
)
def test_a_stage_without_the_one_before_says_what_to_run_first(
    shop: Shop, home: Home, without_dbt: None, only: str, said: list[str]
) -> None:
    ran = run_days(shop, home, *DAYS, only=[only])
    for error, todo in zip(sorted(ran.errors.values()), said, strict=True):
        assert todo in error


def test_after_dbt_candidate_and_warehouse_open_at_once_here_and_in_another_process(
    shop: Shop, home: Home
) -> None:
    ran = run_days(shop, home, *DAYS, only=["landing", "raw", "candidate"])
    candidate = shop.pipeline.candidate(ran.run_id).path
    warehouse = shop.settings.warehouse_path
    with duckdb.connect(str(candidate)) as built, duckdb.connect(str(warehouse)) as published:
        assert built.execute("select count(*) from main.fct_orders").fetchone() == (5,)
        assert published.execute("select count(*) from raw.orders").fetchone() == (10,)
    code = f"""
import duckdb
built, published = duckdb.connect({str(candidate)!r}), duckdb.connect({str(warehouse)!r})
print(built.sql("from main.fct_orders").shape[0], published.sql("from raw.orders").shape[0])
"""
    other = subprocess.run(
        [sys.executable, "-c", code], capture_output=True, text=True, timeout=60, check=False
    )
    assert other.stdout.split() == ["5", "10"], other.stderr
