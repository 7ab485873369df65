"""Models and tests that fail, in a copy of the dbt project that has mistakes in it: what depends on
them does not run, and each failure is told (cases C1, C2, C9, D9, D10, D11, D12, P4, P6).
"""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest

from customer_pipeline.dbt_adapter.manifest import DbtProject
from customer_pipeline.settings import Settings
from tests.support.dagster_processes import Home
from tests.support.projects import changed_project
from tests.support.runs import run_days
from tests.support.shop import Shop, customer, line
from tests.support.warehouse import contents, query

DAY, NEXT_DAY = "2026-03-03", "2026-03-04"

MODELS = "models/daily_customers"
# Each mistake shows on some days only, so that one copy does for all tests.
MISTAKES = {
    f"{MODELS}/dim_customers.sql": (
        """\
    qualify
        row_number() over (
            partition by _date, customer_id
            order by updated_at desc nulls last, _line desc
        ) = 1
""",
        "",
    ),
    f"{MODELS}/daily_summary.sql": ("count(*) as order_lines", "least(count(*), 4) as order_lines"),
    f"{MODELS}/sales_summary.sql": (
        "count(*) as orders",
        "count(if(country = 'Atlantis', error('Atlantis is lost'), 1)) as orders",
    ),
}


@pytest.fixture(scope="module")
def project(tmp_path_factory: pytest.TempPathFactory) -> DbtProject:
    """A copy of the project in which customers are not made unique, no more than four lines are
    counted, and orders from Atlantis are an error."""
    project = changed_project(tmp_path_factory.mktemp("mistaken"), MISTAKES, {})
    _ = project.parsed
    return project


@pytest.fixture
def shop(tmp_path: Path, project: DbtProject, monkeypatch: pytest.MonkeyPatch) -> Iterator[Shop]:
    """A shop whose pipeline uses the copy, which is the same afterwards."""
    monkeypatch.setattr(Settings, "dbt_project_path", property(lambda _: project.folder))
    before = _files(project.folder)
    shop = Shop(tmp_path / "shop", dbt_cache=project.cache)
    for day in (DAY, NEXT_DAY):
        shop.deliver_day(day, orders=2)
    yield shop
    assert _files(project.folder) == before


def test_a_failing_unique_test_fails_the_run_and_nothing_is_published(
    shop: Shop, home: Home
) -> None:
    _deliver_a_customer_twice(shop, DAY)
    ran = run_days(shop, home, DAY)
    assert not ran.succeeded
    assert ran.results("unique_dim_customers_customer_id") == {DAY: "FAILED"}
    assert ran.results("not_null_dim_customers_customer_id") == {DAY: "SUCCEEDED"}
    assert ran.steps("STEP_FAILURE") == ["validate_daily_customers"]
    assert "publish_daily_customers" not in ran.steps("STEP_START")
    assert ran.materialized("marts/dim_customers") == []
    assert f"{DAY} (validate): " in ran.error
    assert "unique_dim_customers_customer_id: 1 failing row" in ran.error
    assert _attempts(shop) == [(DAY, "failed", "validate")]
    assert "marts.dim_customers" not in contents(shop.settings.warehouse_path)


def test_a_failing_test_counts_against_its_own_day(shop: Shop, home: Home) -> None:
    _deliver_a_customer_twice(shop, DAY)
    ran = run_days(shop, home, DAY, NEXT_DAY)
    assert ran.results("unique_dim_customers_customer_id") == {
        DAY: "FAILED",
        NEXT_DAY: "SUCCEEDED",
        None: "FAILED",
    }
    assert ran.materialized("marts/dim_customers") == [NEXT_DAY]
    assert _attempts(shop) == [(DAY, "failed", "validate"), (NEXT_DAY, "published", "publish")]


def test_a_count_that_does_not_reconcile_fails_the_run_and_the_old_rows_stay(
    shop: Shop, home: Home
) -> None:
    assert run_days(shop, home, DAY).succeeded
    before = contents(shop.settings.warehouse_path)
    shop.deliver_day(DAY, orders=5)
    ran = run_days(shop, home, DAY)
    assert not ran.succeeded
    assert ran.results("daily_summary_order_lines_match_raw") == {DAY: "FAILED"}
    assert "daily_summary_order_lines_match_raw: expected 10, got 4" in ran.error
    assert ran.materialized("marts/daily_summary") == []
    after = contents(shop.settings.warehouse_path)
    for table, rows in before.items():
        if table.startswith("marts.") or table == "ops.partitions":
            assert after[table] == rows, table


def test_a_model_that_does_not_run_fails_the_run_in_dbts_words(shop: Shop, home: Home) -> None:
    shop.deliver("orders", DAY, [line(DAY, 1, country="Atlantis")])
    ran = run_days(shop, home, DAY, NEXT_DAY)
    assert ran.steps("STEP_FAILURE") == ["transform_daily_customers"]
    assert ran.steps("STEP_START")[-1] == "transform_daily_customers"
    assert "sales_summary" in ran.error
    assert "Atlantis is lost" in ran.error
    # No retry mends a model.
    assert ran.steps("STEP_UP_FOR_RETRY") == []
    assert ran.materialized("candidate/sales_summary") == []
    assert _attempts(shop) == [(DAY, "failed", "transform"), (NEXT_DAY, "failed", "transform")]
    for (reason,) in query(shop.settings.warehouse_path, "select reason from ops.attempts"):
        assert "Atlantis is lost" in reason


def test_a_test_that_only_warns_is_shown_and_does_not_hold_its_day_back(
    shop: Shop, home: Home
) -> None:
    shop.deliver("orders", DAY, [line(DAY, 1, customer_id="never seen")])
    ran = run_days(shop, home, DAY)
    assert ran.succeeded
    assert ran.failed_checks() == {DAY: {"the_customer_of_an_order_was_seen_that_day"}}
    (failed,) = (
        event.asset_check_evaluation_data
        for event in ran.events("ASSET_CHECK_EVALUATION")
        if not event.asset_check_evaluation_data.passed
    )
    assert failed.severity.value == "WARN"
    assert failed.description == "1 failing row"
    assert _attempts(shop) == [(DAY, "published", "publish")]


def _deliver_a_customer_twice(shop: Shop, day: str) -> None:
    shop.deliver("customers", day, [customer(day, n) for n in (0, 1, 1)])


def _attempts(shop: Shop) -> list[tuple]:
    return query(
        shop.settings.warehouse_path,
        "select partition_key, outcome, stage from ops.attempts order by partition_key",
    )


def _files(folder: Path) -> dict[str, int]:
    return {
        str(path.relative_to(folder)): path.stat().st_mtime_ns
        for path in folder.rglob("*")
        if path.is_file()
    }
