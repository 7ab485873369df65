"""A partition changes as a whole or not at all, whatever fails and whenever (contract 2 and 3; cases
W2, W12). What a killed process leaves is in `test_killed_runs.py`.
"""

from __future__ import annotations

from pathlib import Path

import dagster as dg
import duckdb
import pytest

from customer_pipeline.orchestration.assets import pipeline_assets
from customer_pipeline.outcomes import Casualty
from tests.support.faults import InjectedError, Watch, fail_before, fail_inside_insert, watched
from tests.support.reference import MARTS, day_of
from tests.support.shop import Shop
from tests.support.stages import (
    extract_and_load,
    new_run,
    publish_candidate,
    record,
    run_stages,
    transform_keys,
)
from tests.support.warehouse import contents, query

DAYS = ["2026-03-01", "2026-03-02", "2026-03-03"]
# Orders of the second day. Many are more than DuckDB hands on at a time: some are through when an
# insert fails.
FEW, MANY = 4, 2300

# Where, how many orders, and what fails: in the raw tables, in the marts, and in the ledger.
FAULTS = [
    ("between delete and insert in raw", FEW, fail_before('insert into raw."orders"')),
    (
        "between delete and insert in the last mart",
        FEW,
        fail_before('insert into marts."sales_summary"'),
    ),
    ("before the ledger is written", FEW, fail_before("insert into ops.partitions")),
]
MORE_FAULTS = [
    (
        "in the last tenth of the insert into raw",
        MANY,
        fail_inside_insert('raw."orders"', after_rows=4200),
    ),
    ("before quarantine is replaced", FEW, fail_before("delete from ops.quarantine")),
    ("before the load is recorded", FEW, fail_before("insert into ops.deliveries")),
    (
        "between delete and insert in the first mart",
        FEW,
        fail_before('insert into marts."daily_summary"'),
    ),
    (
        "in the last tenth of the insert into a mart",
        MANY,
        fail_inside_insert('marts."fct_orders"', after_rows=2100),
    ),
    ("before the attempts are written", FEW, fail_before("insert into ops.attempts")),
]


@pytest.fixture
def published(request: pytest.FixtureRequest, tmp_path: Path, dbt_cache: Path) -> Shop:
    """Two days that were published and then corrected, and a third that was never run; with as many
    orders on the second day as the parameter says, if there is one."""
    orders = getattr(request, "param", FEW)
    shop = Shop(tmp_path / "shop", dbt_cache=dbt_cache)
    shop.deliver_day(DAYS[0])
    shop.deliver_day(DAYS[1], orders=orders)
    run_stages(shop.pipeline, DAYS[:2])
    shop.deliver_day(DAYS[0], price="3.10")
    shop.deliver_day(DAYS[1], orders=orders - 1, price="3.10")
    shop.deliver_day(DAYS[2])
    return shop


@pytest.mark.parametrize(
    ("published", "fault"),
    [
        *(pytest.param(orders, fault, id=where) for where, orders, fault in FAULTS),
        *(
            pytest.param(orders, fault, id=where, marks=pytest.mark.slow)
            for where, orders, fault in MORE_FAULTS
        ),
    ],
    indirect=["published"],
)
def test_a_fault_leaves_every_published_row_and_the_ledger_as_they_were(
    published: Shop, fault: Watch
) -> None:
    pipeline, path = published.pipeline, published.settings.warehouse_path
    before = contents(path)
    with watched(fault), pytest.raises((InjectedError, duckdb.Error)):
        run_stages(pipeline, DAYS)
    after = contents(path)
    for table in ("ops.partitions", *(f"marts.{mart}" for mart in MARTS)):
        assert after[table] == before[table]
    for feed in ("customers", "orders"):
        # One feed may be loaded and the other not; of each, all days or none.
        rows = {row[0].isoformat() for row in after[f"raw.{feed}"]}
        assert after[f"raw.{feed}"] == before[f"raw.{feed}"] or rows == set(DAYS)
    run_stages(pipeline, DAYS)
    found = contents(path)
    for mart in MARTS:
        expected = [row for day in DAYS for row in day_of(published, day).marts[mart]]
        assert found[f"marts.{mart}"] == sorted(expected, key=repr)


@pytest.mark.parametrize("stage", ["load", "publish"])
def test_a_fault_is_recorded_as_a_failed_attempt_of_the_day(published: Shop, stage: str) -> None:
    table = {"load": "raw", "publish": "marts"}[stage]
    path = published.settings.warehouse_path
    before = contents(path)
    with watched(fail_before(f"insert into {table}")):
        assert not materialize(published, DAYS[0]).success
    assert contents(path)["marts.fct_orders"] == before["marts.fct_orders"]
    assert contents(path)["ops.partitions"] == before["ops.partitions"]
    ((outcome, failed_at, reason),) = query(
        path,
        "select outcome, stage, reason from ops.attempts where partition_key = ?"
        " order by finished_at desc limit 1",
        [DAYS[0]],
    )
    assert (outcome, failed_at) == ("failed", stage)
    assert "InjectedError" in reason


def materialize(shop: Shop, day: str) -> dg.ExecuteInProcessResult:
    """A run of all assets for one day, as Dagster makes it."""
    return dg.materialize(
        pipeline_assets(shop.pipeline),
        partition_key=day,
        instance=dg.DagsterInstance.ephemeral(),
        raise_on_error=False,
    )


def test_an_attempt_that_failed_is_made_good_by_a_later_attempt_of_the_same_run(
    published: Shop,
) -> None:
    pipeline, run = published.pipeline, new_run(published.pipeline)
    extract_and_load(pipeline, DAYS)
    candidate = pipeline.candidate(run.run_id)
    transform_keys(pipeline, DAYS, candidate)
    with watched(fail_before("insert into marts")), pytest.raises(InjectedError):
        publish_candidate(pipeline, candidate, run)
    record(pipeline, run, [Casualty(day, "publish", "InjectedError") for day in DAYS])
    publication = publish_candidate(pipeline, candidate, run)
    assert [row.partition_key for row in publication.published] == DAYS
    attempts = query(
        pipeline.warehouse.path,
        "select partition_key, outcome from ops.attempts where run_id = ? order by 1",
        [run.run_id],
    )
    assert attempts == [(day, "published") for day in DAYS]
