"""Corrections and late deliveries: which runs the sensor asks for, and that it asks once (cases T9,
T12).
"""

from __future__ import annotations

import os
import time
from collections.abc import Iterator
from pathlib import Path

import dagster as dg
import pytest

from customer_pipeline.outcomes import Casualty
from customer_pipeline.warehouse.sql import transaction
from customer_pipeline.warehouse.waivers import Waiver, grant_waivers
from tests.support.dagster_processes import Home
from tests.support.late_desk import END, START, LateDesk
from tests.support.shop import SOURCE, Shop, line
from tests.support.stages import new_run, record, run_stages

DAYS = [f"2026-03-{day:02}" for day in range(1, 7)]
FIRST, SECOND, THIRD, FOURTH, FIFTH, NEVER = DAYS
_ENDED = SOURCE.replace("timezone:", "end: 2026-03-06\ntimezone:")
_LONG_AGO = time.time() - 3600


@pytest.fixture
def shop(tmp_path: Path, dbt_cache: Path, without_dbt: None) -> Shop:
    return Shop(tmp_path / "shop", source=_ENDED, dbt_cache=dbt_cache)


@pytest.fixture
def desk(shop: Shop, home: Home) -> Iterator[LateDesk]:
    """Five days are published, of the last one nobody has ever asked for."""
    for day in DAYS[:5]:
        shop.deliver_day(day)
    for file in (shop.root / "deliveries").glob("*/*.csv"):
        os.utime(file, (_LONG_AGO, _LONG_AGO))
    run_stages(shop.pipeline, DAYS[:5], lake=False)
    with home.instance() as instance:
        yield LateDesk(shop, instance)


def test_what_was_left_alone_starts_nothing(desk: LateDesk) -> None:
    assert desk.tick() == []
    assert desk.said == "the source offers nothing new"


def test_a_correction_is_run_once_with_its_reason_and_nothing_else_is(desk: LateDesk) -> None:
    desk.correct(SECOND, orders=5)
    (request,) = desk.requests()
    assert (request.tags[START], request.tags[END]) == (SECOND, SECOND)
    assert "orders: its delivery has changed since" in request.tags["customer_pipeline/reason"]
    assert "dagster/priority" not in request.tags
    assert desk.tick() == []

    desk.run(SECOND)
    assert desk.tick() == []


def test_neighbours_are_one_run_and_others_are_runs_of_their_own(desk: LateDesk) -> None:
    for day in (FIRST, SECOND, FOURTH):
        desk.correct(day, orders=4)
    assert desk.tick() == [(FIRST, SECOND), (FOURTH, FOURTH)]


def test_a_second_correction_of_a_day_is_asked_for_too_and_so_is_going_back(desk: LateDesk) -> None:
    desk.correct(SECOND, orders=5)
    assert desk.tick() == [(SECOND, SECOND)]
    desk.run(SECOND)
    for orders in (3, 5):
        desk.correct(SECOND, orders=orders)
        assert desk.tick() == [(SECOND, SECOND)]
        desk.run(SECOND)
    assert desk.tick() == []


def test_a_correction_that_comes_while_its_day_is_run_is_not_lost(desk: LateDesk) -> None:
    job = desk.repository.get_job("daily_customer_pipeline")
    run = desk.instance.create_run_for_job(
        job, status=dg.DagsterRunStatus.STARTED, tags={START: FIRST, END: THIRD}
    )
    desk.correct(SECOND, orders=5)
    assert desk.tick() == []
    assert desk.said == f"waiting: {SECOND} is being processed by run {run.run_id[:8]}"

    desk.instance.report_run_canceled(run)
    assert desk.tick() == [(SECOND, SECOND)]


def test_a_late_file_is_run_when_all_of_its_day_is_there(desk: LateDesk) -> None:
    shop = desk.shop
    record(shop.pipeline, new_run(shop.pipeline), [Casualty(NEVER, "extract", "no file")])
    assert desk.tick() == []
    shop.deliver("orders", NEVER, [line(NEVER, 1)])
    assert desk.tick() == []
    shop.deliver_day(NEVER)
    assert desk.tick() == [(NEVER, NEVER)]
    assert desk.tick() == []


def test_a_delivery_that_was_refused_is_not_run_again_until_it_is_another(desk: LateDesk) -> None:
    path = desk.shop.path("orders", SECOND)
    path.write_text(path.read_text()[:-4])
    assert desk.tick() == [(SECOND, SECOND)]
    desk.run(SECOND)
    # As by somebody who has switched the sensor off and on again, and so lost what it has asked.
    desk.cursor = None
    assert desk.tick() == []
    desk.correct(SECOND, orders=2)
    assert desk.tick() == [(SECOND, SECOND)]


def test_a_day_that_nobody_has_ever_asked_for_is_not_asked_for(desk: LateDesk) -> None:
    desk.shop.deliver_day(NEVER)
    assert desk.tick() == []


def test_a_waived_day_is_left_alone(desk: LateDesk) -> None:
    shop = desk.shop
    record(shop.pipeline, new_run(shop.pipeline), [Casualty(NEVER, "extract", "no file")])
    with shop.pipeline.warehouse.write() as connection, transaction(connection):
        waiver = Waiver(NEVER, "closed", "ann", new_run(shop.pipeline).started_at)
        grant_waivers(connection, shop.pipeline.name, [waiver])
    shop.deliver_day(NEVER)
    assert desk.tick() == []


def test_a_delivery_that_has_vanished_starts_nothing(desk: LateDesk) -> None:
    desk.shop.withdraw("orders", THIRD)
    assert desk.tick() == []


def test_each_feed_is_looked_at_as_far_back_as_it_says(
    tmp_path: Path, dbt_cache: Path, without_dbt: None, home: Home
) -> None:
    source = _ENDED.replace("  orders:\n", "  orders:\n    look_back: 2\n")
    source = source.replace("  customers:\n", "  customers:\n    look_back: 0\n")
    shop = Shop(tmp_path / "other", source=source, dbt_cache=dbt_cache)
    for day in DAYS[:5]:
        shop.deliver_day(day)
    run_stages(shop.pipeline, DAYS[:5], lake=False)
    with home.instance() as instance:
        desk = LateDesk(shop, instance)
        for day in (FOURTH, FIFTH):
            desk.correct(day, orders=9)
        assert desk.tick() == [(FIFTH, FIFTH)]


def test_a_correction_waits_for_another_feed_s_delivery_to_be_complete(
    tmp_path: Path, dbt_cache: Path, without_dbt: None, home: Home
) -> None:
    path = "path: deliveries/customers/{date}.csv"
    source = _ENDED.replace(path, f"{path}\n    ready_when: {{suffix: .done}}")
    shop = Shop(tmp_path / "other", source=source, dbt_cache=dbt_cache)
    shop.deliver_day(FIFTH)
    done = shop.path("customers", FIFTH).with_name(f"{FIFTH}.csv.done")
    done.touch()
    run_stages(shop.pipeline, [FIFTH], lake=False)
    with home.instance() as instance:
        desk = LateDesk(shop, instance)
        done.unlink()
        desk.correct(FIFTH, orders=9)
        assert desk.tick() == []
        done.touch()
        assert desk.tick() == [(FIFTH, FIFTH)]
