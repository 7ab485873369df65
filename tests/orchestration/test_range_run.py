"""A run over several days: each day keeps its own numbers, its own checks and its own end (contract
4 and 5; cases B2, B4, C3, C7, D8, D12).
"""

from __future__ import annotations

from collections import Counter
from pathlib import Path

import pytest

from tests.support.dagster_processes import Home, home_template
from tests.support.runs import Ran, run_days
from tests.support.shop import HEADERS, Shop, customer, line
from tests.support.warehouse import content_hashes, query

GOOD, MANY, CUT, BLANK, NONE, CLOSED = (f"2026-03-0{day}" for day in range(2, 8))
GOOD_DAYS = ("2026-03-10", "2026-03-11", "2026-03-12")
DAYS = [GOOD, MANY, CUT, BLANK, NONE, CLOSED]
SURVIVORS = [GOOD, MANY, CLOSED]
MARTS = ("daily_summary", "dim_customers", "fct_events", "fct_orders", "sales_summary")


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return tmp_path_factory.mktemp("range_run")


@pytest.fixture(scope="module")
def shop(folder: Path, dbt_cache: Path) -> Shop:
    """Two good days; one cut off; one with an order without id; one without orders; one closed."""
    shop = Shop(folder / "shop", dbt_cache=dbt_cache)
    shop.deliver_day(GOOD, orders=2)
    shop.deliver_day(MANY, orders=4)
    shop.deliver_day(CUT)
    shop.path("orders", CUT).write_text(shop.path("orders", CUT).read_text()[:-5])
    shop.deliver_day(BLANK)
    shop.deliver("orders", BLANK, [line(BLANK, 0), line(BLANK, 1, order_id="  ")])
    shop.deliver_day(NONE)
    shop.deliver("orders", NONE, [])
    return shop


@pytest.fixture(scope="module")
def home(folder: Path, session_folder: Path, shop: Shop) -> Home:
    return Home(folder / "home", shop.environment, template=home_template(session_folder))


@pytest.fixture(scope="module")
def ran(shop: Shop, home: Home) -> Ran:
    return run_days(shop, home, DAYS[0], DAYS[-1])


@pytest.fixture(scope="module")
def good(shop: Shop, home: Home) -> Ran:
    """A run over three good days with 5, 7 and 9 order lines."""
    for day, lines in zip(GOOD_DAYS, (5, 7, 9), strict=True):
        shop.deliver("orders", day, [line(day, n) for n in range(lines)])
        shop.deliver("customers", day, [customer(day, n) for n in range(lines)])
    return run_days(shop, home, GOOD_DAYS[0], GOOD_DAYS[-1])


def test_every_day_shows_its_own_row_count_at_every_stage(good: Ran) -> None:
    each = dict(zip(GOOD_DAYS, (5, 7, 9), strict=True))
    assert good.succeeded
    for asset in ("landing/orders", "raw/orders", "candidate/fct_orders", "marts/fct_orders"):
        assert good.rows(asset) == each, asset
    assert good.rows("marts/daily_summary") == dict.fromkeys(GOOD_DAYS, 1)
    verdict = "validation/daily_customers"
    assert good.metadata(verdict, "raw_rows") == {day: 2 * rows for day, rows in each.items()}
    assert good.metadata(verdict, "verdict") == dict.fromkeys(GOOD_DAYS, "passed")


def test_every_day_shows_its_own_window_and_hash(shop: Shop, good: Ran) -> None:
    shown = good.metadata("marts/fct_orders", "content_hash")
    published = content_hashes(shop.settings.warehouse_path)
    assert shown == {day: published[day] for day in GOOD_DAYS}
    assert len(set(shown.values())) == len(GOOD_DAYS)
    windows = good.metadata("landing/orders", "window")
    assert windows["2026-03-11"] == "[2026-03-11T00:00:00+00:00, 2026-03-12T00:00:00+00:00)"


def test_every_check_that_was_planned_is_evaluated_once_per_day(good: Ran) -> None:
    evaluated = Counter(
        event.asset_check_evaluation_data.partition
        for event in good.events("ASSET_CHECK_EVALUATION")
    )
    planned = len(good.events("ASSET_CHECK_EVALUATION_PLANNED"))
    assert planned > 40
    # The one without a day is what Dagster wants a step to yield: the worst of all days.
    assert evaluated == dict.fromkeys([*GOOD_DAYS, None], planned)
    assert set(good.checks.values()) == {"SUCCEEDED"}


@pytest.mark.parametrize("last", [None, "2026-03-10"], ids=["a day", "a range of one day"])
def test_one_day_alone_has_its_checks_under_its_name(
    shop: Shop, home: Home, good: Ran, last: str | None
) -> None:
    again = run_days(shop, home, GOOD_DAYS[0], last)
    assert again.succeeded
    of_the_day = {(asset, check): status for (asset, check, day), status in again.checks.items()
                  if day == GOOD_DAYS[0]}  # fmt: skip
    assert len(of_the_day) == len(good.events("ASSET_CHECK_EVALUATION_PLANNED"))
    assert set(of_the_day.values()) == {"SUCCEEDED"}


def test_survivors_are_published_and_casualties_are_not(shop: Shop, ran: Ran) -> None:
    assert not ran.succeeded
    for mart in MARTS:
        assert ran.materialized(f"marts/{mart}") == SURVIVORS, mart
    published = query(
        shop.settings.warehouse_path,
        "select partition_key, status from ops.partitions where run_id = ? order by 1",
        [ran.run_id],
    )
    assert published == [(GOOD, "published"), (MANY, "published"), (CLOSED, "empty")]


def test_survivors_in_a_failed_run_show_their_own_numbers(ran: Ran) -> None:
    assert ran.rows("marts/fct_orders") == {GOOD: 2, MANY: 4, CLOSED: 0}
    assert ran.metadata("marts/fct_orders", "status") == {
        GOOD: "published",
        MANY: "published",
        CLOSED: "empty",
    }


def test_dagster_can_tell_when_a_survivor_becomes_stale(shop: Shop, ran: Ran, good: Ran) -> None:
    for of_run, keys in ((ran, SURVIVORS), (good, GOOD_DAYS)):
        versions = of_run.tags("marts/fct_orders", "dagster/code_version")
        assert versions == dict.fromkeys(keys, shop.pipeline.code_version)
    contents = ran.tags("marts/fct_orders", "dagster/data_version")
    hashes = content_hashes(shop.pipeline.warehouse.path)
    assert contents == {key: hashes[key] for key in SURVIVORS}


def test_the_error_names_every_casualty_with_its_stage_and_its_reason(ran: Ran) -> None:
    assert ran.steps("STEP_FAILURE") == ["publish_daily_customers"]
    headline, *lines = ran.error.strip().splitlines()
    assert headline.endswith("3 of 6 partitions failed:")
    assert [line[: len(f"{CUT} (validate)")].split(":")[0] for line in lines] == [
        f"{CUT} (extract)",
        f"{BLANK} (validate)",
        f"{NONE} (validate)",
    ]
    for reason, said in zip(
        ("cut off", "an_order_line_says_what_was_ordered_when: 1 failing row", "orders_has_rows"),
        lines,
        strict=True,
    ):
        assert reason in said


def test_the_ledger_holds_each_days_own_end(shop: Shop, ran: Ran) -> None:
    attempts = query(
        shop.settings.warehouse_path,
        "select partition_key, outcome, stage, reason from ops.attempts where run_id = ? order by 1",
        [ran.run_id],
    )
    assert [attempt[:3] for attempt in attempts] == [
        (GOOD, "published", "publish"),
        (MANY, "published", "publish"),
        (CUT, "failed", "extract"),
        (BLANK, "failed", "validate"),
        (NONE, "failed", "validate"),
        (CLOSED, "empty", "publish"),
    ]
    for day, _, _, reason in attempts:
        assert (reason is None) == (day in SURVIVORS)
        assert reason is None or reason in ran.error


def test_a_check_fails_against_the_day_that_failed_it_and_no_other(ran: Ran) -> None:
    failed = ran.failed_checks()
    assert failed[CUT] == {"delivery_is_usable", "partition_is_publishable"}
    assert failed[NONE] == {"orders_has_rows", "partition_is_publishable"}
    assert failed[BLANK] >= {
        "an_order_line_says_what_was_ordered_when",
        "not_null_fct_orders_order_id",
        "partition_is_publishable",
    }
    assert not failed.keys() & set(SURVIVORS)
    # What Dagster shows of a check as a whole is the worst of all days.
    assert failed[None] == failed[CUT] | failed[NONE] | failed[BLANK]


def test_every_day_that_a_step_still_had_is_evaluated_and_the_rest_stays_planned(ran: Ran) -> None:
    planned = {(asset, check) for (asset, check, partition) in ran.checks if partition == GOOD}
    for day in [*SURVIVORS, BLANK, NONE]:
        open_checks = [
            check for (_, check, of), status in ran.checks.items()
            if of == day and status == "PLANNED"
        ]  # fmt: skip
        # What is published is checked where something is published.
        assert open_checks == ([] if day in SURVIVORS else ["messages_do_not_conflict"]), day
    evaluated_of_cut = {
        (asset, check)
        for (asset, check, day), status in ran.checks.items()
        if day == CUT and status != "PLANNED"
    }
    assert evaluated_of_cut == {
        *((f"landing/{feed}", "delivery_is_usable") for feed in HEADERS),
        *((f"landing/{feed}", "columns_are_as_declared") for feed in HEADERS),
        ("validation/daily_customers", "partition_is_publishable"),
    }
    assert evaluated_of_cut < planned


def test_a_mended_day_is_published_by_a_run_of_its_own(shop: Shop, home: Home, ran: Ran) -> None:
    before = content_hashes(shop.settings.warehouse_path)
    shop.deliver_day(BLANK)
    assert run_days(shop, home, BLANK).succeeded
    after = content_hashes(shop.settings.warehouse_path)
    assert after.keys() - before.keys() == {BLANK}
    assert {day: after[day] for day in before} == before
    assert ran.run_id not in {
        run for (run,) in query(
            shop.settings.warehouse_path,
            "select run_id from ops.partitions where partition_key = ?", [BLANK],
        )
    }  # fmt: skip
