"""What the source offers now, beside what was loaded: files on a disk, hashed."""

from __future__ import annotations

from collections.abc import Callable, Sequence

import pytest

from customer_pipeline.errors import TransientError
from customer_pipeline.planning.known import read_known
from customer_pipeline.planning.source_changes import changed_deliveries
from customer_pipeline.source import reading
from tests.support.shop import Shop, event, line
from tests.support.stages import run_stages

DAYS = ["2026-03-05", "2026-03-06", "2026-03-07"]
DAY, EMPTY = DAYS[0], DAYS[2]


@pytest.fixture
def published(shop: Shop) -> Shop:
    """Two days and one that is empty by rule; the first has messages too."""
    for day in DAYS[:2]:
        shop.deliver_day(day)
    shop.deliver("events", DAY, [event(DAY, 1)])
    run_stages(shop.pipeline, DAYS, lake=False)
    return shop


def changes(shop: Shop, feeds: Sequence[str] = ("customers", "orders", "events")) -> dict:
    pipeline = shop.pipeline
    known = read_known(pipeline.warehouse, pipeline.name, pipeline.feeds)
    chosen = {name: pipeline.feeds[name] for name in feeds}
    return changed_deliveries(chosen, pipeline.partitions.windows(DAYS), known.loaded)


def test_a_source_that_was_left_alone_has_not_changed(published: Shop) -> None:
    assert changes(published) == {}


CHANGES: dict[str, tuple[Callable[[Shop], object], dict]] = {
    "corrected": (
        lambda shop: shop.deliver("orders", DAY, [line(DAY, 1)]),
        {DAY: ["orders: its delivery has changed since"]},
    ),
    "come late": (
        lambda shop: shop.deliver("orders", EMPTY, [line(EMPTY, 1)]),
        {EMPTY: ["orders: a delivery has come since"]},
    ),
    "gone where a rule allows it": (
        lambda shop: shop.withdraw("events", DAY),
        {DAY: ["events: its delivery is gone since"]},
    ),
    "gone where no rule allows it": (lambda shop: shop.withdraw("orders", DAY), {}),
}


@pytest.mark.parametrize(("change", "found"), CHANGES.values(), ids=CHANGES.keys())
def test_a_change_is_told_by_feed_and_day_if_a_run_could_take_it_in(
    published: Shop, change: Callable[[Shop], object], found: dict
) -> None:
    change(published)
    assert changes(published) == found


def test_only_the_feeds_asked_for_are_looked_at(published: Shop) -> None:
    published.deliver("orders", DAY, [line(DAY, 1)])
    assert changes(published, ["customers"]) == {}


def test_a_source_that_cannot_be_reached_is_not_taken_for_one_that_has_not_changed(
    published: Shop, monkeypatch: pytest.MonkeyPatch
) -> None:
    def unreachable(path: object) -> str:
        raise TransientError("the mount is gone")

    monkeypatch.setattr(reading, "fingerprint_of", unreachable)
    with pytest.raises(TransientError):
        changes(published)
