"""Which days pass, and why the others do not (cases C3, C8, D12, I11)."""

from __future__ import annotations

from dataclasses import dataclass

import pyarrow.parquet as pq
import pytest

from customer_pipeline.errors import StageError
from customer_pipeline.orchestration.pipeline import Pipeline
from customer_pipeline.outcomes import CheckResult
from customer_pipeline.stages import transform
from customer_pipeline.stages.landing import Landing, Manifest
from customer_pipeline.stages.reconcile import Aggregate, Rule
from customer_pipeline.stages.validate import Validation, check_names, validate
from tests.support.compiled_models import CompiledModels
from tests.support.shop import Shop, customer, line
from tests.support.stages import (
    extract_and_load,
    run_stages,
    transform_keys,
    validate_candidate,
)
from tests.support.warehouse import query

DAYS = ["2026-03-01", "2026-03-02", "2026-03-03"]
BAD_DAY = DAYS[1]


@pytest.fixture
def loaded(shop: Shop) -> Pipeline:
    for day in DAYS:
        shop.deliver_day(day)
    pipeline = shop.pipeline
    extract_and_load(pipeline, DAYS)
    return pipeline


def judged(pipeline: Pipeline) -> Validation:
    candidate = pipeline.candidate("run")
    transform_keys(pipeline, DAYS, candidate)
    return validate_candidate(pipeline, candidate)


def reasons(validation: Validation) -> dict[str, tuple[str, ...]]:
    """Why days fail, by day."""
    return {
        verdict.partition_key: verdict.reasons
        for verdict in validation.verdicts
        if not verdict.passed
    }


def test_plain_days_pass_every_check_and_each_is_counted(loaded: Pipeline) -> None:
    validation = judged(loaded)
    assert reasons(validation) == {}
    assert [(v.partition_key, v.source_rows, v.raw_rows) for v in validation.verdicts] == [
        (day, 9, 9) for day in DAYS
    ]
    evaluated = {(check.check, check.partition_key) for check in validation.checks}
    names = check_names(loaded.feeds, loaded.rules)
    assert evaluated == {(name, day) for name in names for day in DAYS}


@pytest.mark.parametrize("mart", ["dim_customers", "fct_orders", "daily_summary", "sales_summary"])
@pytest.mark.parametrize(
    "mistake",
    [
        "delete from main.{mart} where rowid = (select max(rowid) from main.{mart} where _date = '{day}')",
        "insert into main.{mart} from main.{mart} where _date = '{day}' limit 1",
        "insert into main.{mart} from main.{mart} where _date = '{day}'",
    ],
    ids=["drops a row", "doubles a row", "doubles the day"],
)
def test_a_model_that_drops_or_doubles_rows_is_caught_on_exactly_that_day(
    loaded: Pipeline,
    models: CompiledModels,
    monkeypatch: pytest.MonkeyPatch,
    mart: str,
    mistake: str,
) -> None:
    change = mistake.format(mart=mart, day=BAD_DAY)
    monkeypatch.setattr(transform, "build", models.changed_by(change).build)
    validation = judged(loaded)
    assert list(reasons(validation)) == [BAD_DAY]
    caught = [
        check.check
        for check in validation.checks
        if not check.passed and check.check.startswith(mart)
    ]
    assert caught


@pytest.mark.parametrize(
    ("mart", "change"),
    [
        ("fct_orders", "units = units + 1"),
        ("fct_orders", "net_sales = net_sales + 0.0001"),
        ("sales_summary", "orders = orders - 1"),
        ("daily_summary", "customers = customers + 1"),
        ("daily_summary", "gross_sales = 0"),
        ("dim_customers", "updated_at = updated_at - interval 1 second"),
    ],
)
def test_a_wrong_number_is_caught_with_both_numbers(
    loaded: Pipeline,
    models: CompiledModels,
    monkeypatch: pytest.MonkeyPatch,
    mart: str,
    change: str,
) -> None:
    wrong = f"update main.{mart} set {change} where _date = '{BAD_DAY}'"
    monkeypatch.setattr(transform, "build", models.changed_by(wrong).build)
    found = reasons(judged(loaded))
    assert list(found) == [BAD_DAY]
    assert any("expected " in reason and ", got " in reason for reason in found[BAD_DAY])


class TestCountsFromSourceToRaw:
    @pytest.fixture
    def hundred(self, shop: Shop) -> Pipeline:
        """Three days of a hundred order lines."""
        for day in DAYS:
            shop.deliver_day(day, orders=50)
        pipeline = shop.pipeline
        extract_and_load(pipeline, DAYS)
        return pipeline

    @pytest.mark.parametrize("lost", [3, 6])
    def test_rows_that_raw_lacks_are_told_with_numbers_and_held_against_the_threshold(
        self, hundred: Pipeline, lost: int
    ) -> None:
        with hundred.warehouse.write() as connection:
            connection.execute(
                "delete from raw.orders where _date = ? and _line < 2 + ?", [BAD_DAY, lost]
            )
        validation = judged(hundred)
        assert list(reasons(validation)) == [BAD_DAY]
        found = reasons(validation)[BAD_DAY]
        assert f"orders_raw_rows_match_landing: landed_rows 100, raw_rows {100 - lost}" in found
        dropped = f"{lost} of 100 rows dropped ({lost}.0%), 5.0% allowed"
        assert (f"orders_dropped_rows_within_threshold: {dropped}" in found) == (lost > 5)
        assert dropped in {check.description for check in validation.checks}

    @pytest.mark.parametrize(("bad", "published"), [(3, True), (6, False)])
    def test_bad_rows_up_to_the_threshold_are_quarantined_and_the_rest_is_published(
        self, shop: Shop, hundred: Pipeline, bad: int, published: bool
    ) -> None:
        lines = [line(BAD_DAY, n) for n in range(100 - bad)]
        wrong = [line(BAD_DAY, n, unit_price="1,5") for n in range(bad)]
        shop.deliver("orders", BAD_DAY, [*lines, *wrong])
        publication = run_stages(hundred, DAYS)
        assert publication is not None
        counts = {
            row.partition_key: (row.source_rows, row.quarantined_rows, row.raw_rows)
            for row in publication.published
        }
        assert counts.get(BAD_DAY) == ((150, bad, 150 - bad) if published else None)
        assert [counts[day] for day in (DAYS[0], DAYS[2])] == [(150, 0, 150)] * 2
        if not published:
            (casualty,) = publication.casualties
            assert "6 of 100 rows cannot be loaded (6.0%, 5.0% allowed)" in casualty.reason

    def test_rows_that_landing_lacks_are_noticed(self, hundred: Pipeline) -> None:
        manifest = hundred.landing.read("orders", BAD_DAY)
        path = hundred.landing.data_path(manifest) if manifest else None
        assert path is not None
        pq.write_table(pq.ParquetFile(path).read().slice(1), path)
        validation = judged(hundred)
        assert list(reasons(validation)) == [BAD_DAY]
        assert (
            "orders_source_rows_are_landed_or_quarantined: source_rows 100,"
            " landed_and_quarantined_rows 99"
        ) in reasons(validation)[BAD_DAY]


class TestDaysWithoutRows:
    def test_one_empty_day_of_ten_fails_and_is_named(self, shop: Shop) -> None:
        """The two days that are empty by rule are among the ten (case C3)."""
        days = [f"2026-03-{day:02}" for day in range(1, 11)]
        for day in days:
            if day not in ("2026-03-07", "2026-03-08"):
                shop.deliver_day(day)
        shop.deliver("orders", days[3], [])
        publication = run_stages(shop.pipeline, days)
        assert publication is not None
        (casualty,) = publication.casualties
        assert (casualty.partition_key, casualty.stage) == (days[3], "validate")
        assert "orders_has_rows: 0 rows" in casualty.reason
        statuses = {row.partition_key: row.status for row in publication.published}
        assert statuses == {
            day: "empty" if day in ("2026-03-07", "2026-03-08") else "published"
            for day in days
            if day != days[3]
        }

    @pytest.mark.parametrize("delivered", [False, True])
    def test_on_a_day_that_may_be_empty_a_header_alone_is_as_good_as_nothing(
        self, shop: Shop, delivered: bool
    ) -> None:
        if delivered:
            shop.deliver_day("2026-03-07", orders=0)
        publication = run_stages(shop.pipeline, ["2026-03-07"])
        assert publication is not None
        assert [row.status for row in publication.published] == ["empty"]

    def test_a_delivery_on_a_day_that_may_be_empty_is_published(self, shop: Shop) -> None:
        shop.deliver_day("2026-03-07")
        publication = run_stages(shop.pipeline, ["2026-03-07"])
        assert publication is not None
        assert [(row.status, row.raw_rows) for row in publication.published] == [("published", 9)]


class TestAnotherRunMeanwhile:
    def test_a_newer_landing_since_the_load_fails_the_day(
        self, shop: Shop, loaded: Pipeline
    ) -> None:
        candidate = loaded.candidate("run")
        transform_keys(loaded, DAYS, candidate)
        shop.deliver_day(BAD_DAY, price="3.10")
        extract_and_load(loaded, [BAD_DAY])
        found = reasons(validate_candidate(loaded, candidate))
        assert list(found) == [BAD_DAY]
        assert "another run has landed a newer delivery" in found[BAD_DAY][0]

    def test_a_landing_that_is_replaced_while_it_is_counted_fails_the_day(
        self, shop: Shop, loaded: Pipeline
    ) -> None:
        @dataclass(frozen=True)
        class Overtaken(Landing):
            """Another run lands the bad day anew as soon as its manifest was read."""

            def read(self, feed: str, key: str) -> Manifest | None:
                manifest = super().read(feed, key)
                if (feed, key) == ("orders", BAD_DAY):
                    shop.deliver_day(BAD_DAY, price="3.10")
                    extract_and_load(loaded, [BAD_DAY])
                return manifest

        candidate = loaded.candidate("run")
        transform_keys(loaded, DAYS, candidate)
        validation = validate(
            candidate,
            feeds=loaded.feeds,
            partitions=loaded.partitions,
            landing=Overtaken(**vars(loaded.landing)),
            rules=loaded.rules,
        )
        assert list(reasons(validation)) == [BAD_DAY]
        assert "another run has landed a newer delivery" in reasons(validation)[BAD_DAY][0]


def test_a_failing_test_of_severity_warn_is_shown_and_holds_nothing_back(
    shop: Shop, loaded: Pipeline
) -> None:
    shop.deliver("customers", BAD_DAY, [customer(BAD_DAY, 0)])
    extract_and_load(loaded, DAYS)
    candidate = loaded.candidate("run")
    built = transform_keys(loaded, DAYS, candidate)
    failing = [test for test in built.tests if not test.passed]
    assert failing == [
        CheckResult(
            "the_customer_of_an_order_was_seen_that_day",
            BAD_DAY,
            passed=False,
            description="2 failing rows",
            warn_only=True,
            metadata={"failing_rows": 2},
        )
    ]
    assert reasons(validate_candidate(loaded, candidate)) == {}


def test_a_day_that_failed_before_does_not_fail_a_later_one(shop: Shop) -> None:
    shop.deliver("orders", DAYS[0], [line(DAYS[0], 1, order_id=" ")])
    shop.deliver("customers", DAYS[0], [customer(DAYS[0], 1)])
    shop.deliver_day(DAYS[2])
    first = run_stages(shop.pipeline, [DAYS[0]])
    later = run_stages(shop.pipeline, [DAYS[2]])
    assert first is not None and not first.published
    assert later is not None and not later.casualties
    statuses = query(
        shop.settings.warehouse_path, "select partition_key, outcome from ops.attempts order by 1"
    )
    assert statuses == [(DAYS[0], "failed"), (DAYS[2], "published")]


def test_a_rule_that_cannot_be_computed_fails_the_run_with_its_place(loaded: Pipeline) -> None:
    aggregate = Aggregate.model_validate(
        {"from": "main.fct_orders", "value": "sum(no_such_column)"}
    )
    rule = Rule(name="rule", model="fct_orders", expected=aggregate, actual=aggregate)
    candidate = loaded.candidate("run")
    transform_keys(loaded, DAYS, candidate)
    with pytest.raises(StageError, match="no_such_column") as caught:
        validate(
            candidate,
            feeds=loaded.feeds,
            partitions=loaded.partitions,
            landing=loaded.landing,
            rules=[rule],
        )
    assert caught.value.where == "dbt model fct_orders, meta.reconcile.rule"


def test_without_a_candidate_it_says_what_to_select(loaded: Pipeline) -> None:
    with pytest.raises(StageError, match="select candidate/\\*, validation/\\* and marts/\\*"):
        validate_candidate(loaded, loaded.candidate("none"))
