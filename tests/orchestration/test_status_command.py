"""`customer-pipeline status`: how days stand by ledger and data, whatever Dagster's record says
(cases B8, B12, B16).
"""

from __future__ import annotations

import json
import re
from typing import Any

import dagster as dg
import pytest
from typer.testing import CliRunner, Result

from customer_pipeline.cli.main import cli
from customer_pipeline.errors import PipelineError
from customer_pipeline.orchestration.location import build_defs
from tests.support.dagster_processes import Home
from tests.support.runs import run_days
from tests.support.shop import SOURCE, Shop, line
from tests.support.stages import extract_and_load, run_stages

DAYS = [f"2026-03-{day:02}" for day in range(1, 11)]
RANGE = ("--from", DAYS[0], "--to", DAYS[-1])
FAILED, EMPTY, LOADED, NEVER = DAYS[2], DAYS[6], DAYS[8], DAYS[9]


@pytest.fixture
def mixed(terminal: Shop) -> Shop:
    """One day failed, two are empty, one is loaded only, and one was never run."""
    for day in DAYS:
        if day not in (FAILED, EMPTY, "2026-03-08"):
            terminal.deliver_day(day)
    good = [line(DAYS[0], n) for n in range(60)]
    terminal.deliver("orders", DAYS[0], [*good, line(DAYS[0], 61, quantity="[red]many[/red]")])
    run_stages(terminal.pipeline, DAYS[:8], lake=False)
    extract_and_load(terminal.pipeline, [LOADED])
    return terminal


def typed(*arguments: str) -> Result:
    return CliRunner().invoke(cli, ["status", *arguments])


def as_json(*arguments: str) -> dict[str, Any]:
    return json.loads(typed(*arguments, "--json").output)


def test_the_calendar_shows_every_day_by_a_sign_of_its_own(mixed: Shop) -> None:
    done = typed(*RANGE)
    assert done.exit_code == 1
    assert "2026-03  ■ ■ ✗ ■ ■ ■ □ □ · ·" in done.output
    assert "■ published 5   □ empty 2   ✗ failed 1   · missing 2" in done.output
    assert max(map(len, done.output.splitlines())) <= 80


def test_what_needs_attention_is_listed_with_its_reason(mixed: Shop) -> None:
    shown = typed(*RANGE).output
    assert "3 days to look at" in shown
    assert " failed in extract on" in shown
    assert "missing: loaded, but no run has got as far as" in shown
    assert "missing: never run" in shown


def test_a_calendar_over_months_puts_each_day_below_its_number(terminal: Shop) -> None:
    lines = typed("--from", "2026-03-30", "--to", "2026-05-02").output.splitlines()
    header = next(line for line in lines if line.lstrip().startswith("1 "))
    march, april, may = [line for line in lines if line.startswith("2026-0")]
    assert header.index("30") == march.index("·") == 67
    assert (april.count("·"), may.count("·")) == (30, 2)
    assert april.index("·") == may.index("·") == header.index("1")


def test_without_a_range_it_shows_the_last_twelve_weeks(terminal: Shop) -> None:
    assert len(as_json()["days"]) == 84


def test_all_well_is_said_and_ends_with_exit_code_zero(mixed: Shop) -> None:
    done = typed("--from", DAYS[3], "--to", EMPTY)
    assert done.exit_code == 0
    assert "nothing to look at" in done.output


def test_json_has_the_same_for_scripts(mixed: Shop) -> None:
    found = as_json(*RANGE)
    assert list(found) == [
        *("pipeline", "source", "code_version", "from", "to", "totals", "noun", "days"),
        "disagreements",
    ]
    assert found["totals"] == {
        "published": 5,
        "empty": 2,
        "failed": 1,
        "stale": 0,
        "missing": 2,
        "running": 0,
        "waived": 0,
    }
    day = found["days"][2]
    assert list(day) == [
        *(
            "day",
            "partition",
            "state",
            "reasons",
            "stale",
            "published",
            "failure",
            "waiver",
            "running",
            "source",
        ),
    ]
    assert (day["day"], day["state"], day["failure"]["stage"]) == (FAILED, "failed", "extract")
    assert found["days"][0]["published"]["quarantined_rows"] == 1
    assert found["disagreements"] is None


def test_one_day_shows_counts_at_each_stage_quarantine_hash_and_attempts(mixed: Shop) -> None:
    done = typed("--day", DAYS[0])
    assert done.exit_code == 0, done.output
    assert "2026-03-01: published" in done.output
    assert "from 2026-03-01 00:00 to 2026-03-02 00:00 in Europe/London, 24 hours" in done.output
    cells = [[cell.strip() for cell in row.split("│")[1:-1]] for row in done.output.splitlines()]
    assert ["orders", "61", "1", "60"] in [row[:4] for row in cells]
    assert ["rows in fct_orders", "60"] in cells
    assert "'[red]many[/red]' is not an integer" in done.output
    assert as_json("--day", DAYS[0])["days"][0]["published"]["content_hash"][:20] in done.output
    assert max(map(len, done.output.splitlines())) <= 80


def test_one_day_that_failed_shows_every_attempt(mixed: Shop) -> None:
    run_stages(mixed.pipeline, [FAILED], lake=False)
    found = as_json("--day", FAILED)
    assert [one["outcome"] for one in found["detail"]["attempts"]] == ["failed", "failed"]
    assert found["days"][0]["failure"]["attempts"] == 2
    shown = typed("--day", FAILED).output
    assert len(re.findall(r"^  .* UTC failed in extract after \d+ s: run ", shown, re.M)) == 2
    assert shown.count("there is no such file") == 3


def test_one_day_that_nobody_tried_says_so(mixed: Shop) -> None:
    assert "no run has tried it" in typed("--day", NEVER).output


def test_days_made_by_older_code_are_stale(mixed: Shop) -> None:
    mixed.source_path.write_text(SOURCE.replace("name: {}", 'name: {expression: "upper(value)"}'))
    run_stages(mixed.pipeline, [DAYS[0]], lake=False)
    found = [day["state"] for day in as_json(*RANGE)["days"]]
    assert found == ["published", "stale", "failed", *["stale"] * 5, "missing", "missing"]


def test_a_source_that_has_changed_is_seen_when_asked_to_look(mixed: Shop) -> None:
    mixed.deliver("orders", DAYS[3], [line(DAYS[3], 1)])
    assert as_json(*RANGE)["days"][3]["state"] == "published"
    day = as_json(*RANGE, "--source")["days"][3]
    assert (day["state"], day["stale"]) == ("stale", ["orders: its delivery has changed since"])


def test_a_range_whose_run_broke_down_is_shown_as_failed(
    terminal: Shop, home: Home, monkeypatch: pytest.MonkeyPatch
) -> None:
    for day in DAYS[:3]:
        terminal.deliver_day(day)

    def breaks(*args: object, **kwargs: object) -> None:
        raise RuntimeError("unforeseen")

    monkeypatch.setattr("customer_pipeline.orchestration.assets.validate", breaks)
    assert not run_days(terminal, home, DAYS[0], DAYS[2]).succeeded
    monkeypatch.setenv("DAGSTER_HOME", str(home.folder))
    found = as_json("--from", DAYS[0], "--to", DAYS[2])
    assert [day["state"] for day in found["days"]] == ["failed"] * 3
    assert "unforeseen" in found["days"][0]["failure"]["reason"]
    assert found["disagreements"] == []


def test_where_dagsters_record_tells_another_story_the_ledgers_is_shown_and_both_are_named(
    terminal: Shop, home: Home, monkeypatch: pytest.MonkeyPatch
) -> None:
    terminal.deliver_day(DAYS[0])
    run_days(terminal, home, DAYS[0], DAYS[1])
    terminal.deliver_day(DAYS[1])
    terminal.deliver_day(DAYS[2])
    # Mended and published without Dagster's knowledge, as is the third day.
    run_stages(terminal.pipeline, DAYS[1:3], lake=False)
    monkeypatch.setenv("DAGSTER_HOME", str(home.folder))
    found = as_json("--from", DAYS[0], "--to", DAYS[2])
    assert [day["state"] for day in found["days"]] == ["published"] * 3
    assert found["disagreements"] == [
        {"day": DAYS[1], "partition": DAYS[1], "ledger": "published", "dagster": "failed"},
    ]
    done = typed("--from", DAYS[0], "--to", DAYS[2])
    assert done.exit_code == 0
    assert "Dagster's record differs on 1 day" in done.output
    assert "Dagster has no record of 1 day" in done.output


def test_a_warehouse_that_was_lost_makes_its_days_missing_whatever_dagster_remembers(
    terminal: Shop, home: Home, monkeypatch: pytest.MonkeyPatch
) -> None:
    terminal.deliver_day(DAYS[0])
    assert run_days(terminal, home, DAYS[0]).succeeded
    terminal.settings.warehouse_path.unlink()
    monkeypatch.setenv("DAGSTER_HOME", str(home.folder))
    found = as_json("--from", DAYS[0], "--to", DAYS[0])
    assert found["disagreements"] == [
        {"day": DAYS[0], "partition": DAYS[0], "ledger": "missing", "dagster": "materialized"}
    ]


@pytest.mark.parametrize(
    "tags",
    [
        {"dagster/partition": DAYS[1]},
        {
            "dagster/asset_partition_range_start": DAYS[1],
            "dagster/asset_partition_range_end": DAYS[2],
        },
    ],
    ids=["one day", "a range"],
)
def test_days_that_a_run_works_on_are_running_and_a_plan_leaves_them_alone(
    terminal: Shop, home: Home, monkeypatch: pytest.MonkeyPatch, tags: dict[str, str]
) -> None:
    monkeypatch.setenv("DAGSTER_HOME", str(home.folder))
    job = build_defs(terminal.settings).resolve_job_def("daily_customer_pipeline")
    with home.instance() as instance:
        run = instance.create_run_for_job(job, tags=tags, status=dg.DagsterRunStatus.STARTED)
    touched = len(tags)
    found = [day["state"] for day in as_json("--from", DAYS[0], "--to", DAYS[3])["days"]]
    assert found == ["missing", *["running"] * touched, *["missing"] * (3 - touched)]
    planned = CliRunner().invoke(cli, ["plan", "--to", DAYS[3], "--redo", "all"]).output
    assert f"would run: {4 - touched} days" in planned
    assert f"in flight: run {run.run_id[:8]} touches {DAYS[1]}" in planned


@pytest.mark.parametrize(
    ("arguments", "said"),
    [
        (["--day", "2026-02-30"], "is not a day"),
        (["--day", DAYS[0], "--from", DAYS[0]], "--day names one day"),
        (["--to", "2999-01-01"], "2999-01-01 is not over yet"),
        (["--from", DAYS[1], "--to", DAYS[0]], "is reversed"),
    ],
)
def test_a_mistake_is_one_sentence(terminal: Shop, arguments: list[str], said: str) -> None:
    done = typed(*arguments)
    assert isinstance(done.exception, PipelineError)
    assert said in str(done.exception)
