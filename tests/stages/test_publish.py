"""What publishing replaces, records and refuses (cases D3, D7, D13, W13; contract 2, 3 and 8)."""

from __future__ import annotations

from datetime import UTC, datetime
from pathlib import Path

import duckdb
import pytest

from customer_pipeline.errors import StageError
from customer_pipeline.orchestration.pipeline import Pipeline
from customer_pipeline.stages import transform
from customer_pipeline.stages.candidate import Candidate
from tests.support.compiled_models import CompiledModels
from tests.support.reference import MARTS, day_of
from tests.support.shop import SOURCE, Shop, customer, line
from tests.support.stages import (
    extract_and_load,
    new_run,
    publish_candidate,
    run_stages,
    transform_keys,
    validate_candidate,
)
from tests.support.warehouse import contents, query

DAYS = ["2026-03-01", "2026-03-02", "2026-03-03"]
HOLIDAY = "2026-03-07"


@pytest.fixture
def published(shop: Shop) -> Pipeline:
    """Three plain days, published."""
    for day in DAYS:
        shop.deliver_day(day)
    pipeline = shop.pipeline
    run_stages(pipeline, DAYS)
    return pipeline


def validated(pipeline: Pipeline, keys: list[str]) -> Candidate:
    """A candidate that is ready to be published."""
    extract_and_load(pipeline, keys)
    candidate = pipeline.candidate("run")
    transform_keys(pipeline, keys, candidate)
    validate_candidate(pipeline, candidate)
    return candidate


def expected_marts(shop: Shop) -> dict[str, list[tuple]]:
    days = [day_of(shop, day) for day in DAYS]
    return {
        f"marts.{mart}": sorted((row for day in days for row in day.marts[mart]), key=repr)
        for mart in MARTS
    }


class TestCorrections:
    @pytest.mark.parametrize(
        ("customers", "orders"),
        [
            pytest.param([0, 2], [0, 1, 2], id="a customer vanishes"),
            pytest.param([0, 1, 2], [1], id="orders vanish"),
            pytest.param([5], [6], id="nothing is as it was"),
        ],
    )
    def test_a_corrected_day_holds_what_its_correction_holds_and_no_more(
        self, shop: Shop, published: Pipeline, customers: list[int], orders: list[int]
    ) -> None:
        shop.deliver("customers", DAYS[1], [customer(DAYS[1], n) for n in customers])
        shop.deliver("orders", DAYS[1], [line(DAYS[1], n) for n in orders])
        run_stages(published, [DAYS[1]])
        found = contents(published.warehouse.path)
        assert {name: found[name] for name in expected_marts(shop)} == expected_marts(shop)

    def test_a_day_corrected_to_empty_where_the_rule_allows_it_is_empty(self, shop: Shop) -> None:
        shop.deliver_day(HOLIDAY)
        pipeline = shop.pipeline
        run_stages(pipeline, [HOLIDAY])
        for feed in ("customers", "orders"):
            shop.withdraw(feed, HOLIDAY)
        run_stages(pipeline, [HOLIDAY])
        found = contents(pipeline.warehouse.path)
        assert [found[f"marts.{mart}"] for mart in MARTS] == [[], [], [], []]
        assert query(
            pipeline.warehouse.path,
            "select status, source_rows, raw_rows, mart_rows from ops.partitions",
        ) == [("empty", 0, 0, 0)]

    def test_a_withdrawn_day_where_no_rule_allows_it_keeps_its_rows(
        self, shop: Shop, published: Pipeline
    ) -> None:
        before = contents(published.warehouse.path)
        for feed in ("customers", "orders"):
            shop.withdraw(feed, DAYS[1])
        run_stages(published, DAYS)
        after = contents(published.warehouse.path)
        assert after == before
        reasons = query(
            published.warehouse.path,
            "select reason from ops.attempts where partition_key = ? and outcome = 'failed'",
            [DAYS[1]],
        )
        assert len(reasons) == 1 and "there is no such file" in reasons[0][0]


class TestColumnsOfAMart:
    @pytest.fixture
    def change(self, models: CompiledModels, monkeypatch: pytest.MonkeyPatch):
        def change(*sql: str) -> None:
            monkeypatch.setattr(transform, "build", models.changed_by(*sql).build)

        return change

    def test_a_new_column_appears_and_older_days_have_null_in_it(
        self, published: Pipeline, change
    ) -> None:
        change("alter table main.fct_orders add column channel varchar default 'web'")
        run_stages(published, [DAYS[1]])
        found = query(
            published.warehouse.path,
            "select _date::varchar, channel, count(*) from marts.fct_orders group by all order by 1",
        )
        assert found == [(DAYS[0], None, 3), (DAYS[1], "web", 3), (DAYS[2], None, 3)]

    @pytest.mark.parametrize(
        ("sql", "message"),
        [
            (
                "alter table main.fct_orders drop column country",
                "no longer has country: nothing was published",
            ),
            (
                "alter table main.fct_orders rename column country to land",
                "no longer has country: nothing was published",
            ),
            (
                "alter table main.fct_orders alter column units type integer",
                "units is BIGINT in the warehouse, but INTEGER is declared now",
            ),
            (
                "alter table main.fct_orders alter column _date type varchar",
                "_date is DATE in the warehouse, but VARCHAR is declared now",
            ),
        ],
    )
    def test_a_column_that_vanished_or_changed_its_type_publishes_nothing_in_any_mart(
        self, shop: Shop, published: Pipeline, change, sql: str, message: str
    ) -> None:
        before = contents(published.warehouse.path)
        shop.deliver_day(DAYS[1], price="3.10")
        change(sql)
        with pytest.raises(StageError, match=message) as caught:
            run_stages(published, DAYS)
        assert caught.value.where == "marts.fct_orders"
        assert "alter table marts.fct_orders" in caught.value.todo
        after = contents(published.warehouse.path)
        for table in ("ops.partitions", *(f"marts.{mart}" for mart in MARTS)):
            assert after[table] == before[table]

    @pytest.mark.parametrize(
        "sql",
        [
            "alter table main.fct_orders drop column country",
            "alter table main.fct_orders alter column units type integer",
        ],
    )
    def test_of_a_mart_without_rows_nothing_is_lost_and_it_is_made_anew(
        self, published: Pipeline, change, sql: str
    ) -> None:
        with published.warehouse.write() as connection:
            connection.execute("delete from marts.fct_orders")
        change(sql)
        publication = run_stages(published, DAYS)
        assert publication is not None
        assert publication.casualties == ()
        counted = "select count(*) from marts.fct_orders"
        assert query(published.warehouse.path, counted) == [(9,)]

    def test_columns_are_matched_by_name(self, shop: Shop, published: Pipeline, change) -> None:
        shop.deliver("customers", DAYS[1], [customer(DAYS[1], 1, name="Ada", email="Lovelace")])
        change(
            "create or replace table main.dim_customers as"
            " select email, name, * exclude (email, name) from main.dim_customers"
        )
        run_stages(published, [DAYS[1]])
        found = query(
            published.warehouse.path,
            "select name, email from marts.dim_customers where _date = ?",
            [DAYS[1]],
        )
        assert found == [("Ada", "Lovelace")]


class TestAnotherRunMeanwhile:
    def test_an_older_delivery_is_not_published_over_a_newer_one(
        self, shop: Shop, published: Pipeline
    ) -> None:
        shop.deliver_day(DAYS[1], price="3.10")
        candidate = validated(published, DAYS)
        shop.deliver_day(DAYS[1], price="4.20")
        run_stages(published, [DAYS[1]])
        between = contents(published.warehouse.path)

        publication = publish_candidate(published, candidate, new_run(published))
        assert [row.partition_key for row in publication.published] == [DAYS[0], DAYS[2]]
        (casualty,) = publication.casualties
        assert (casualty.partition_key, casualty.stage) == (DAYS[1], "publish")
        assert "another run has loaded a newer delivery" in casualty.reason
        assert contents(published.warehouse.path) == between
        assert expected_marts(shop).items() <= between.items()

    def test_rows_made_under_older_rules_are_not_published_over_newer_ones(
        self, shop: Shop, published: Pipeline
    ) -> None:
        candidate = validated(published, DAYS)
        shop.source_path.write_text(
            SOURCE.replace("  country: {}", "  country: {expression: lower(value)}")
        )
        run_stages(shop.pipeline, [DAYS[1]])
        between = contents(published.warehouse.path)
        publication = publish_candidate(published, candidate, new_run(published))
        assert [row.partition_key for row in publication.casualties] == [DAYS[1]]
        assert contents(published.warehouse.path) == between

    def test_a_second_run_over_the_same_delivery_publishes_the_same(
        self, published: Pipeline
    ) -> None:
        candidate = validated(published, DAYS)
        run_stages(published, DAYS)
        before = contents(published.warehouse.path)
        assert not publish_candidate(published, candidate, new_run(published)).casualties
        assert contents(published.warehouse.path) == before


class TestTheLedger:
    def test_it_says_what_is_published_by_which_run_and_code(self, shop: Shop) -> None:
        shop.deliver_day(DAYS[0])
        pipeline = shop.pipeline
        run, begun = new_run(pipeline), datetime.now(UTC)
        candidate = validated(pipeline, [DAYS[0]])
        publish_candidate(pipeline, candidate, run)
        ((published_at, *row),) = query(
            pipeline.warehouse.path,
            "select published_at, pipeline, partition_key, status, source_rows, quarantined_rows,"
            " raw_rows, mart_rows, code_version, run_id from ops.partitions",
        )
        assert row == [
            *("daily_customers", DAYS[0], "published"),
            *(9, 0, 9, 8),
            *(pipeline.code_version, run.run_id),
        ]
        assert begun <= published_at <= datetime.now(UTC)
        attempts = query(
            pipeline.warehouse.path,
            "select run_id, partition_key, outcome, stage, reason, started_at from ops.attempts",
        )
        assert attempts == [(run.run_id, DAYS[0], "published", "publish", None, run.started_at)]

    def test_the_fingerprint_and_the_hash_change_with_the_delivery_and_with_nothing_else(
        self, shop: Shop, published: Pipeline
    ) -> None:
        def row(day: str) -> tuple:
            return query(
                published.warehouse.path,
                "select source_fingerprint, content_hash from ops.partitions where partition_key = ?",
                [day],
            )[0]

        first = row(DAYS[0])
        shop.deliver_day(DAYS[1], price="3.10")
        run_stages(published, DAYS)
        assert row(DAYS[0]) == first
        shop.deliver_day(DAYS[0], price="2.51")
        run_stages(published, [DAYS[0]])
        assert all(new != old for new, old in zip(row(DAYS[0]), first, strict=True))
        # The same rows in another file: another source, the same content.
        shop.path("orders", DAYS[0]).write_bytes(
            shop.path("orders", DAYS[0]).read_bytes().replace(b"\n", b"\r\n")
        )
        before = row(DAYS[0])
        run_stages(published, [DAYS[0]])
        assert row(DAYS[0])[0] != before[0] and row(DAYS[0])[1] == before[1]

    def test_no_date_but_the_days_own_is_in_its_rows(self, published: Pipeline) -> None:
        found = contents(published.warehouse.path)
        for table in [name for name in found if name.startswith(("raw.", "marts."))]:
            for row in found[table]:
                moments = [value for value in row if isinstance(value, datetime)]
                assert {moment.date() for moment in moments} <= {row[0]}


def test_a_run_of_which_no_day_passes_changes_nothing_but_the_attempts(
    shop: Shop, published: Pipeline
) -> None:
    before = contents(published.warehouse.path)
    for day in DAYS:
        shop.deliver("orders", day, [line(day, 1, order_id=" ")])
    publication = run_stages(published, DAYS)
    assert publication is not None
    assert not publication.published
    assert [casualty.partition_key for casualty in publication.casualties] == DAYS
    after = contents(published.warehouse.path)
    for table in ("ops.partitions", *(f"marts.{mart}" for mart in MARTS)):
        assert after[table] == before[table]


def test_the_candidate_is_removed_after_publishing(published: Pipeline) -> None:
    candidate = validated(published, DAYS)
    assert candidate.path.exists()
    publish_candidate(published, candidate, new_run(published))
    assert not candidate.folder.exists()
    with pytest.raises(StageError, match="this run has built no candidate"):
        publish_candidate(published, candidate, new_run(published))


def test_readers_see_old_rows_until_new_ones_are_whole(shop: Shop, published: Pipeline) -> None:
    """What the publication tells is what a reader then finds."""
    shop.deliver_day(DAYS[0], orders=7)
    publication = publish_candidate(published, validated(published, [DAYS[0]]), new_run(published))
    assert publication.mart_rows["fct_orders", DAYS[0]] == 7
    assert len(publication.previews["fct_orders", DAYS[0]]) == 5
    with duckdb.connect(str(published.warehouse.path), read_only=True) as connection:
        rows = connection.execute(
            "select count(*) from marts.fct_orders where _date = ?", [DAYS[0]]
        ).fetchone()
    assert rows == (7,)


@pytest.mark.slow
def test_running_a_day_again_and_again_does_not_blow_up_the_file(
    shop: Shop, published: Pipeline
) -> None:
    """Deleted rows are not given back at once (case W11)."""
    for day in DAYS:
        shop.deliver_day(day, orders=2000)
    run_stages(published, DAYS)
    path = published.warehouse.path
    with duckdb.connect(str(path)) as connection:
        connection.execute(f"attach '{shop.root.parent / 'compact.duckdb'}' as compact")
        connection.execute("copy from database warehouse to compact")
    compact = (shop.root.parent / "compact.duckdb").stat().st_size
    for _ in range(40):
        run_stages(published, [DAYS[1]])
    assert path.stat().st_size < 2.5 * compact


_TRIPS = """\
  trips:
    partitions: monthly
    reader: csv
    path: deliveries/trips-{date:%Y-%m}.csv
    columns: {vendor_id: {}, distance: {type: "decimal(9,2)"}}
"""


def test_what_the_models_of_another_pipeline_read_is_there_without_rows(
    tmp_path: Path, dbt_cache: Path
) -> None:
    """So that models can be built by hand; a feed's table waits for it with the feed's own types."""
    shop = Shop(tmp_path / "with trips", source=SOURCE + _TRIPS, dbt_cache=dbt_cache)
    shop.deliver_day(DAYS[0])
    assert run_stages(shop.pipeline, DAYS[:1], lake=False)
    for table in ("raw.trips", "marts.trips_monthly"):
        assert query(shop.settings.warehouse_path, f"select count(*) from {table}") == [(0,)]
    described = query(
        shop.settings.warehouse_path, "select column_name, column_type from (describe raw.trips)"
    )
    assert dict(described) == {
        "_date": "DATE", "_line": "BIGINT", "vendor_id": "VARCHAR", "distance": "DECIMAL(9,2)"
    }  # fmt: skip
