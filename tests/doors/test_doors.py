"""Each way to start the pipeline, for real: a process, a daemon or a tick, in a Dagster home of its
own. Whatever the door, the result is the same.
"""

from __future__ import annotations

import pytest

from tests.doors.conftest import DAYS
from tests.support.dagster_processes import Home
from tests.support.expected import REPORTING, Expected, assert_same
from tests.support.reference import day_of
from tests.support.shop import Shop
from tests.support.stages import run_stages
from tests.support.warehouse import content_hashes, query, rows_of

pytestmark = pytest.mark.slow

NO_HISTORY = "DAGSTER_HOME is not set: Dagster's own history of this run is not kept; the ledger is"


def test_one_day_by_asset_materialize(shop: Shop, home: Home, expected: dict[str, str]) -> None:
    home.materialize("--partition", "2026-03-03")
    assert content_hashes(shop.settings.warehouse_path) == {"2026-03-03": expected["2026-03-03"]}


def test_a_range_by_asset_materialize(shop: Shop, home: Home, expected: dict[str, str]) -> None:
    home.materialize("--partition-range", f"{DAYS[0]}...{DAYS[-1]}")
    assert content_hashes(shop.settings.warehouse_path) == expected
    statuses = query(
        shop.settings.warehouse_path, "select status, count(*) from ops.partitions group by 1"
    )
    assert sorted(statuses) == [("empty", 2), ("published", 6)]


def test_a_day_and_a_range_by_dg_launch(shop: Shop, home: Home, expected: dict[str, str]) -> None:
    home.run("dg", "launch", "--assets", "*", "--partition", DAYS[0])
    home.run("dg", "launch", "--assets", "*", "--partition-range", f"{DAYS[1]}...{DAYS[-1]}")
    assert content_hashes(shop.settings.warehouse_path) == expected


def test_a_day_by_asset_materialize_without_a_dagster_home(
    shop: Shop, home: Home, expected: dict[str, str]
) -> None:
    del home.environment["DAGSTER_HOME"]
    done = home.materialize("--partition", DAYS[0])
    assert NO_HISTORY in done.stdout
    assert content_hashes(shop.settings.warehouse_path) == {DAYS[0]: expected[DAYS[0]]}


def test_the_reporting_tables_by_dagster_job_execute_and_without_a_dagster_home(
    shop: Shop, home: Home
) -> None:
    del home.environment["DAGSTER_HOME"]
    run_stages(shop.pipeline, DAYS[:1])
    done = home.run(
        *("dagster", "job", "execute", "-m", "customer_pipeline.definitions"),
        *("-j", "reporting_refresh"),
    )
    assert NO_HISTORY in done.stdout
    *_, expected = Expected().after_each_transaction([day_of(shop, DAYS[0])])
    assert expected.reporting["reporting.customers_current"]
    assert_same(rows_of(shop.settings.warehouse_path, REPORTING), expected.reporting)


def test_backfills_from_the_ui(shop: Shop, home: Home, expected: dict[str, str]) -> None:
    """All days in one run; a bad day stands alone, and "failed and missing" is just that day."""
    bad, warehouse = DAYS[3], shop.settings.warehouse_path
    whole = shop.path("orders", bad).read_text()
    shop.path("orders", bad).write_text(whole[: len(whole) // 2])
    with home.services() as api:
        first = api.launch_backfill(api.asset_keys(), DAYS)
        assert api.wait_for_backfill(first) == "COMPLETED_FAILED"
        assert len(api.backfill(first)["runs"]) == 1
        assert content_hashes(warehouse) == {
            day: found for day, found in expected.items() if day != bad
        }
        statuses = api.partition_statuses(["marts", "fct_orders"])
        assert statuses["failed"] == [bad]
        assert sorted(statuses["materialized"]) == [day for day in DAYS if day != bad]
        ((outcome, stage, reason),) = query(
            warehouse,
            "select outcome, stage, reason from ops.attempts where partition_key = ?",
            [bad],
        )
        assert (outcome, stage) == ("failed", "extract")
        assert "cut off" in reason

        shop.path("orders", bad).write_text(whole)
        second = api.launch_backfill(api.asset_keys(), statuses["failed"])
        assert api.wait_for_backfill(second) == "COMPLETED_SUCCESS"
        assert content_hashes(warehouse) == expected
        assert "failed" not in api.partition_statuses(["marts", "fct_orders"])
    attempted = query(
        warehouse, "select backfill_id, count(*) from ops.attempts group by 1 order by 2"
    )
    assert attempted == [(second, 1), (first, len(DAYS))]
