"""Each way to start the pipeline, for real: a process, a daemon or a tick, in a Dagster home of its
own. Whatever the door, the result is the same.
"""

from __future__ import annotations

from collections.abc import Iterator

import pytest

from tests.doors.conftest import DAYS
from tests.support.dagster_processes import Api, Home
from tests.support.shop import Shop
from tests.support.warehouse import content_hashes, query

pytestmark = pytest.mark.slow


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


def test_the_job_by_dagster_job_execute_and_without_a_dagster_home(
    shop: Shop, home: Home, expected: dict[str, str]
) -> None:
    del home.environment["DAGSTER_HOME"]
    done = home.materialize("--partition", DAYS[0])
    assert "history" in done.stdout
    assert content_hashes(shop.settings.warehouse_path) == {DAYS[0]: expected[DAYS[0]]}


class TestWithTheDaemon:
    @pytest.fixture
    def api(self, home: Home) -> Iterator[Api]:
        with home.services() as api:
            yield api

    def test_a_backfill_from_the_ui(self, shop: Shop, api: Api, expected: dict[str, str]) -> None:
        backfill = api.launch_backfill(api.asset_keys(), DAYS)
        assert api.wait_for_backfill(backfill) == "COMPLETED_SUCCESS"
        assert len(api.backfill(backfill)["runs"]) == 1
        assert content_hashes(shop.settings.warehouse_path) == expected
        launched = query(
            shop.settings.warehouse_path, "select distinct backfill_id from ops.attempts"
        )
        assert launched == [(backfill,)]

    def test_a_bad_day_stands_alone_and_failed_and_missing_is_just_that_day(
        self, shop: Shop, api: Api, expected: dict[str, str]
    ) -> None:
        whole = shop.path("orders", DAYS[3]).read_text()
        shop.path("orders", DAYS[3]).write_text(whole[: len(whole) // 2])
        backfill = api.launch_backfill(api.asset_keys(), DAYS)
        assert api.wait_for_backfill(backfill) == "COMPLETED_FAILED"
        assert content_hashes(shop.settings.warehouse_path) == {
            day: found for day, found in expected.items() if day != DAYS[3]
        }
        statuses = api.partition_statuses(["marts", "fct_orders"])
        assert statuses["failed"] == [DAYS[3]]
        assert sorted(statuses["materialized"]) == [day for day in DAYS if day != DAYS[3]]
        ((outcome, stage, reason),) = query(
            shop.settings.warehouse_path,
            "select outcome, stage, reason from ops.attempts where partition_key = ?",
            [DAYS[3]],
        )
        assert (outcome, stage) == ("failed", "extract")
        assert "cut off" in reason

        shop.path("orders", DAYS[3]).write_text(whole)
        again = api.launch_backfill(api.asset_keys(), statuses["failed"])
        assert api.wait_for_backfill(again) == "COMPLETED_SUCCESS"
        assert content_hashes(shop.settings.warehouse_path) == expected
        assert "failed" not in api.partition_statuses(["marts", "fct_orders"])
        attempted = query(
            shop.settings.warehouse_path,
            "select distinct partition_key from ops.attempts where backfill_id = ?",
            [again],
        )
        assert attempted == [(DAYS[3],)]
