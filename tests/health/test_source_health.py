"""What is said of each feed, from where its deliveries should lie."""

from __future__ import annotations

import shutil
from datetime import UTC, datetime
from pathlib import Path

import pytest

from customer_pipeline.errors import TransientError
from customer_pipeline.health.finding import Finding
from customer_pipeline.health.source import look_at_source
from tests.support.shop import SOURCE, Shop

# The 8th and the 7th are empty by rule, and events need not be delivered.
NOW = datetime(2026, 3, 7, 12, tzinfo=UTC)
NEWEST = "2026-03-06"


def offline(window: object) -> None:
    """A source that cannot be reached."""
    raise TransientError("the shop does not answer", todo="wait for it")


def _look(shop: Shop, now: datetime = NOW) -> dict[str, Finding]:
    return {one.name: one for one in look_at_source(shop.pipeline.source, now)}


@pytest.fixture
def shop(tmp_path: Path) -> Shop:
    shop = Shop(tmp_path)
    for day in ("2026-03-05", NEWEST):
        shop.deliver_day(day)
    return shop


def test_what_is_delivered_and_what_need_not_be_are_fine(shop: Shop) -> None:
    found = _look(shop)
    assert {one.level for one in found.values()} == {"ok"}
    assert "3 feeds from 2026-03-01 in Europe/London" in found["shop"].words
    assert found["orders"].words == "2026-03-06 has been delivered"
    assert "which the feed's rule allows" in found["events"].words


def test_a_late_delivery_is_a_warning_that_names_the_newest(shop: Shop) -> None:
    shop.withdraw("orders", NEWEST)
    found = _look(shop)
    assert found["orders"].level == "warning"
    assert "the newest delivery is 2026-03-05" in found["orders"].words
    assert found["customers"].level == "ok"


def test_deliveries_that_stopped_long_ago_are_told_from_a_wrong_path(shop: Shop) -> None:
    found = _look(shop, datetime(2026, 3, 20, 12, tzinfo=UTC))
    assert found["orders"].level == "warning"
    assert "2026-03-13 to 2026-03-19; there are older ones" in found["orders"].words


def test_a_path_that_matches_nothing_at_all_is_a_problem(shop: Shop) -> None:
    shutil.rmtree(shop.root / "deliveries" / "orders")
    found = _look(shop)["orders"]
    assert found.level == "problem"
    assert f"there is no folder {shop.root / 'deliveries' / 'orders'}" in found.words


def test_a_path_with_braces_and_stars_is_looked_for_as_it_is(tmp_path: Path) -> None:
    shop = Shop(
        tmp_path, source=SOURCE.replace("orders/{date}.csv", "orders/{{*}}{date:%Y}.csv{date:%j}")
    )
    (tmp_path / "deliveries" / "orders" / "{x}2026.csv065").touch()
    assert _look(shop)["orders"].level == "problem"
    (tmp_path / "deliveries" / "orders" / "{*}2025.csv001").touch()
    assert "there are older ones" in _look(shop)["orders"].words


def test_a_function_is_asked_whether_it_can_be_reached(tmp_path: Path) -> None:
    before, orders = SOURCE.split(
        "  orders:\n    reader: csv\n    path: deliveries/orders/{date}.csv\n"
    )
    shop = Shop(
        tmp_path,
        source=f"{before}  orders:\n    reader: python\n    function: {__name__}:offline\n{orders}",
    )
    found = _look(shop)["orders"]
    assert (found.level, found.todo) == ("warning", "wait for it")
    assert "the shop does not answer" in found.words


def test_a_feed_of_which_nothing_is_over_yet_says_so(tmp_path: Path) -> None:
    monthly = SOURCE.replace("  events:\n", "  events:\n    partitions: monthly\n")
    shop = Shop(tmp_path, source=monthly)
    for moment, orders in ((1, "no day has ended yet since 2026-03-01"), (12, "no file at all")):
        found = _look(shop, datetime(2026, 3, moment, 12, tzinfo=UTC))
        assert found["orders"].words.startswith(orders)
        assert found["events"].words == "no month has ended yet since 2026-03-01"
        assert found["events"].level == "warning"
