"""What the source offers now, beside what was loaded: files on a disk (cases T9, T12)."""

from __future__ import annotations

import os
import time
from collections.abc import Callable, Sequence
from pathlib import Path

import pytest

from customer_pipeline.errors import TransientError
from customer_pipeline.planning.known import read_known
from customer_pipeline.planning.source_changes import SourceChange, source_changes
from customer_pipeline.source import offers
from tests.support.shop import SOURCE, Shop, event, line
from tests.support.stages import run_stages

DAYS = ["2026-03-05", "2026-03-06", "2026-03-07"]
DAY, EMPTY = DAYS[0], DAYS[2]
LONG_AGO = time.time_ns() - 3_600_000_000_000


def age(path: Path, nanoseconds: int = LONG_AGO) -> None:
    """Let `path` have been changed an hour ago, so that its time tells a later change."""
    os.utime(path, ns=(nanoseconds, nanoseconds))


@pytest.fixture
def published(shop: Shop) -> Shop:
    """Two days and one that is empty by rule; the first has messages too. All files are old."""
    for day in DAYS[:2]:
        shop.deliver_day(day)
    shop.deliver("events", DAY, [event(DAY, 1)])
    for file in (shop.root / "deliveries").glob("*/*.csv"):
        age(file)
    run_stages(shop.pipeline, DAYS, lake=False)
    return shop


@pytest.fixture
def hashed(monkeypatch: pytest.MonkeyPatch) -> list[str]:
    """The files that were hashed in a look, by feed and name."""
    found: list[str] = []
    real = offers.fingerprint_of

    def noted(path: Path) -> str:
        found.append(f"{path.parent.name}/{path.name}")
        return real(path)

    monkeypatch.setattr(offers, "fingerprint_of", noted)
    return found


def changes(
    shop: Shop,
    feeds: Sequence[str] = ("customers", "orders", "events"),
    days: Sequence[str] = tuple(DAYS),
    *,
    hash_all: bool = False,
) -> list[SourceChange]:
    pipeline = shop.pipeline
    known = read_known(pipeline.warehouse, pipeline.name, pipeline.feeds)
    chosen = {name: pipeline.feeds[name] for name in feeds}
    return source_changes(
        chosen, pipeline.partitions.windows(days), known.loaded, hash_all=hash_all
    )


def told(found: Sequence[SourceChange]) -> list[tuple[str, str, str]]:
    return [(change.partition_key, change.feed, change.kind) for change in found]


def test_a_source_that_was_left_alone_has_not_changed_and_no_file_is_opened(
    published: Shop, hashed: list[str]
) -> None:
    assert changes(published) == []
    assert hashed == []


CHANGES: dict[str, tuple[Callable[[Shop], object], list[tuple[str, str, str]]]] = {
    "corrected": (
        lambda shop: shop.deliver("orders", DAY, [line(DAY, 1)]),
        [(DAY, "orders", "changed")],
    ),
    "come late": (
        lambda shop: shop.deliver("orders", EMPTY, [line(EMPTY, 1)]),
        [(EMPTY, "orders", "arrived")],
    ),
    "gone where a rule allows it": (
        lambda shop: shop.withdraw("events", DAY),
        [(DAY, "events", "vanished")],
    ),
    "gone where no rule allows it": (
        lambda shop: shop.withdraw("orders", DAY),
        [(DAY, "orders", "vanished")],
    ),
    "put where a folder is now": (
        lambda shop: (shop.withdraw("orders", DAY), shop.path("orders", DAY).mkdir()),
        [(DAY, "orders", "unusable")],
    ),
}


@pytest.mark.parametrize(("change", "found"), CHANGES.values(), ids=CHANGES.keys())
def test_a_change_is_told_by_feed_and_partition(
    published: Shop, change: Callable[[Shop], object], found: list[tuple[str, str, str]]
) -> None:
    change(published)
    assert told(changes(published)) == found
    assert [one.calls_for_a_run for one in changes(published)] == [
        kind in ("changed", "arrived") for *_, kind in found
    ]


def test_a_late_file_calls_for_its_own_day_until_that_is_run_and_no_longer(
    published: Shop,
) -> None:
    published.deliver("customers", EMPTY, [])
    published.deliver("orders", EMPTY, [line(EMPTY, 1)])
    late = changes(published)
    assert told(late) == [(EMPTY, "customers", "arrived"), (EMPTY, "orders", "arrived")]
    assert all(one.fingerprint for one in late)
    assert changes(published) == late
    run_stages(published.pipeline, [EMPTY], lake=False)
    assert changes(published) == []


def test_a_day_that_was_never_loaded_has_a_delivery_that_has_arrived(published: Shop) -> None:
    published.deliver_day("2026-03-04")
    found = changes(published, ["orders"], ["2026-03-03", "2026-03-04"])
    assert told(found) == [("2026-03-04", "orders", "arrived")]


def test_each_change_has_a_fingerprint_of_its_own(published: Shop) -> None:
    seen = set()
    for price in ("1", "2"):
        published.deliver("orders", DAY, [line(DAY, 1, price=price)])
        (change,) = changes(published)
        seen.add(change.fingerprint)
    assert len(seen) == 2


def test_a_file_that_was_only_touched_has_not_changed(published: Shop, hashed: list[str]) -> None:
    age(published.path("orders", DAY), LONG_AGO + 1)
    assert changes(published) == []
    assert hashed == [f"orders/{DAY}.csv"]
    # Once: a sensor looks all day.
    assert changes(published) == []
    assert len(hashed) == 1
    assert changes(published, ["orders"], [DAY], hash_all=True) == []
    assert len(hashed) == 2
    age(published.path("orders", DAY), LONG_AGO + 2)
    assert changes(published) == []
    assert len(hashed) == 3
    # Just now it may be changed again, and have the same time then.
    age(published.path("orders", DAY), time.time_ns() + 60_000_000_000)
    for looks in (1, 2):
        assert changes(published) == []
        assert len(hashed) == 3 + looks


def test_only_a_look_that_hashes_everything_sees_through_a_file_that_lies_about_its_time(
    published: Shop,
) -> None:
    path = published.path("orders", DAY)
    content = path.read_text()
    path.write_text(content.replace("2.50", "9.50"))
    age(path)
    assert changes(published) == []
    assert told(changes(published, hash_all=True)) == [(DAY, "orders", "changed")]


def test_a_file_that_was_loaded_just_when_it_was_written_is_hashed_again(
    published: Shop, hashed: list[str]
) -> None:
    # Its time of change does not tell a second change within the same moment.
    published.deliver("orders", DAY, [line(DAY, 1, price="2")])
    now = time.time_ns()
    age(published.path("orders", DAY), now)
    run_stages(published.pipeline, [DAY], lake=False)
    published.deliver("orders", DAY, [line(DAY, 1, price="3")])
    age(published.path("orders", DAY), now)
    assert told(changes(published)) == [(DAY, "orders", "changed")]
    assert hashed


def test_what_an_older_warehouse_knows_of_its_files_is_enough(published: Shop) -> None:
    pipeline = published.pipeline
    with pipeline.warehouse.write() as connection:
        for column in ("size", "modified_ns", "file_version"):
            connection.execute(f"alter table ops.deliveries drop column {column}")
    assert changes(published) == []
    published.deliver("orders", DAY, [line(DAY, 1)])
    assert told(changes(published)) == [(DAY, "orders", "changed")]


def test_only_the_feeds_asked_for_are_looked_at(published: Shop) -> None:
    published.deliver("orders", DAY, [line(DAY, 1)])
    assert changes(published, ["customers"]) == []


def test_a_source_that_cannot_be_reached_is_not_taken_for_one_that_has_not_changed(
    published: Shop, monkeypatch: pytest.MonkeyPatch
) -> None:
    def unreachable(path: object) -> str:
        raise TransientError("the mount is gone")

    monkeypatch.setattr(offers, "state_of", unreachable)
    with pytest.raises(TransientError):
        changes(published)


def test_a_correction_that_is_not_complete_yet_is_told_and_waited_for(
    tmp_path: Path, dbt_cache: Path, published: Shop
) -> None:
    waiting = SOURCE.replace(
        "path: deliveries/orders/{date}.csv",
        "path: deliveries/orders/{date}.csv\n    ready_when: {suffix: .done}",
    )
    published.source_path.write_text(waiting)
    # What is loaded is known to be whole, marker or not.
    assert changes(published) == []
    path = published.deliver("orders", DAY, [line(DAY, 1)])
    (change,) = changes(published)
    assert (change.kind, change.calls_for_a_run) == ("incomplete", False)
    assert "there is no 2026-03-05.csv.done" in change.words
    Path(f"{path}.done").touch()
    assert told(changes(published)) == [(DAY, "orders", "changed")]


def versioned(shop: Shop, version: str, price: str) -> Path:
    """A version of DAY's orders, changed when all others were, and as long."""
    path = shop.deliver("orders", DAY, [line(DAY, 1, price=price)])
    path = path.rename(path.with_name(f"{DAY}{version}.csv"))
    age(path)
    return path


@pytest.fixture
def of_versions(published: Shop) -> Shop:
    """The shop with orders that come in versions, and the first one published."""
    path = "path: deliveries/orders/{date}"
    published.source_path.write_text(
        SOURCE.replace(f"{path}.csv", f"{path}{{version}}.csv\n    versions: highest")
    )
    versioned(published, "_v1", "2.50")
    run_stages(published.pipeline, [DAY], lake=False)
    return published


def test_a_new_version_is_a_change_though_its_size_and_time_are_those_of_the_last(
    of_versions: Shop,
) -> None:
    assert changes(of_versions, ["orders"], [DAY]) == []
    versioned(of_versions, "_v2", "9.50")
    assert told(changes(of_versions, ["orders"], [DAY])) == [(DAY, "orders", "changed")]
    run_stages(of_versions.pipeline, [DAY], lake=False)
    assert changes(of_versions, ["orders"], [DAY]) == []


def test_which_version_is_loaded_is_noted_in_a_warehouse_that_did_not_note_it_yet(
    of_versions: Shop,
) -> None:
    pipeline = of_versions.pipeline
    with pipeline.warehouse.write() as connection:
        connection.execute("alter table ops.deliveries drop column file_version")
    versioned(of_versions, "_v2", "9.50")
    assert told(changes(of_versions, ["orders"], [DAY])) == [(DAY, "orders", "changed")]
    run_stages(pipeline, [DAY], lake=False)
    loaded = read_known(pipeline.warehouse, pipeline.name, pipeline.feeds).loaded[DAY]
    assert (loaded["orders"].file_version, loaded["customers"].file_version) == ("_v2", None)


def test_beside_a_manifest_of_rows_alone_a_correction_counts_when_all_rows_are_there(
    published: Shop,
) -> None:
    path = published.path("orders", DAY)
    rule = 'ready_when: {manifest: "deliveries/orders/{date}.json"}'
    declared = "path: deliveries/orders/{date}.csv"
    published.source_path.write_text(SOURCE.replace(declared, f"{declared}\n    {rule}"))
    path.with_suffix(".json").write_text('{"rows": 3}')

    def seen(*rows: dict[str, object]) -> list[tuple[str, str]]:
        published.deliver("orders", DAY, rows)
        return [(one.kind, one.reason) for one in changes(published, ["orders"], [DAY])]

    ((kind, reason),) = seen(line(DAY, 1), line(DAY, 2))
    assert kind == "incomplete"
    assert "its manifest states 3 rows, the file has 2" in reason
    assert seen(*(line(DAY, n) for n in range(3))) == [("changed", "")]
    # Nothing more is on its way: that there is one too many is for a run to find.
    assert seen(*(line(DAY, n) for n in range(4))) == [("changed", "")]
