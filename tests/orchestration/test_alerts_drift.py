"""Columns that are not as declared are told when that begins, and not on each day that is like it."""

from __future__ import annotations

from collections.abc import Iterator
from datetime import UTC, datetime, timedelta
from pathlib import Path

import pytest

from customer_pipeline.alerts.mutes import Mute, mute
from tests.support.alert_desk import AlertDesk
from tests.support.dagster_processes import Home
from tests.support.receiver import receiver
from tests.support.runs import run_days
from tests.support.shop import SOURCE, Shop
from tests.support.stages import extract_and_load

DAYS = [f"2026-03-{day:02}" for day in range(1, 7)]
_ALLOWED = SOURCE.replace(
    "path: deliveries/orders/{date}.csv",
    "path: deliveries/orders/{date}.csv\n    new_columns: ignore",
)


@pytest.fixture
def shop(tmp_path: Path, dbt_cache: Path, without_dbt: None) -> Shop:
    return Shop(tmp_path / "shop", source=_ALLOWED, dbt_cache=dbt_cache)


@pytest.fixture
def desk(shop: Shop, home: Home) -> Iterator[AlertDesk]:
    with receiver() as inbox, home.instance() as instance:
        yield AlertDesk(shop, instance, inbox)


def deliver(shop: Shop, day: str, *, more: str = "") -> None:
    """A plain day, whose orders may have one more column."""
    shop.deliver_day(day)
    if more:
        path = shop.path("orders", day)
        header, *lines = path.read_text().splitlines()
        with_more = [f"{header},{more}", *(f"{line},x" for line in lines)]
        path.write_text("".join(f"{line}\n" for line in with_more))


def load(shop: Shop, *days: str) -> None:
    extract_and_load(shop.pipeline, days)


@pytest.mark.slow
def test_three_days_with_the_same_new_column_in_three_runs_are_one_message(
    desk: AlertDesk, shop: Shop, home: Home
) -> None:
    for day in DAYS[1:4]:
        deliver(shop, day, more="loyalty")
    run_days(shop, home, DAYS[1])
    (message,) = desk.told()
    assert message.title == (
        f"warning: daily_customers: orders: columns not as declared since {DAYS[1]}"
    )
    assert message.body.splitlines() == [
        f"new column 'loyalty', since {DAYS[1]}: it is ignored; declare it in the source's YAML to"
        " load it",
        f"more: customer-pipeline status --day {DAYS[1]}",
    ]
    for day in DAYS[2:4]:
        run_days(shop, home, day)
        assert desk.told() == []


def test_another_column_or_another_beginning_is_told_and_an_earlier_day_like_it_is_not(
    desk: AlertDesk, shop: Shop
) -> None:
    deliver(shop, DAYS[2], more="loyalty")
    load(shop, DAYS[2])
    assert len(desk.told()) == 1
    deliver(shop, DAYS[1], more="loyalty")
    load(shop, DAYS[1])
    assert desk.told() == [], "it began earlier than it seemed"
    deliver(shop, DAYS[3], more="loyalty,points")
    load(shop, DAYS[3])
    (message,) = desk.told()
    assert message.body.startswith(f"new column 'points', since {DAYS[3]}")
    deliver(shop, DAYS[4])
    load(shop, DAYS[4])
    assert desk.told() == []
    for _ in range(2):
        deliver(shop, DAYS[5], more="loyalty")
        load(shop, DAYS[5])
        (message,) = desk.told()
        assert message.title.endswith(f"since {DAYS[5]}")
        deliver(shop, DAYS[5])
        load(shop, DAYS[5])
        assert desk.told() == []


def test_a_first_day_that_is_corrected_does_not_make_the_others_news(
    desk: AlertDesk, shop: Shop
) -> None:
    for day in DAYS[1:4]:
        deliver(shop, day, more="loyalty")
    load(shop, *DAYS[1:4])
    assert len(desk.told()) == 1
    for corrected in DAYS[1:3]:
        deliver(shop, corrected)
        load(shop, corrected)
        assert desk.told() == []
    # What begins after that is another one, told or not.
    deliver(shop, DAYS[4])
    deliver(shop, DAYS[5], more="loyalty")
    load(shop, *DAYS[4:6])
    (message,) = desk.told()
    assert message.title.endswith(f"since {DAYS[5]}")


def test_what_refuses_a_delivery_is_told_as_the_failure_of_its_day_alone(
    desk: AlertDesk, shop: Shop, home: Home
) -> None:
    deliver(shop, DAYS[1])
    path = shop.path("orders", DAYS[1])
    path.write_text(path.read_text().replace("stock_code", "stockcode", 1))
    run_days(shop, home, DAYS[1])
    (message,) = desk.told()
    assert message.title == f"error: daily_customers: {DAYS[1]} failed in extract"
    assert "stock_code" in message.body
    assert desk.told() == []


def test_what_began_before_anybody_looked_is_not_told_and_what_is_muted_later(
    desk: AlertDesk, shop: Shop
) -> None:
    desk.watch.store.path.unlink()
    for day in DAYS[1:3]:
        deliver(shop, day, more="loyalty")
    load(shop, DAYS[1])
    assert desk.told() == []
    load(shop, DAYS[2])
    assert desk.told() == []
    with desk.watch.store.transaction() as connection:
        now = datetime.now(UTC)
        mute(connection, Mute("orders", now + timedelta(hours=1), "known", "me"), now)
    deliver(shop, DAYS[3], more="points")
    load(shop, DAYS[3])
    assert desk.told() == []
    assert len(desk.told(after=timedelta(hours=2))) == 1
