"""A delivery that vanished is told, not emptied; and so is a new one that no run could use."""

from __future__ import annotations

import os
import time
from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.support.alert_desk import AlertDesk
from tests.support.dagster_processes import Home
from tests.support.late_desk import LateDesk
from tests.support.receiver import Received, receiver
from tests.support.shop import SOURCE, Shop, customer
from tests.support.stages import run_stages

DAYS = [f"2026-03-{day:02}" for day in range(1, 6)]
_LONG_AGO = time.time() - 7200
# Of orders, a second version is refused; what was just written of customers is not complete.
_SOURCE = (
    SOURCE.replace("timezone:", "end: 2026-03-05\ntimezone:")
    .replace("deliveries/orders/{date}.csv", "deliveries/orders/{date}.{version}")
    .replace(
        "path: deliveries/customers/{date}.csv",
        "path: deliveries/customers/{date}.csv\n    ready_when: {quiet_for: 3600}",
    )
)


class Desk:
    """The sensor that looks for late data, and who tells what it has seen."""

    def __init__(self, alerts: AlertDesk) -> None:
        self.shop, self.alerts = alerts.shop, alerts
        self.late = LateDesk(alerts.shop, alerts.instance)

    def told(self) -> list[Received]:
        assert self.late.tick() == []
        return self.alerts.told()

    def put_back(self, *days: str) -> None:
        for day in days:
            self.shop.deliver_day(day)
            for feed in ("orders", "customers"):
                os.utime(self.shop.path(feed, day), (_LONG_AGO, _LONG_AGO))


@pytest.fixture
def shop(tmp_path: Path, dbt_cache: Path, without_dbt: None) -> Shop:
    return Shop(tmp_path / "shop", source=_SOURCE, dbt_cache=dbt_cache)


@pytest.fixture
def desk(shop: Shop, home: Home) -> Iterator[Desk]:
    with receiver() as inbox, home.instance() as instance:
        desk = Desk(AlertDesk(shop, instance, inbox))
        desk.put_back(*DAYS)
        run_stages(shop.pipeline, DAYS, lake=False)
        yield desk


def test_what_vanished_is_told_once_and_again_when_it_is_there(desk: Desk) -> None:
    desk.shop.withdraw("orders", DAYS[1])
    (message,) = desk.told()
    assert message.title == (
        f"warning: daily_customers: orders of {DAYS[1]} is gone from the source"
    )
    assert message.body.splitlines() == [
        "ask for it again; if the source does not keep deliveries that long, lower the feed's"
        " look_back",
        "what is published stays published",
        f"more: customer-pipeline status --day {DAYS[1]} --source",
    ]
    assert desk.told() == []

    for day in DAYS[1:4]:
        for feed in ("orders", "customers"):
            desk.shop.withdraw(feed, day)
    (message,) = desk.told()
    assert message.title == "warning: daily_customers: 5 deliveries are gone from the source"
    assert f"- {DAYS[1]} to {DAYS[3]} (3): customers\n" in message.body
    assert f"- {DAYS[2]} to {DAYS[3]} (2): orders\n" in message.body
    assert desk.told() == []

    desk.put_back(*DAYS[1:4])
    (message,) = desk.told()
    assert message.title == "resolved: daily_customers: 6 deliveries are in order again"
    desk.shop.withdraw("orders", DAYS[1])
    assert len(desk.told()) == 1, "another vanishing"


def test_a_second_version_that_is_refused_is_told_and_what_is_being_written_is_not(
    desk: Desk,
) -> None:
    second = desk.shop.path("orders", DAYS[2]).with_suffix(".csv2")
    second.write_text("half")
    desk.shop.deliver("customers", DAYS[4], [customer(DAYS[4], n) for n in range(9)])
    (message,) = desk.told()
    assert message.title == (
        f"warning: daily_customers: orders of {DAYS[2]} is in a form that no run can use"
    )
    assert "there are 2 versions of the delivery" in message.body
    assert desk.told() == []
    second.unlink()
    assert [one.title for one in desk.told()] == [
        f"resolved: daily_customers: orders of {DAYS[2]} is in order again"
    ]
