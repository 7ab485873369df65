"""How long a run would take, going by earlier ones."""

from __future__ import annotations

import pytest

from customer_pipeline.planning.estimate import Estimate, estimate
from customer_pipeline.warehouse.attempts import RunTime


def run(partitions: int, *, start: float = 5, each: float = 0.5) -> RunTime:
    return RunTime(partitions, start + each * partitions)


def test_without_history_there_is_no_estimate() -> None:
    assert estimate([], 90) is None


def test_runs_of_different_lengths_tell_the_start_from_the_days() -> None:
    found = estimate([run(1), run(7), run(30)], 90)
    assert found is not None
    assert (found.least, found.most) == pytest.approx((50, 50))
    assert found.runs == 3


def test_a_run_that_waited_for_hours_does_not_bend_it() -> None:
    found = estimate([run(1), run(1), run(7), run(14), run(30), RunTime(2, 7200)], 90)
    assert found is not None
    assert found.most == pytest.approx(50, rel=0.1)


def test_runs_of_one_length_give_a_range_between_all_start_and_all_days() -> None:
    assert estimate([RunTime(1, 6), RunTime(1, 8)], 10) == Estimate(7, 70, 2)
    assert estimate([RunTime(10, 20)], 5) == Estimate(10, 20, 1)


def test_no_estimate_is_below_zero() -> None:
    found = estimate([RunTime(1, 30), RunTime(30, 10)], 90)
    assert found is not None
    assert found.least >= 0
