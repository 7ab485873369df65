"""The commands over a monthly pipeline beside a daily one: its months, its feeds, its tables, its words."""

from __future__ import annotations

import json
import shutil
from pathlib import Path

import dagster as dg
import pytest
from rich.console import Console
from typer.testing import CliRunner, Result

from customer_pipeline.cli.execution import InThisProcess
from customer_pipeline.cli.main import cli
from customer_pipeline.dbt_adapter.manifest import DbtProject
from customer_pipeline.errors import PipelineError
from customer_pipeline.health.followers import look_at_followers
from customer_pipeline.orchestration.location import build_defs
from customer_pipeline.pipelines import DAILY, MONTHLY
from customer_pipeline.reporting import refresh
from customer_pipeline.settings import Settings
from customer_pipeline.stages import transform
from tests.support.compiled_models import CompiledModels
from tests.support.months import START, WEEKLY, RideShop
from tests.support.shop import line
from tests.support.stages import run_stages
from tests.support.warehouse import query

# Of January and February rides came, of March none; the first of January is a day, too.
JANUARY, FEBRUARY, MARCH = MONTHS = ["2026-01-01", "2026-02-01", "2026-03-01"]
RANGE = ("--from", JANUARY, "--to", MARCH)
FAR = "far,2026-09-30T10:00:00Z,1,2"
_BOTH = (DAILY, MONTHLY)
_PIPELINE = ("--pipeline", MONTHLY.name)


@pytest.fixture
def quick_models(
    rides: DbtProject, session_folder: Path, monkeypatch: pytest.MonkeyPatch
) -> DbtProject:
    """The models of months instead of the location's, without dbt's seconds."""
    models = CompiledModels.of(rides.folder, session_folder / "ride_models_compiled")
    monkeypatch.setattr(Settings, "dbt_project_path", property(lambda _: rides.folder))
    monkeypatch.setattr(transform, "build", models.build)
    monkeypatch.setattr(refresh, "build", models.build)
    return rides


@pytest.fixture
def delivered(
    tmp_path: Path, quick_models: DbtProject, monkeypatch: pytest.MonkeyPatch
) -> RideShop:
    """A shop whose commands can be typed, of which nothing was run."""
    shop = RideShop(tmp_path / "shop", models=quick_models, specs=_BOTH)
    for name, value in (shop.environment | {"COLUMNS": "120"}).items():
        monkeypatch.setenv(name, value)
    monkeypatch.delenv("DAGSTER_HOME", raising=False)
    shop.deliver_rides(JANUARY, rides=40, more=[FAR])
    shop.deliver_rides(FEBRUARY)
    return shop


@pytest.fixture(scope="module")
def kept(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return tmp_path_factory.mktemp("run") / "data"


@pytest.fixture
def published(delivered: RideShop, kept: Path) -> RideShop:
    """The same after a run of all three months, and of a day of which a row is in quarantine."""
    data = delivered.settings.data_path
    if not kept.exists():
        delivered.deliver_day(JANUARY)
        lines = [line(JANUARY, n) for n in range(40)]
        delivered.deliver("orders", JANUARY, [*lines, line(JANUARY, 41, quantity="many")])
        run_stages(delivered.pipelines[MONTHLY.name], MONTHS)
        run_stages(delivered.pipelines[DAILY.name], [JANUARY])
        shutil.copytree(data, kept, symlinks=True)
    shutil.rmtree(data)
    shutil.copytree(kept, data, symlinks=True)
    return delivered


def typed(command: str, *arguments: str, pipeline: bool = True) -> Result:
    return CliRunner().invoke(cli, [command, *(_PIPELINE if pipeline else ()), *arguments])


def words(done: Result) -> str:
    return " ".join(done.output.split())


def test_a_run_of_months_says_so_and_how_to_run_those_that_failed(delivered: RideShop) -> None:
    done = typed("run", *RANGE)
    assert done.exit_code == 1, done.output
    assert "2026-01-01 to 2026-03-01, 3 months in one run" in words(done)
    assert "┃ month      ┃" in done.output
    assert f"customer-pipeline run --pipeline monthly_trips --from {JANUARY} --to {MARCH}\n" in (
        done.output
    )


def test_a_run_brings_the_reporting_tables_of_its_own_pipeline_up_to_date(
    published: RideShop,
) -> None:
    published.deliver_rides(MARCH)
    done = typed("run", "--from", MARCH)
    assert done.exit_code == 0, done.output
    assert "reporting.* is up to date: 3 months taken in" in words(done)
    tables = "select table_name from duckdb_tables() where schema_name = 'reporting'"
    assert query(published.settings.warehouse_path, tables) == [("monthly_rides_ever",)]


def test_a_pipeline_without_reporting_tables_is_never_behind(
    tmp_path: Path, quick_models: DbtProject
) -> None:
    week = "2026-01-05"
    shop = RideShop(tmp_path / "shop", models=quick_models, specs=[WEEKLY])
    shop.deliver_rides(week, WEEKLY)
    weekly, console = shop.pipeline, Console(record=True)
    run_stages(weekly, [week])
    with dg.DagsterInstance.ephemeral() as instance:
        definitions = build_defs(shop.settings, [WEEKLY])
        assert InThisProcess(console, definitions, instance, weekly).refresh()
    assert "reporting" not in console.export_text()
    end = weekly.partitions.window(week).end
    found = look_at_followers(
        *(weekly.warehouse, weekly.reporting, weekly.lake, weekly.marts, end), called=weekly.name
    )
    assert [(one.area, one.name, one.level) for one in found] == [("lake", "weekly_rides", "ok")]


def test_status_shows_months_and_json_names_them(published: RideShop) -> None:
    done = typed("status", *RANGE)
    assert done.exit_code == 1
    assert "\n2026  ■ ■ ✗\n" in done.output
    assert "1 month to look at" in done.output
    found = json.loads(typed("status", *RANGE, "--json").output)
    assert (found["pipeline"], found["noun"]) == ("monthly_trips", "month")
    assert [(one["month"], one["partition"], one["state"]) for one in found["months"]] == [
        *((JANUARY, JANUARY, "published"), (FEBRUARY, FEBRUARY, "published")),
        (MARCH, MARCH, "failed"),
    ]
    daily = json.loads(typed("status", "--day", JANUARY, "--json", pipeline=False).output)
    assert (daily["pipeline"], daily["noun"]) == ("daily_customers", "day")
    assert (daily["days"][0]["day"], daily["days"][0]["state"]) == (JANUARY, "published")


@pytest.mark.parametrize("option", ["--partition", "--day"])
def test_the_page_of_a_month_shows_what_its_own_feeds_delivered(
    published: RideShop, option: str
) -> None:
    done = typed("status", option, JANUARY)
    assert done.exit_code == 0, done.output
    assert "from 2026-01-01 00:00 to 2026-02-01 00:00 in Europe/London, 744 hours" in done.output
    assert "lies outside the partition" in words(done)
    assert "quantity" not in done.output
    assert "quantity" in typed("status", option, JANUARY, pipeline=False).output


def test_quarantine_shows_rows_of_the_pipelines_own_feeds(published: RideShop) -> None:
    monthly, daily = typed("quarantine"), typed("quarantine", pipeline=False)
    assert "1 row of 1 month" in monthly.output
    assert "orders" not in monthly.output
    assert "1 row of 1 day" in daily.output
    assert "monthly_rides" not in daily.output
    refused = typed("quarantine", "--feed", "orders").exception
    assert "there is no feed 'orders' (one of monthly_rides)" in str(refused)


def test_months_are_tried_again_out_of_quarantine(published: RideShop) -> None:
    published.deliver_rides(JANUARY, rides=41)
    done = typed("quarantine", "--retry")
    assert done.exit_code == 0, done.output
    assert "2026-01-01 to 2026-01-01, 1 month in one run" in words(done)
    assert "nothing is in quarantine" in typed("quarantine").output


def test_verify_names_the_months_that_differ(published: RideShop) -> None:
    done = typed("verify", "--to", FEBRUARY, "--deep")
    assert (
        done.output == "2026-01-01 to 2026-02-01: 2 months in order, from the source to the lake\n"
    )
    published.deliver_rides(FEBRUARY, fare="9.99")
    done = typed("verify")
    assert done.exit_code == 1
    assert f"│ {FEBRUARY} │" in done.output
    assert "2026-01-01 to 2026-02-01: 1 of 2 months differ" in done.output


def test_a_plan_lists_months_and_a_waived_one_is_left_alone(published: RideShop) -> None:
    before = typed("plan", *RANGE)
    assert "would run: 1 month\n" in before.output
    assert "┃ months" in before.output
    assert "left alone: 2 months" in before.output
    done = typed("waive", "--from", MARCH, "--reason", "strike")
    assert (done.exit_code, done.output) == (0, f"{MARCH}: 1 month waived: strike\n")
    assert "would run: nothing" in typed("plan", *RANGE).output
    refused = typed("waive", "--from", JANUARY, "--to", FEBRUARY, "--reason", "strike")
    assert "2 months are published" in str(refused.exception)


def test_a_resumed_backfill_needs_no_pipeline_to_be_named(delivered: RideShop) -> None:
    delivered.ride_path(JANUARY).unlink()
    done = typed("backfill", "--yes", "--local", "--partitions-per-run", "1", *RANGE)
    assert done.exit_code == 1, done.output
    assert "0 of 3 months done" in done.output
    ((begun,),) = query(delivered.settings.warehouse_path, "select backfill_id from ops.backfills")
    resume = ["backfill", "--yes", "--local", "--resume", begun]
    assert f"customer-pipeline {resume[0]} --resume {begun}\n" in done.output
    for key in (JANUARY, MARCH):
        delivered.deliver_rides(key)
    other = CliRunner().invoke(cli, [*resume, "--pipeline", DAILY.name]).exception
    assert f"backfill {begun} is one of monthly_trips, not of daily_customers" in str(other)
    done = CliRunner().invoke(cli, resume)
    assert done.exit_code == 0, done.output
    assert "3 of 3 months done" in done.output


def test_doctor_tells_the_findings_of_two_pipelines_apart(published: RideShop) -> None:
    found = json.loads(typed("doctor", "--json", pipeline=False).output)["findings"]
    lines = [(one["area"], one["name"]) for one in found]
    assert len(lines) == len(set(lines))
    named = [area for area, name in lines if name == MONTHLY.name]
    assert named == ["partitions", "dbt", "lake", "reporting"]
    assert {("dbt", "models"), ("lake", "tables"), ("reporting", "tables")} <= set(lines)
    quick = json.loads(typed("doctor", "--quick", "--json", pipeline=False).output)["findings"]
    todo = {one["name"]: one["todo"] for one in quick if one["area"] == "partitions"}
    assert todo["daily_customers"].startswith("`customer-pipeline run --from ")
    assert todo["monthly_trips"].startswith(
        f"`customer-pipeline run --pipeline monthly_trips --from {MARCH}"
    )


def test_a_month_and_its_feed_are_muted(delivered: RideShop) -> None:
    for subject in ("--feed=monthly_rides", f"--partition={MARCH}"):
        muted = CliRunner().invoke(
            cli, ["alerts", "mute", *_PIPELINE, subject, "--reason", "known"]
        )
        assert "muted until" in muted.output
    feed = CliRunner().invoke(cli, ["alerts", "mute", "--feed", "monthly_rides", "--undo"])
    assert feed.output == "monthly_rides: no longer muted\n"


@pytest.mark.parametrize(
    ("arguments", "said"),
    [
        (["--day", "2026-01-02"], "'2026-01-02' is not a month"),
        (["--to", "2999-01-01"], "2999-01-01 is not over yet (the newest complete month is 2"),
        (
            ["--from", "2026-01-02", "--to", "2999-01-01"],
            f"(months of this source are {START} to 2",
        ),
        (["--from", MARCH, "--to", JANUARY], "put the earlier month first"),
        (["--day", JANUARY, "--from", JANUARY], "--day names one month"),
    ],
)
def test_a_mistake_is_said_in_months(delivered: RideShop, arguments: list[str], said: str) -> None:
    done = typed("status", *arguments)
    assert isinstance(done.exception, PipelineError)
    assert said in str(done.exception)


@pytest.mark.parametrize(
    "command", ["run", "plan", "backfill", "status", "verify", "quarantine", "waive"]
)
def test_a_pipeline_that_is_none_is_refused_by_every_command(
    delivered: RideShop, command: str
) -> None:
    done = typed(command, "--pipeline", "nope", "--from", JANUARY)
    assert isinstance(done.exception, PipelineError)
    assert "there is no pipeline 'nope' over this source" in str(done.exception)
    assert "one of daily_customers, monthly_trips" in str(done.exception)
