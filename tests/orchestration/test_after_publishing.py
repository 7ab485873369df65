"""What a run says and does once its days are published: contradicting messages, and the lake."""

from __future__ import annotations

import pytest

from tests.support.dagster_processes import Home
from tests.support.runs import run_days
from tests.support.shop import Shop, event
from tests.support.warehouse import query

DAYS = ["2026-03-03", "2026-03-04", "2026-03-05"]
MARTS = ("daily_summary", "dim_customers", "fct_events", "fct_orders", "sales_summary")


@pytest.fixture
def delivered(shop: Shop) -> Shop:
    for day in DAYS:
        shop.deliver_day(day)
    return shop


def test_a_message_that_comes_again_with_other_content_is_a_warning_on_its_day(
    delivered: Shop, home: Home, without_dbt: None
) -> None:
    first, again, other = DAYS
    delivered.deliver("events", first, [event(first, 1), event(first, 1), event(first, 2)])
    delivered.deliver("events", again, [event(first, 1, payload="another"), event(first, 2)])
    ran = run_days(delivered, home, first, other)
    assert ran.succeeded, ran.errors
    check = ("marts/fct_events", "messages_do_not_conflict")
    assert {day: ran.checks[*check, day] for day in DAYS} == {
        first: "SUCCEEDED",
        again: "FAILED",
        other: "SUCCEEDED",
    }
    evaluated = {
        event.asset_check_evaluation_data.partition: event.asset_check_evaluation_data
        for event in ran.events("ASSET_CHECK_EVALUATION")
        if event.asset_check_evaluation_data.check_name == check[1]
    }
    assert evaluated[again].severity.value == "WARN"
    shown = {name: value.value for name, value in evaluated[again].metadata.items()}
    assert shown == {"conflicts": 1, "copies": 1}
    assert ran.rows("marts/fct_events") == {first: 2, again: 0, other: 0}


def test_a_lake_that_cannot_follow_fails_the_run_and_no_day_and_the_next_run_makes_up_for_it(
    delivered: Shop, home: Home, without_dbt: None
) -> None:
    lake = delivered.settings.lake_path
    lake.parent.mkdir(exist_ok=True)
    lake.write_text("in the way")
    ran = run_days(delivered, home, DAYS[0], DAYS[-1])
    assert not ran.succeeded
    assert "everything is published, but the lake is behind" in ran.error
    assert ran.steps("STEP_UP_FOR_RETRY") == []
    for mart in MARTS:
        assert set(ran.rows(f"marts/{mart}")) == set(DAYS), mart
    warehouse = delivered.settings.warehouse_path
    assert query(warehouse, "select distinct outcome from ops.attempts") == [("published",)]

    lake.unlink()
    assert run_days(delivered, home, DAYS[0]).succeeded
    pipeline = delivered.pipeline
    assert pipeline.verifier.findings(pipeline.partitions.windows(DAYS)) == []
