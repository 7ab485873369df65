"""A delivery that is not complete yet, or came in several versions: what is landed and loaded, and
what stays as it was (cases I10, W13)."""

from __future__ import annotations

import json
import os
from pathlib import Path
from typing import Any

import pytest

from customer_pipeline.errors import NotReadyError
from customer_pipeline.source.calendars import DailyPartitions
from customer_pipeline.stages.landing import MANIFEST, Landing, Manifest
from tests.support.one_feed import DAY, OneFeed
from tests.support.shop import SOURCE, Shop, line
from tests.support.stages import run_stages
from tests.support.warehouse import query

OTHER = "2026-03-03"
MARKED: dict[str, Any] = {"ready_when": {"suffix": ".done"}}


@pytest.fixture
def things(tmp_path: Path) -> OneFeed:
    return OneFeed(tmp_path)


def mark(things: OneFeed, day: str = DAY) -> None:
    (things.root / f"{day}.csv.done").touch()


def test_an_incomplete_delivery_is_waited_for_and_holds_no_other_back(things: OneFeed) -> None:
    for day in (DAY, OTHER):
        things.deliver("id,name\n1,Ada\n", day)
    mark(things, OTHER)
    with pytest.raises(NotReadyError, match=r"2026-03-02\.csv: the delivery is not complete yet"):
        things.extract([DAY, OTHER], give_up=False, **MARKED)
    assert things.landing.read("things", DAY) is None
    assert len(things.rows(OTHER)) == 1
    mark(things)
    assert [one.state for one in things.extract([DAY, OTHER], **MARKED)] == ["landed", "landed"]


def test_half_of_a_correction_changes_nothing_and_the_whole_of_it_counts(things: OneFeed) -> None:
    things.deliver("id,name\n1,Ada\n2,Bea\n")
    mark(things)
    things.extract(**MARKED)
    things.load(**MARKED)
    before = things.raw()
    things.deliver("id,name\n1,Ava\n")
    with pytest.raises(NotReadyError):
        things.extract(give_up=False, **MARKED)
    assert len(things.rows()) == 2
    (refused,) = things.extract(give_up=True, **MARKED)
    (casualty,) = things.load(**MARKED).casualties
    assert refused.state == "rejected"
    assert "not complete yet" in casualty.reason
    assert things.raw() == before
    things.deliver("id,name\n1,Ava\n2,Bea\n")
    mark(things)
    things.extract(**MARKED)
    things.load(**MARKED)
    assert things.raw() == [(DAY, "1", "Ava"), (DAY, "2", "Bea")]


def touch(things: OneFeed) -> None:
    """Let the file have been changed after its marker."""
    (things.root / f"{DAY}.csv").touch()
    os.utime(things.root / f"{DAY}.csv.done", (1, 1))


def test_a_file_that_was_touched_after_its_marker_is_the_complete_one_that_it_was(
    things: OneFeed,
) -> None:
    things.deliver("id,name\n1,Ada\n")
    mark(things)
    things.extract(**MARKED)
    touch(things)
    assert [one.state for one in things.extract(give_up=False, **MARKED)] == ["landed"]
    # Also after another one that nobody completed.
    things.deliver("id,name\n1,Ava\n")
    touch(things)
    for _ in range(2):
        assert [one.state for one in things.extract(**MARKED)] == ["rejected"]
    things.deliver("id,name\n1,Ada\n")
    touch(things)
    assert [one.state for one in things.extract(give_up=False, **MARKED)] == ["landed"]


def test_a_file_that_was_landed_by_older_code_is_known_to_be_complete(things: OneFeed) -> None:
    things.deliver("id,name\n1,Ada\n")
    mark(things)
    things.extract(**MARKED)
    path = things.landing.folder("things", DAY) / MANIFEST
    content = json.loads(path.read_text())
    del content["complete_fingerprint"]
    path.write_text(json.dumps(content))
    touch(things)
    assert [one.state for one in things.extract(give_up=False, **MARKED)] == ["landed"]
    # One that cannot be read any more is replaced.
    path.write_text("{")
    mark(things)
    assert [one.state for one in things.extract(give_up=False, **MARKED)] == ["landed"]


@pytest.mark.parametrize("missing", ["fail", "empty"])
def test_an_incomplete_delivery_is_neither_missing_nor_empty(things: OneFeed, missing: str) -> None:
    things.deliver("id,name\n1,Ada\n")
    with pytest.raises(NotReadyError):
        things.extract(give_up=False, missing=missing, **MARKED)
    things.deliver(None)
    (manifest,) = things.extract(give_up=False, missing=missing, **MARKED)
    assert manifest.state == {"fail": "rejected", "empty": "absent"}[missing]


def test_of_several_versions_the_highest_of_that_day_is_published(
    tmp_path: Path, dbt_cache: Path
) -> None:
    source = SOURCE.replace(
        "path: deliveries/orders/{date}.csv",
        "path: deliveries/orders/{date}-v{version}.csv\n    versions: highest",
    )
    shop = Shop(tmp_path / "shop", source=source, dbt_cache=dbt_cache)
    day, later = "2026-03-01", "2026-03-09"
    shop.deliver_day(day)
    for version, price in (("9", "1.00"), ("10", "2.00")):
        path = shop.deliver("orders", day, [line(day, 1, price=price)])
        path.rename(path.with_name(f"{day}-v{version}.csv"))
    path = shop.deliver("orders", later, [line(later, 1, price="9.00")])
    path.rename(path.with_name(f"{later}-v11.csv"))

    run_stages(shop.pipeline, [day], lake=False)
    orders = "select _date::varchar, ordered_at::date::varchar, unit_price::double from raw.orders"
    assert query(shop.settings.warehouse_path, orders) == [(day, day, 2.0)]
    manifest = shop.pipeline.landing.read("orders", day)
    assert manifest is not None
    assert manifest.version == "10"


def test_two_versions_leave_what_was_published_when_the_feed_refuses_that(things: OneFeed) -> None:
    path = str(things.root / "{date}-v{version}.csv")
    (things.root / f"{DAY}-v1.csv").write_text("id,name\n1,Ada\n")
    things.extract(path=path)
    things.load(path=path)
    (things.root / f"{DAY}-v2.csv").write_text("id,name\n1,Eve\n")
    (refused,) = things.extract(path=path)
    things.load(path=path)
    assert (refused.state, "2 versions" in refused.reason) == ("rejected", True)
    assert things.raw() == [(DAY, "1", "Ada")]


def test_a_landing_of_older_code_is_read_and_one_of_newer_code_is_not(things: OneFeed) -> None:
    things.land("id,name\n1,Ada\n")
    manifest = things.landing.read("things", DAY)
    assert manifest is not None
    content = vars(manifest)
    newer_fields = {"modified_ns", "version", "drift", "complete_fingerprint"}
    older = {name: value for name, value in content.items() if name not in newer_fields}
    assert Manifest.of(older) == manifest
    assert Manifest.of(content | {"from_the_future": 1}) is None
    assert Manifest.of({name: older[name] for name in older if name != "state"}) is None
    assert Landing(things.root / "landing", DailyPartitions.column, "shop").read("things", DAY)
