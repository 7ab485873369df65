"""What would run and what not: the table that README.md shows, cell by cell (case B10)."""

from __future__ import annotations

import re

import pytest

from customer_pipeline.planning.plan import Decision, Redo, plan
from customer_pipeline.planning.state import KINDS, Kind, State
from tests.conftest import PROJECT

DAY = "2026-03-04"
OLD = ("the code has changed since",)
STATES: dict[str, State] = {
    "missing": State(DAY, "missing", ("never run",)),
    "failed": State(DAY, "failed", ("failed in load: held",)),
    "failed, stale": State(DAY, "failed", ("failed in load: held", *OLD), OLD),
    "stale": State(DAY, "stale", OLD, OLD),
    "published": State(DAY, "published"),
    "empty": State(DAY, "empty"),
    "waived": State(DAY, "waived", ("waived by eve",), OLD),
    "running": State(DAY, "running", ("being processed by run 0a1b",), OLD),
}
RUNS: dict[Redo, set[str]] = {
    "missing": {"missing", "failed", "failed, stale"},
    "failed": {"failed", "failed, stale"},
    "stale": {"stale", "failed, stale"},
    "all": {"missing", "failed", "failed, stale", "stale", "published", "empty"},
}


def decided(state: State, redo: Redo) -> Decision:
    (decision,) = plan([state], redo)
    return decision


@pytest.mark.parametrize("redo", RUNS)
@pytest.mark.parametrize("name", STATES)
def test_each_cell_is_decided_as_documented(name: str, redo: Redo) -> None:
    decision = decided(STATES[name], redo)
    assert decision.runs == (name in RUNS[redo])
    assert decision.reason


def test_the_readme_shows_the_same_table() -> None:
    text = (PROJECT / "README.md").read_text(encoding="utf-8")
    (table,) = re.findall(r"^\| `--redo` \|.*\n\|[-|]+\n((?:\|.*\n)+)", text, re.MULTILINE)
    columns: tuple[Kind, ...] = ("missing", "failed", "stale", "published", "waived", "running")
    assert set(columns) | {"empty"} == set(KINDS)
    rows = [[cell.strip(" `") for cell in row[1:-1].split("|")] for row in table.splitlines()]
    assert [row[0] for row in rows] == list(RUNS)
    for (_, *cells), runs in zip(rows, RUNS.values(), strict=True):
        shown = {name for name, cell in zip(columns, cells, strict=True) if cell == "runs"}
        assert shown == runs - {"empty", "failed, stale"}


def test_a_running_day_is_never_run_twice() -> None:
    assert not any(decided(STATES["running"], redo).runs for redo in RUNS)


def test_why_a_day_runs_is_why_it_needs_to() -> None:
    assert decided(STATES["failed"], "missing").reason == "failed in load: held"
    assert decided(STATES["stale"], "stale").reason == "the code has changed since"
    assert decided(STATES["published"], "all").reason == "published, and asked for"


def test_a_day_that_is_left_although_something_is_wrong_says_so() -> None:
    reason = decided(STATES["stale"], "missing").reason
    assert reason == "stale, which --redo missing leaves alone"
