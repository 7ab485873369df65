"""Days of which the same is said, told once."""

from __future__ import annotations

from customer_pipeline.planning.groups import Group, Span, grouped

DAYS = [f"2026-03-{day:02}" for day in range(1, 10)]


def test_days_side_by_side_of_which_the_same_is_said_are_one_range() -> None:
    assert grouped(DAYS, dict.fromkeys(DAYS, "never run")) == [
        Group("never run", 9, (Span(DAYS[0], DAYS[-1]),))
    ]


def test_a_day_in_between_of_which_another_thing_or_nothing_is_said_parts_a_range() -> None:
    words = dict.fromkeys(DAYS, "never run") | {DAYS[2]: "failed"}
    del words[DAYS[5]]
    assert grouped(DAYS, words) == [
        Group(
            "never run",
            7,
            (Span(DAYS[0], DAYS[1]), Span(DAYS[3], DAYS[4]), Span(DAYS[6], DAYS[8])),
        ),
        Group("failed", 1, (Span(DAYS[2], DAYS[2]),)),
    ]


def test_nothing_to_say_is_no_group() -> None:
    assert grouped(DAYS, {}) == []
