"""The job `reporting_refresh`: what it says of each table, and what a failure of it leaves behind
(contract 3; case S7).

What does not belong here: when it runs (`test_reporting_sensor.py`), and which customers come out
(`tests/reporting/test_customers.py`).
"""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from customer_pipeline.dbt_adapter.manifest import DbtProject
from customer_pipeline.errors import StageError, TransientError
from customer_pipeline.reporting import refresh
from customer_pipeline.settings import Settings
from tests.conftest import PROJECT
from tests.support.compiled_models import CompiledModels
from tests.support.dagster_processes import Home
from tests.support.runs import refresh_reporting, run_days
from tests.support.shop import Shop
from tests.support.stages import run_stages
from tests.support.warehouse import contents, query

pytestmark = pytest.mark.usefixtures("without_dbt")

DAYS = ["2026-03-02", "2026-03-03", "2026-03-04"]
TABLES = [
    "reporting/customer_history",
    "reporting/customer_summary",
    "reporting/customers_current",
    "reporting/entities_current",
    "reporting/monthly_sales",
]
EVERYTHING = ["landing", "raw", "candidate", "validation", "marts", "reporting"]
STEP = "refresh_daily_customers_reporting"
# What a mistake in a model would have done.
MISTAKE = "insert into monthly_sales from monthly_sales"
FAILING = "unique_monthly_sales_month"


class RetryingShop(Shop):
    """A shop whose steps are retried twice, at once."""

    @property
    def settings(self) -> Settings:
        changes = {"max_retries": 2, "retry_delay": 0, "lock_timeout": 0.3}
        return super().settings.model_copy(update=changes)


@pytest.fixture
def shop(tmp_path: Path, dbt_cache: Path) -> RetryingShop:
    return RetryingShop(tmp_path / "shop", dbt_cache=dbt_cache)


@pytest.fixture
def models(session_folder: Path) -> CompiledModels:
    return CompiledModels.of(PROJECT / "dbt_project", session_folder / "models")


def test_each_table_says_how_many_rows_it_has_and_what_was_taken_in(shop: Shop, home: Home) -> None:
    _publish(shop, *DAYS[:2])
    ran = refresh_reporting(shop, home)
    assert ran.succeeded
    assert set(ran.checks.values()) == {"SUCCEEDED"}
    assert len(ran.checks) == len(shop.pipeline.project.tests_of("daily_customers_reporting"))
    assert _metadata(ran, "dagster/row_count") == {
        "reporting/customer_history": 3,
        "reporting/customer_summary": 3,
        "reporting/customers_current": 3,
        "reporting/entities_current": 0,
        "reporting/monthly_sales": 1,
    }
    assert _metadata(ran, "publication") == dict.fromkeys(TABLES, 1)
    assert _metadata(ran, "first_partition") == dict.fromkeys(TABLES, DAYS[0])
    assert _metadata(ran, "last_partition") == dict.fromkeys(TABLES, DAYS[1])

    # A later day: every customer was seen again, in the same state.
    _publish(shop, DAYS[2], orders=4)
    ran = refresh_reporting(shop, home)
    assert _metadata(ran, "publication") == dict.fromkeys(TABLES, 2)
    assert _metadata(ran, "partitions_taken_in") == dict.fromkeys(TABLES, 1)
    current = "reporting/customers_current"
    assert [
        ran.metadata(current, f"{done}_rows")[None] for done in ("inserted", "updated", "deleted")
    ] == [1, 3, 0]
    followers = "select follower, publication, run_id from ops.followers"
    assert query(shop.settings.warehouse_path, followers) == [
        ("daily_customers_reporting", 2, ran.run_id)
    ]
    assert list(shop.settings.runs_path.glob("*")) == []


def test_a_refresh_without_news_changes_nothing(shop: Shop, home: Home) -> None:
    _publish(shop, *DAYS)
    refresh_reporting(shop, home)
    before = contents(shop.settings.warehouse_path)
    ran = refresh_reporting(shop, home)
    assert ran.succeeded
    assert _metadata(ran, "partitions_taken_in") == dict.fromkeys(TABLES, 0)
    assert _metadata(ran, "first_partition") == dict.fromkeys(TABLES, "none")
    assert contents(shop.settings.warehouse_path) == before


def test_a_failing_test_holds_all_tables_back(
    shop: Shop, home: Home, models: CompiledModels, monkeypatch: pytest.MonkeyPatch
) -> None:
    _publish(shop, DAYS[0])
    refresh_reporting(shop, home)
    _publish(shop, DAYS[1])
    before = contents(shop.settings.warehouse_path)
    with monkeypatch.context() as patch:
        patch.setattr(refresh, "build", models.changed_by(MISTAKE).build)
        ran = refresh_reporting(shop, home)
    assert not ran.succeeded
    assert ran.steps("STEP_UP_FOR_RETRY") == []
    assert "the reporting tables are unchanged" in ran.error
    assert FAILING in ran.error
    assert ran.failed_checks() == {None: {FAILING}}
    assert len(ran.checks) == len(shop.pipeline.project.tests_of("daily_customers_reporting"))
    assert [ran.materialized(table) for table in TABLES] == [[]] * 5
    assert contents(shop.settings.warehouse_path) == before
    # The day is taken in by the next refresh that is well.
    ran = refresh_reporting(shop, home)
    assert _metadata(ran, "last_partition") == dict.fromkeys(TABLES, DAYS[1])


def test_a_failing_test_that_only_warns_holds_nothing_back(
    shop: Shop, home: Home, models: CompiledModels, monkeypatch: pytest.MonkeyPatch
) -> None:
    tests_of = DbtProject.tests_of
    monkeypatch.setattr(
        DbtProject,
        "tests_of",
        lambda *args: [replace(test, warn_only=True) for test in tests_of(*args)],
    )
    monkeypatch.setattr(refresh, "build", models.changed_by(MISTAKE).build)
    _publish(shop, DAYS[0])
    ran = refresh_reporting(shop, home)
    assert ran.succeeded
    assert ran.failed_checks() == {None: {FAILING}}
    assert [ran.materialized(table) for table in TABLES] == [[None]] * 5


@pytest.mark.parametrize("error", [TransientError("held"), RuntimeError("never seen before")])
def test_what_may_pass_by_itself_is_tried_again(
    shop: Shop, home: Home, monkeypatch: pytest.MonkeyPatch, error: Exception
) -> None:
    _publish(shop, DAYS[0])
    _raise_first(monkeypatch, error, times=2)
    ran = refresh_reporting(shop, home)
    assert ran.succeeded
    assert ran.steps("STEP_UP_FOR_RETRY") == [STEP] * 2
    assert _metadata(ran, "partitions_taken_in") == dict.fromkeys(TABLES, 1)


def test_a_warehouse_that_stays_held_fails_in_one_sentence(
    shop: Shop, home: Home, monkeypatch: pytest.MonkeyPatch
) -> None:
    _publish(shop, DAYS[0])
    _raise_first(monkeypatch, TransientError("the warehouse was held"), times=9)
    ran = refresh_reporting(shop, home)
    assert ran.steps("STEP_UP_FOR_RETRY") == [STEP] * 2
    assert ran.error == "dagster._core.definitions.events.Failure: the warehouse was held\n"


def test_a_model_that_does_not_run_is_not_tried_again(
    shop: Shop, home: Home, monkeypatch: pytest.MonkeyPatch
) -> None:
    _publish(shop, DAYS[0])
    before = contents(shop.settings.warehouse_path)
    _raise_first(monkeypatch, StageError("dbt model monthly_sales: no such column"), times=1)
    ran = refresh_reporting(shop, home)
    assert not ran.succeeded
    assert ran.steps("STEP_UP_FOR_RETRY") == []
    assert "dbt model monthly_sales: no such column" in ran.error
    assert contents(shop.settings.warehouse_path) == before


def test_before_anything_is_published_it_says_what_to_do(shop: Shop, home: Home) -> None:
    ran = refresh_reporting(shop, home)
    assert ran.steps("STEP_UP_FOR_RETRY") == []
    assert "nothing has been published yet (run a partition first)" in ran.error


def test_a_run_of_everything_refreshes_from_what_it_has_published(shop: Shop, home: Home) -> None:
    for day in DAYS:
        shop.deliver_day(day)
    ran = run_days(shop, home, DAYS[0], DAYS[-1], only=EVERYTHING)
    assert ran.succeeded, ran.errors
    assert ran.steps()[-1] == STEP
    assert [ran.materialized(table) for table in TABLES] == [[None]] * 5
    assert _metadata(ran, "last_partition") == dict.fromkeys(TABLES, DAYS[-1])


def test_a_run_of_everything_with_a_bad_day_leaves_the_refresh_to_the_sensor(
    shop: Shop, home: Home
) -> None:
    for day in DAYS:
        shop.deliver_day(day)
    shop.withdraw("orders", DAYS[1])
    ran = run_days(shop, home, DAYS[0], DAYS[-1], only=EVERYTHING)
    assert list(ran.errors) == ["publish_daily_customers"]
    assert STEP not in ran.steps("STEP_START")
    with shop.pipeline.warehouse.read() as connection:
        standing = shop.pipeline.reporting.standing(connection)
    assert standing.partitions == (DAYS[0], DAYS[2])
    assert _metadata(refresh_reporting(shop, home), "partitions_taken_in") == dict.fromkeys(
        TABLES, 2
    )


def _publish(shop: Shop, *days: str, orders: int = 3) -> None:
    for day in days:
        shop.deliver_day(day, orders=orders)
    run_stages(shop.pipeline, days)


def _metadata(ran: Any, name: str) -> dict[str, Any]:
    """A value of the metadata of each table."""
    return {table: ran.metadata(table, name)[None] for table in TABLES}


def _raise_first(monkeypatch: pytest.MonkeyPatch, error: Exception, *, times: int) -> None:
    """Have the models' build raise, `times` times, and then do its work."""
    real, left = refresh.build, [error] * times

    def unreliable(*args: Any, **kwargs: Any) -> Any:
        if left:
            raise left.pop()
        return real(*args, **kwargs)

    monkeypatch.setattr(refresh, "build", unreliable)
