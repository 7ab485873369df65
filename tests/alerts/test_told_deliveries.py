"""Which deliveries that vanished are told, and which are known otherwise."""

from __future__ import annotations

from collections.abc import Collection, Sequence
from datetime import UTC, datetime, timedelta

from customer_pipeline.alerts import outbox
from customer_pipeline.alerts.mutes import Mute
from customer_pipeline.alerts.scene import Scene
from customer_pipeline.alerts.source_changes import watch_deliveries
from customer_pipeline.alerts.store import Store
from customer_pipeline.alerts.wording import Words
from customer_pipeline.planning.known import Known
from customer_pipeline.planning.source_changes import Kind, SourceChange
from customer_pipeline.warehouse.attempts import Failure
from customer_pipeline.warehouse.waivers import Waiver

MONTHS = [f"2026-{month:02}-01" for month in range(1, 7)]
NOW = datetime(2026, 7, 2, tzinfo=UTC)
WORDS = Words("monthly_trips", "month", "http://ui", {}, None, " --pipeline monthly_trips")


class Desk:
    """Who looks at the deliveries of trips and says what was noted since the last look."""

    def __init__(self, store: Store, known: Known, muted: Sequence[str] = ()) -> None:
        self.store, self.known, self.now = store, known, NOW
        until = NOW + timedelta(hours=2)
        self.mutes = {one: Mute(one, until, "known", "me") for one in muted}
        self.noted = 0

    def look(self, kind: Kind, *keys: str, looked_at: Collection[str] = MONTHS) -> list[str]:
        self.now += timedelta(hours=1)
        mutes = {name: one for name, one in self.mutes.items() if one.until > self.now}
        scene = Scene(self.now, NOW, WORDS, MONTHS, self.known, mutes=mutes)
        changes = [SourceChange("trips", key, kind) for key in keys]
        with self.store.transaction() as connection:
            watch_deliveries(connection, scene, {"trips": looked_at}, changes)
            found = [one.message for one in outbox.deliveries(connection, limit=100)]
        new = found[: len(found) - self.noted]
        self.noted = len(found)
        return [f"{one.title} | {one.more}" for one in new]


def test_a_month_that_is_waived_or_failed_for_it_is_not_told(store: Store) -> None:
    waived, failed, other, plain = MONTHS[:4]
    reasons = {failed: "trips: there is no delivery", other: "zones: there is no delivery"}
    known = Known(
        failures={
            key: Failure(key, "run", "extract", reason, NOW, NOW, 1, None)
            for key, reason in reasons.items()
        },
        waivers={waived: Waiver(waived, "closed", "ann", NOW)},
    )
    assert Desk(store, known).look("vanished", *MONTHS[:4]) == [
        "monthly_trips: 2 deliveries are gone from the source | customer-pipeline status"
        f" --from {other} --to {plain} --pipeline monthly_trips --source"
    ]


def test_what_is_muted_is_told_when_the_mute_ends(store: Store) -> None:
    desk = Desk(store, Known(), ["trips"])
    assert desk.look("vanished", MONTHS[0]) == []
    (told,) = desk.look("vanished", MONTHS[0])
    assert told.endswith(f"status --partition {MONTHS[0]} --pipeline monthly_trips --source")


def test_what_nobody_looks_at_any_more_is_not_said_to_be_there_again(store: Store) -> None:
    desk = Desk(store, Known())
    assert len(desk.look("vanished", *MONTHS[:2])) == 1
    assert desk.look("vanished", MONTHS[1], looked_at=MONTHS[1:]) == []
    assert desk.look("incomplete", MONTHS[1], looked_at=MONTHS[1:]) == [], "not there yet"
    assert desk.look("vanished", MONTHS[1], looked_at=MONTHS[1:]) == [], "the same vanishing"
    (told,) = desk.look("unusable", MONTHS[1])
    assert "no run can use" in told
    assert desk.look("changed", MONTHS[1]) == [
        f"monthly_trips: trips of {MONTHS[1]} is in order again | "
    ]
