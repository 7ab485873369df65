"""Which state a partition is in, and why, from what the warehouse knows of it."""

from __future__ import annotations

from dataclasses import replace
from datetime import UTC, datetime, timedelta

import pytest

from customer_pipeline.planning.known import Known
from customer_pipeline.planning.late_data import late_partitions
from customer_pipeline.planning.source_changes import Kind, SourceChange
from customer_pipeline.planning.state import State, states
from customer_pipeline.source.partitions import Window
from customer_pipeline.warehouse.attempts import Failure
from customer_pipeline.warehouse.deliveries import LoadedContent
from customer_pipeline.warehouse.ledger import Published, source_fingerprint
from customer_pipeline.warehouse.waivers import Waiver

DAY = "2026-03-04"
NOON = datetime(2026, 3, 9, 12, tzinfo=UTC)
WINDOW = Window(DAY, NOON - timedelta(days=6), NOON - timedelta(days=5))
LOADED = {DAY: {"orders": LoadedContent("abc")}}
ROW = Published(
    pipeline="daily",
    partition_key=DAY,
    status="published",
    source_rows=3,
    quarantined_rows=1,
    raw_rows=2,
    mart_rows=5,
    source_fingerprint=source_fingerprint({"orders": "abc"}),
    content_hash="h",
    code_version="v1",
    run_id="run",
    published_at=NOON,
)
FAILURE = Failure(DAY, "run", "extract", "orders: cut off", NOON, NOON, 1)
WAIVER = Waiver(DAY, "closed", "eve", NOON)
PUBLISHED = Known({DAY: ROW}, loaded=LOADED)


def state_of(
    known: Known,
    *,
    code: str = "v1",
    running: str | None = None,
    changes: tuple[SourceChange, ...] = (),
) -> State:
    (found,) = states(
        [DAY],
        known,
        code_version=code,
        running={DAY: running} if running else {},
        changes=changes,
        late=late_partitions({}, [WINDOW], known, changes, refused={}),
    )
    return found


def test_a_published_day_is_published_and_there_is_no_more_to_say() -> None:
    found = state_of(PUBLISHED)
    assert (found.kind, found.reasons, found.needs_attention) == ("published", (), False)


def test_an_empty_day_is_empty() -> None:
    assert state_of(Known({DAY: replace(ROW, status="empty")}, loaded=LOADED)).kind == "empty"


def test_a_day_that_nobody_tried_is_missing() -> None:
    found = state_of(Known())
    assert (found.kind, found.reasons) == ("missing", ("never run",))
    assert found.needs_attention


def test_a_day_whose_run_ended_before_publishing_is_missing_and_says_so() -> None:
    found = state_of(Known(loaded=LOADED))
    assert found.kind == "missing"
    assert found.reasons == ("loaded, but no run has published it yet",)


def test_a_failed_day_says_at_which_stage_when_and_why() -> None:
    found = state_of(Known(failures={DAY: FAILURE}))
    assert found.kind == "failed"
    assert found.reasons == ("failed in extract on 2026-03-09 12:00: orders: cut off",)


def test_a_day_that_failed_several_times_says_since_when() -> None:
    often = replace(FAILURE, since=datetime(2026, 3, 7, 3, tzinfo=UTC), attempts=3)
    (reason,) = state_of(Known(failures={DAY: often})).reasons
    assert "(3 attempts since 2026-03-07 03:00)" in reason


def test_a_failed_day_says_that_something_older_is_still_published() -> None:
    found = state_of(replace(PUBLISHED, failures={DAY: FAILURE}))
    assert found.kind == "failed"
    assert found.reasons[1:] == ("what was published earlier is still there",)


CHANGED = SourceChange("orders", DAY, "changed", "def")
STALE = {
    "code": (PUBLISHED, {"code": "v2"}, "the code has changed since"),
    "raw": (
        replace(PUBLISHED, loaded={DAY: {"orders": LoadedContent("xyz")}}),
        {},
        "raw holds a different delivery from the published one",
    ),
    "source": (PUBLISHED, {"changes": (CHANGED,)}, "orders: its delivery has changed since"),
}


@pytest.mark.parametrize(("known", "options", "reason"), STALE.values(), ids=STALE.keys())
def test_a_published_day_is_stale_when_what_made_it_has_changed(
    known: Known, options: dict, reason: str
) -> None:
    found = state_of(known, **options)
    assert (found.kind, found.reasons, found.stale) == ("stale", (reason,), (reason,))
    assert found.needs_attention


def test_all_that_has_changed_is_said() -> None:
    changes = (CHANGED, SourceChange("events", DAY, "arrived", "def"))
    assert len(state_of(PUBLISHED, code="v2", changes=changes).stale) == 3


@pytest.mark.parametrize("kind", ["vanished", "incomplete", "unusable"])
def test_what_no_run_could_take_in_is_said_and_makes_no_day_stale(kind: Kind) -> None:
    change = SourceChange("orders", DAY, kind, reason="so it is")
    found = state_of(PUBLISHED, changes=(change,))
    assert (found.kind, found.stale, found.needs_attention) == ("published", (), False)
    assert found.source == (change.words,)


def test_a_change_counts_for_its_own_day_only() -> None:
    assert state_of(PUBLISHED, changes=(replace(CHANGED, partition_key="2026-03-05"),)).stale == ()


def test_a_failed_day_is_failed_and_its_published_rows_may_be_stale_too() -> None:
    found = state_of(replace(PUBLISHED, failures={DAY: FAILURE}), code="v2")
    assert found.kind == "failed"
    assert found.stale == ("the code has changed since",)


def test_a_waived_day_says_who_has_waived_it_and_why_and_is_no_longer_failed() -> None:
    earlier = replace(FAILURE, failed_at=datetime(2026, 3, 9, 11, tzinfo=UTC))
    found = state_of(Known(failures={DAY: earlier}, waivers={DAY: WAIVER}))
    assert found.kind == "waived"
    assert found.reasons == ("waived by eve on 2026-03-09: closed",)
    assert not found.needs_attention


def test_a_waived_day_that_was_tried_in_spite_of_it_says_how_that_went() -> None:
    later = replace(FAILURE, failed_at=datetime(2026, 3, 9, 13, tzinfo=UTC))
    found = state_of(Known(failures={DAY: later}, waivers={DAY: WAIVER}))
    assert found.kind == "waived"
    assert found.reasons[1:] == ("failed in extract on 2026-03-09 13:00: orders: cut off",)


@pytest.mark.parametrize(
    "known", [Known(), PUBLISHED, Known(failures={DAY: FAILURE}), Known(waivers={DAY: WAIVER})]
)
def test_a_day_that_a_run_works_on_is_running_whatever_it_was(known: Known) -> None:
    found = state_of(known, running="run 0a1b")
    assert (found.kind, found.reasons) == ("running", ("being processed by run 0a1b",))
