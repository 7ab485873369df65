"""What is told of schedules and sensors: a day that a schedule owes, and one that keeps failing (cases
A6, A7)."""

from __future__ import annotations

from collections.abc import Iterator
from datetime import UTC, datetime, time, timedelta
from zoneinfo import ZoneInfo

import pytest

from customer_pipeline.alerts.health import health
from customer_pipeline.orchestration.alerting.due import due_partitions
from customer_pipeline.source.partitions import DailyPartitions
from tests.support.alert_desk import AlertDesk
from tests.support.dagster_processes import Home
from tests.support.instance_traces import switch, tick
from tests.support.receiver import receiver
from tests.support.shop import Shop

SCHEDULE, SENSOR = "daily_customer_pipeline_schedule", "reporting_on_publish"
LONDON = ZoneInfo("Europe/London")
HOUR = timedelta(hours=1)


@pytest.fixture
def desk(shop: Shop, home: Home) -> Iterator[AlertDesk]:
    with receiver() as inbox, home.instance() as instance:
        yield AlertDesk(shop, instance, inbox)


def test_a_scheduled_day_is_overdue_at_its_hour_and_told_once(desk: AlertDesk) -> None:
    switch(desk.instance, "schedule", SCHEDULE, "RUNNING")
    today = datetime.now(LONDON).date()
    due = datetime.combine(today + timedelta(days=1), time(7), tzinfo=LONDON)
    to_due = due - datetime.now(LONDON)
    assert desk.told(after=to_due - HOUR) == []
    (message,) = desk.told(after=2 * HOUR)
    assert message.title == f"error: daily_customers: {today} overdue"
    assert f"due {due:%Y-%m-%d} 07:00 (Europe/London)" in message.body
    assert desk.told(after=HOUR) == []
    # That it failed is more than that it is late.
    desk.failed(str(today))
    (message,) = desk.told(after=HOUR)
    assert f"{today} failed in extract" in message.title
    desk.published(str(today))
    (message,) = desk.told()
    assert message.title.startswith("well again")


def test_no_day_is_overdue_while_the_schedule_is_off(desk: AlertDesk) -> None:
    assert desk.told(after=72 * HOUR) == []


def test_days_from_before_the_schedule_was_on_are_not_due() -> None:
    partitions = DailyPartitions(datetime(2026, 3, 1, tzinfo=UTC).date(), None, LONDON)
    on = datetime(2026, 3, 28, 12, tzinfo=LONDON)
    now = datetime(2026, 3, 30, 7, tzinfo=LONDON)
    # The clocks change in the night to the 29th; seven is seven.
    assert due_partitions(partitions, 7 * HOUR, on, now) == {
        "2026-03-28": datetime(2026, 3, 29, 7, tzinfo=LONDON),
        "2026-03-29": datetime(2026, 3, 30, 7, tzinfo=LONDON),
    }
    assert "2026-03-29" not in due_partitions(partitions, 7 * HOUR, on, now - HOUR)


def test_a_sensor_is_told_when_three_ticks_failed_and_when_it_works_again(desk: AlertDesk) -> None:
    switch(desk.instance, "sensor", SENSOR, "RUNNING")
    for _ in range(2):
        tick(desk.instance, "sensor", SENSOR, "FAILURE", error="boom")
    assert desk.told() == []
    for _ in range(3):
        tick(desk.instance, "sensor", SENSOR, "FAILURE", error="boom")
    (message,) = desk.told()
    assert message.title == f"error: the sensor {SENSOR} keeps failing"
    assert "boom" in message.body
    assert desk.told(after=HOUR) == []
    tick(desk.instance, "sensor", SENSOR, "SKIPPED")
    (message,) = desk.told()
    assert message.title == f"well again: {SENSOR}: {SENSOR} works again"


def test_a_broken_warehouse_is_no_reason_to_be_silent(desk: AlertDesk) -> None:
    desk.failed("2026-03-01")
    assert len(desk.told()) == 1
    desk.pipeline.warehouse.path.write_text("not a database")
    desk.instance.report_run_failed(desk.run("2026-03-02"), "the warehouse is broken")
    for minutes in (0, 6, 6):
        desk.ahead += timedelta(minutes=minutes)
        with pytest.raises(Exception, match="cannot be opened as a DuckDB file"):
            desk.told()
    (message,) = desk.deliver()
    assert message.title == "error: daily_customers: 2026-03-02 lost in a failed run"


def test_who_asks_from_outside_hears_what_is_pending(desk: AlertDesk) -> None:
    desk.receiver.always("a", 500)
    desk.failed("2026-03-01")
    desk.told()
    found = health(desk.watch.store)
    assert [one.message.title for one in found.refused] == [
        "daily_customers: 2026-03-01 failed in extract"
    ]
