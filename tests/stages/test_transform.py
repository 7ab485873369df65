"""Which days are built, on what, and how failing tests and errors are told (cases D3 to D12)."""

from __future__ import annotations

from pathlib import Path

import pytest

from customer_pipeline.dbt_adapter.manifest import DbtProject
from customer_pipeline.errors import ConfigError, StageError
from customer_pipeline.orchestration.pipeline import Pipeline
from tests.support.projects import changed_project, with_project
from tests.support.reference import MARTS, day_of
from tests.support.shop import SOURCE, Shop, customer, line
from tests.support.stages import extract_and_load, run_stages, transform_keys
from tests.support.warehouse import contents, query

DAYS = ["2026-03-01", "2026-03-02", "2026-03-03"]


@pytest.fixture
def loaded(shop: Shop) -> Pipeline:
    """Three plain days, loaded."""
    for day in DAYS:
        shop.deliver_day(day)
    pipeline = shop.pipeline
    extract_and_load(pipeline, DAYS)
    return pipeline


def test_compiled_models_are_what_dbt_builds(
    shop: Shop, loaded: Pipeline, monkeypatch: pytest.MonkeyPatch, real_dbt: None
) -> None:
    """The tests that do without dbt rest on this one."""
    stranger = line(DAYS[1], 7, customer_id="99999")
    blank = customer(DAYS[1], 8, customer_id=" ")
    shop.deliver("orders", DAYS[1], [stranger, line(DAYS[1], 7, order_id="C1", quantity=3)])
    shop.deliver("customers", DAYS[1], [blank, customer(DAYS[1], 3), customer(DAYS[1], 3, name="")])
    extract_and_load(loaded, DAYS)
    by_dbt, compiled = loaded.candidate("by_dbt"), loaded.candidate("compiled")
    built = transform_keys(loaded, DAYS, by_dbt)
    monkeypatch.undo()
    assert transform_keys(loaded, DAYS, compiled) == built
    assert contents(compiled.path) == contents(by_dbt.path)
    assert columns(compiled.path) == columns(by_dbt.path)
    failing = {test.check for test in built.tests if not test.passed}
    assert {"not_null_dim_customers_customer_id", "a_cancellation_sells_no_units"} <= failing


def columns(file: Path) -> list[tuple]:
    return query(
        file,
        "select schema_name, table_name, column_name, data_type from duckdb_columns()"
        " where not internal order by schema_name, table_name, column_index",
    )


class TestWhatIsBuilt:
    def test_the_candidate_holds_the_days_of_the_run_and_nothing_else(
        self, loaded: Pipeline
    ) -> None:
        candidate = loaded.candidate("run")
        built = transform_keys(loaded, [DAYS[0], DAYS[2]], candidate)
        assert built.partition_keys == (DAYS[0], DAYS[2])
        for table in ("raw.orders", "raw.customers", "main.fct_orders", "main.daily_summary"):
            days = query(candidate.path, f"select distinct _date::varchar from {table} order by 1")
            assert days == [(DAYS[0],), (DAYS[2],)], table
        assert built.rows["fct_orders", DAYS[0]] == 3

    def test_a_day_without_rows_is_built_like_any_other(self, shop: Shop) -> None:
        pipeline = shop.pipeline
        extract_and_load(pipeline, ["2026-03-07"])
        built = transform_keys(pipeline, ["2026-03-07"], pipeline.candidate("run"))
        assert built.partition_keys == ("2026-03-07",)
        assert all(test.passed for test in built.tests)

    def test_without_a_warehouse_it_says_what_to_run_first(self, shop: Shop) -> None:
        pipeline = shop.pipeline
        with pytest.raises(ConfigError, match="there is no warehouse yet .run the load first."):
            transform_keys(pipeline, DAYS, pipeline.candidate("run"))

    def test_leftovers_of_the_same_run_are_replaced(self, shop: Shop, loaded: Pipeline) -> None:
        candidate = loaded.candidate("run")
        transform_keys(loaded, DAYS, candidate)
        shop.deliver_day(DAYS[0], orders=1)
        extract_and_load(loaded, DAYS)
        transform_keys(loaded, DAYS[:1], candidate)
        assert query(candidate.path, "select count(*) from main.fct_orders") == [(1,)]


class TestDaysThatAreNotFitToBeBuilt:
    """They are casualties with what to do about it; the others are built."""

    def assert_lost(self, pipeline: Pipeline, stage: str, reason: str) -> None:
        built = transform_keys(pipeline, DAYS, pipeline.candidate("run"))
        assert built.partition_keys == (DAYS[0], DAYS[2])
        (casualty,) = built.casualties
        assert (casualty.partition_key, casualty.stage) == (DAYS[1], stage)
        assert reason in casualty.reason

    def test_never_extracted(self, shop: Shop) -> None:
        for day in DAYS:
            shop.deliver_day(day)
        pipeline = shop.pipeline
        extract_and_load(pipeline, [DAYS[0], DAYS[2]])
        self.assert_lost(pipeline, "extract", "customers: never extracted; materialize landing")

    def test_refused(self, shop: Shop, loaded: Pipeline) -> None:
        shop.path("orders", DAYS[1]).write_text("")
        extract_and_load(loaded, DAYS)
        self.assert_lost(loaded, "extract", "orders: ")

    def test_landed_and_never_loaded(self, loaded: Pipeline) -> None:
        with loaded.warehouse.write() as connection:
            connection.execute(
                "delete from ops.deliveries where feed = 'orders' and partition_key = ?", [DAYS[1]]
            )
        self.assert_lost(loaded, "load", "orders: never loaded; materialize raw/orders first")

    def test_landed_anew_and_not_loaded_again(self, shop: Shop, loaded: Pipeline) -> None:
        shop.deliver_day(DAYS[1], price="3.10")
        land_only(shop.pipeline, "orders", DAYS[1])
        self.assert_lost(loaded, "load", "materialize raw/orders again")

    def test_landed_anew_under_other_rules_and_not_loaded_again(
        self, shop: Shop, loaded: Pipeline
    ) -> None:
        rules = SOURCE.replace("stock_code: {}", "stock_code: {expression: lower(value)}")
        shop.source_path.write_text(rules)
        pipeline = shop.pipeline
        extract_and_load(pipeline, [DAYS[0], DAYS[2]])
        land_only(pipeline, "orders", DAYS[1])
        land_only(pipeline, "customers", DAYS[1])
        self.assert_lost(pipeline, "load", "materialize raw/orders again")


def land_only(pipeline: Pipeline, feed: str, day: str) -> None:
    from customer_pipeline.stages.extract import extract

    extract(
        feed,
        pipeline.feeds[feed],
        pipeline.partitions.windows([day]),
        zone=pipeline.source.timezone,
        landing=pipeline.landing,
        give_up=True,
    )


@pytest.fixture(scope="module")
def project(tmp_path_factory: pytest.TempPathFactory) -> DbtProject:
    """Customers are no longer unique within a day, and tests say which orders they dislike: with the
    day, without it, and without keeping what they found."""
    return changed_project(
        tmp_path_factory.mktemp("project"),
        {"models/daily_customers/dim_customers.sql": (") = 1", ") >= 1")},
        {
            "tests/no_order_is_bad.sql": (
                "select _date, order_id from {{ ref('fct_orders') }} where order_id = 'bad'"
            ),
            "tests/no_order_is_worse.sql": (
                "select order_id from {{ ref('fct_orders') }} where order_id = 'worse'"
            ),
            "tests/no_order_is_worst.sql": (
                "{{ config(store_failures=false) }}"
                " select _date from {{ ref('fct_orders') }} where order_id = 'worst'"
            ),
            "tests/no_order_is_strange.sql": (
                "{{ config(severity='warn') }}"
                " select order_id from {{ ref('fct_orders') }} where order_id = 'strange'"
            ),
        },
    )


class TestDbtTests:
    """With real dbt: what its failing tests hold back."""

    @pytest.fixture
    def pipeline(self, loaded: Pipeline, project: DbtProject, real_dbt: None) -> Pipeline:
        return with_project(loaded, project)

    def test_a_failing_test_holds_back_the_days_of_its_failing_rows(
        self, shop: Shop, pipeline: Pipeline
    ) -> None:
        run_stages(pipeline, DAYS)
        before = contents(pipeline.warehouse.path)
        shop.deliver("customers", DAYS[0], [customer(DAYS[0], n) for n in (0, 1, 2, 2)])
        shop.deliver("orders", DAYS[1], [line(DAYS[1], 1, order_id="bad")])
        shop.deliver("orders", DAYS[2], [line(DAYS[2], 1, order_id="strange")])
        publication = run_stages(pipeline, DAYS)
        assert publication is not None
        assert [row.partition_key for row in publication.published] == [DAYS[2]]
        reasons = {lost.partition_key: lost.reason for lost in publication.casualties}
        assert "unique_dim_customers_customer_id: 1 failing row" in reasons[DAYS[0]]
        assert reasons[DAYS[1]] == "no_order_is_bad: 1 failing row"
        after = contents(pipeline.warehouse.path)
        for mart in MARTS:
            kept = [row for row in after[f"marts.{mart}"] if row[0].isoformat() != DAYS[2]]
            old = [row for row in before[f"marts.{mart}"] if row[0].isoformat() != DAYS[2]]
            assert kept == old
        new = [row for row in after["marts.fct_orders"] if row[0].isoformat() == DAYS[2]]
        assert new == day_of(shop, DAYS[2]).marts["fct_orders"]

    @pytest.mark.parametrize(
        ("order", "reason"),
        [("worse", "1 failing row"), ("worst", "failing rows, which are not kept")],
    )
    def test_failing_rows_that_carry_no_day_or_are_not_kept_hold_back_every_day(
        self, shop: Shop, pipeline: Pipeline, order: str, reason: str
    ) -> None:
        shop.deliver("orders", DAYS[1], [line(DAYS[1], 1, order_id=order)])
        publication = run_stages(pipeline, DAYS)
        assert publication is not None
        assert [lost.partition_key for lost in publication.casualties] == DAYS
        for lost in publication.casualties:
            assert lost.reason.startswith(f"no_order_is_{order}: {reason}")
        assert contents(pipeline.warehouse.path)["ops.partitions"] == []


class TestErrors:
    """With real dbt: what does not run fails the run, and leaves everything as it was."""

    @pytest.mark.parametrize(
        ("changes", "files", "place", "reason"),
        [
            pytest.param(
                {"models/daily_customers/fct_orders.sql": ("count(*) as", "cuont(*) as")},
                {},
                "models/daily_customers/fct_orders.sql",
                "cuont",
                id="a model",
            ),
            pytest.param(
                {},
                {"tests/broken.sql": "select no_such from {{ ref('fct_orders') }}"},
                "tests/broken.sql",
                "no_such",
                id="a test",
            ),
            pytest.param(
                {
                    "models/daily_customers/fct_orders.yml": (
                        "- name: units\n        data_type: bigint",
                        "- name: units\n        data_type: varchar",
                    )
                },
                {},
                "models/daily_customers/fct_orders.sql",
                "data type mismatch",
                id="a column's type",
            ),
        ],
    )
    def test_the_run_fails_with_the_file_and_dbts_words_and_dbt_lets_go(
        self,
        tmp_path: Path,
        loaded: Pipeline,
        changes: dict[str, tuple[str, str]],
        files: dict[str, str],
        place: str,
        reason: str,
        real_dbt: None,
    ) -> None:
        before = contents(loaded.warehouse.path)
        pipeline = with_project(loaded, changed_project(tmp_path / "project", changes, files))
        candidate = pipeline.candidate("run")
        with pytest.raises(StageError, match=reason) as caught:
            transform_keys(pipeline, DAYS, candidate)
        assert place in caught.value.where
        # Another way of opening it than dbt's, which DuckDB refuses while dbt holds the file.
        assert query(candidate.path, "select count(*) from run.partitions") == [(3,)]
        assert contents(loaded.warehouse.path) == before

    def test_a_project_that_does_not_parse_is_named_before_anything_is_built(
        self, tmp_path: Path, loaded: Pipeline
    ) -> None:
        change = {
            "models/daily_customers/fct_orders.sql": ("ref('stg_orders')", "ref('stg_order')")
        }
        project = changed_project(tmp_path / "project", change, {})
        pipeline = with_project(loaded, project)
        candidate = pipeline.candidate("run")
        with pytest.raises(StageError, match="stg_order") as caught:
            transform_keys(pipeline, DAYS, candidate)
        assert caught.value.where == str(project.folder)
        assert not candidate.folder.exists()
