"""`customer-pipeline plan`, as a user types it: what would run and why, and nothing is launched."""

from __future__ import annotations

import os
import time

import pytest
from typer.testing import CliRunner, Result

from customer_pipeline.cli.main import cli
from customer_pipeline.errors import PipelineError
from tests.support.shop import SOURCE, Shop, line
from tests.support.stages import run_stages
from tests.support.warehouse import contents

DAYS = [f"2026-03-{day:02}" for day in range(1, 11)]
RANGE = ["--from", DAYS[0], "--to", DAYS[-1]]


@pytest.fixture
def published(terminal: Shop) -> Shop:
    """Ten days, the seventh and eighth empty by rule."""
    for day in DAYS:
        if day not in ("2026-03-07", "2026-03-08"):
            terminal.deliver_day(day)
    run_stages(terminal.pipeline, DAYS, lake=False)
    return terminal


def typed(*arguments: str) -> Result:
    return CliRunner().invoke(cli, ["plan", *arguments])


def rows_of(shown: str) -> list[tuple[str, str, str]]:
    """The lines of the tables: days, how many, and why (the first line of it)."""
    cells = [line.split("│")[1:4] for line in shown.splitlines() if line.startswith("│")]
    days, counts, words = (list(column) for column in zip(*cells, strict=True))
    found = zip(days, counts, words, strict=True)
    return [(day.strip(), count.strip(), why.strip()) for day, count, why in found]


def would_run(shown: str) -> list[tuple[str, str, str]]:
    start = shown.index("would run")
    end = shown.find("left alone")
    return rows_of(shown[start : end if end > 0 else None])


def change_the_logic(shop: Shop) -> None:
    """Another rule for a column that is loaded: what is published by the old one is stale."""
    shop.source_path.write_text(SOURCE.replace("name: {}", 'name: {expression: "upper(value)"}'))


def test_before_the_first_run_every_day_is_missing_and_nothing_is_made(terminal: Shop) -> None:
    done = typed(*RANGE)
    assert done.exit_code == 0, done.output
    assert would_run(done.output) == [(f"{DAYS[0]} to {DAYS[-1]}", "10", "never run")]
    assert "estimate: no history yet" in done.output
    assert "Nothing was launched." in done.output
    assert not terminal.settings.warehouse_path.exists()


def test_after_a_change_of_logic_stale_lists_the_days_that_were_not_run_again(
    published: Shop,
) -> None:
    assert "would run: nothing" in typed(*RANGE, "--redo", "stale").output
    change_the_logic(published)
    run_stages(published.pipeline, [DAYS[0], DAYS[3], DAYS[8]], lake=False)
    done = typed(*RANGE, "--redo", "stale")
    assert done.exit_code == 0, done.output
    assert "would run: 7 days" in done.output
    assert would_run(done.output) == [
        (f"{DAYS[1]} to {DAYS[2]}", "7", "the code has changed since"),
        (f"{DAYS[4]} to {DAYS[7]}", "", ""),
        (DAYS[9], "", ""),
    ]


def test_a_corrected_delivery_makes_its_day_stale_and_only_for_the_feed_looked_at(
    published: Shop,
) -> None:
    published.deliver("orders", DAYS[4], [line(DAYS[4], 1)])
    done = typed(*RANGE, "--redo", "stale")
    assert would_run(done.output) == [(DAYS[4], "1", "orders: its delivery has changed since")]
    assert "would run: nothing" in typed(*RANGE, "--redo", "stale", "--feed", "customers").output
    assert "--feed has no effect" in " ".join(typed("--feed", "orders").output.split())


def test_a_correction_that_kept_its_files_size_and_time_is_seen_when_every_file_is_opened(
    terminal: Shop,
) -> None:
    terminal.deliver_day(DAYS[0])
    path, an_hour_ago = terminal.path("orders", DAYS[0]), time.time() - 3600
    os.utime(path, (an_hour_ago, an_hour_ago))
    run_stages(terminal.pipeline, DAYS[:1], lake=False)
    path.write_text(path.read_text().replace("2.50", "9.50"))
    os.utime(path, (an_hour_ago, an_hour_ago))
    day = ["--from", DAYS[0], "--to", DAYS[0], "--redo", "stale"]
    assert "would run: nothing" in typed(*day).output
    words = "orders: its delivery has changed since"
    assert would_run(typed(*day, "--hash-all").output) == [(DAYS[0], "1", words)]


def test_a_delivery_that_is_gone_is_told_and_its_day_left_alone(published: Shop) -> None:
    published.withdraw("orders", DAYS[2])
    shown = typed(*RANGE, "--redo", "stale").output
    assert "would run: nothing" in shown
    told = rows_of(shown[shown.index("at the source") :])
    assert told[0][:2] == (DAYS[2], "1")
    assert told[0][2].startswith("orders: its delivery is gone from the source")


def test_failed_days_run_again_by_default_and_say_why_they_failed(
    published: Shop, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("COLUMNS", "2000")
    published.path("orders", DAYS[2]).write_text("[bold]nonsense[/bold]\n")
    run_stages(published.pipeline, [DAYS[2]], lake=False)
    for redo in ("missing", "failed"):
        ((days, _, why),) = would_run(typed(*RANGE, "--redo", redo).output)
        assert days == DAYS[2]
        assert why.startswith("failed in extract on ")
        assert "[bold]nonsense[/bold]" in why
        assert why.endswith("; what was published earlier is still there")


def test_all_runs_every_day_and_says_what_it_was(published: Shop) -> None:
    assert would_run(typed(*RANGE, "--redo", "all").output) == [
        (f"{DAYS[0]} to {DAYS[5]}", "8", "published, and asked for"),
        (f"{DAYS[8]} to {DAYS[9]}", "", ""),
        (f"{DAYS[6]} to {DAYS[7]}", "2", "empty, and asked for"),
    ]


def test_the_time_is_estimated_from_the_runs_there_were(published: Shop) -> None:
    assert "in one run, based on 1 earlier run" in typed(*RANGE, "--redo", "all").output


def test_a_plan_changes_nothing(published: Shop) -> None:
    change_the_logic(published)
    before = contents(published.settings.warehouse_path)
    for redo in ("missing", "failed", "stale", "all"):
        assert typed(*RANGE, "--redo", redo).exit_code == 0
    assert contents(published.settings.warehouse_path) == before


def test_the_screen_fits_in_eighty_columns(published: Shop) -> None:
    change_the_logic(published)
    shown = typed("--redo", "stale").output
    assert max(map(len, shown.splitlines())) <= 80


@pytest.mark.parametrize(
    ("arguments", "said"),
    [
        (["--from", "2026-02-30"], ["'2026-02-30' is not a day"]),
        (["--from", "2026-02-28"], ["2026-02-28 is outside the source's range 2026-03-01"]),
        (["--to", "2999-01-01"], ["2999-01-01 is not over yet"]),
        (["--from", DAYS[4], "--to", DAYS[0]], [f"{DAYS[4]}...{DAYS[0]} is reversed"]),
        (["--feed", "nope", "--feed", "nor this"], ["no feed 'nope'", "no feed 'nor this'"]),
        (
            ["--from", "2026-3-9", "--to", "2999-01-01", "--feed", "nope"],
            ["'2026-3-9' is not a day", "2999-01-01 is not over yet", "no feed 'nope'"],
        ),
    ],
)
def test_every_mistake_is_named_before_anything_is_done(
    terminal: Shop, arguments: list[str], said: list[str]
) -> None:
    done = typed(*arguments)
    assert isinstance(done.exception, PipelineError)
    assert all(words in str(done.exception) for words in said), done.exception
    assert not terminal.settings.warehouse_path.exists()


def test_a_dagster_home_that_is_none_is_named(
    terminal: Shop, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("DAGSTER_HOME", "/no/such/folder")
    done = typed(*RANGE)
    assert isinstance(done.exception, PipelineError)
    assert "DAGSTER_HOME=/no/such/folder" in str(done.exception)
