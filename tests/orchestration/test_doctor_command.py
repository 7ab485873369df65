"""`customer-pipeline doctor`: all well on a sound pipeline; spoil one thing, and exactly that line
changes.
"""

from __future__ import annotations

import json
import os
import shutil
import sqlite3
import subprocess
import sys
from collections.abc import Callable
from contextlib import closing
from datetime import datetime, timedelta
from pathlib import Path
from zoneinfo import ZoneInfo

import dagster as dg
import pytest
from dagster._core.test_utils import create_run_for_test
from typer.testing import CliRunner, Result

from customer_pipeline.cli.main import cli
from customer_pipeline.reporting import refresh
from customer_pipeline.stages import transform
from tests.conftest import PROJECT
from tests.support.compiled_models import CompiledModels
from tests.support.dagster_processes import Home, home_template
from tests.support.instance_traces import beat, forget_ticks, switch, tick
from tests.support.shop import SOURCE, Shop
from tests.support.stages import refresh_reporting, run_stages

_TODAY = datetime.now(ZoneInfo("Europe/London")).date()
YESTERDAY, BEFORE = (f"{_TODAY - timedelta(days=days)}" for days in (1, 2))
_SCHEDULE, _SENSOR = "daily_customer_pipeline_schedule", "reporting_on_publish"

Line = tuple[str, str]
Said = dict[Line, tuple[str, str, str]]


def typed(*arguments: str) -> Result:
    return CliRunner().invoke(cli, ["doctor", "--overdue-after", "0", *arguments])


def said(*arguments: str) -> tuple[Said, int]:
    """Each line of the report: its level, words and advice, by area and name; and the exit code."""
    done = typed(*arguments, "--json")
    found = json.loads(done.output)["findings"]
    lines: Said = {}
    for one in found:
        # Schedules and sensors are told apart by their names, which come first in the words.
        name = one["words"].split()[0] if one["name"] in ("schedule", "sensor") else one["name"]
        lines[one["area"], name] = (one["level"], one["words"], one["todo"])
    return lines, done.exit_code


def levels(lines: Said) -> dict[Line, str]:
    return {line: level for line, (level, _, _) in lines.items()}


@pytest.fixture(scope="module")
def published(
    tmp_path_factory: pytest.TempPathFactory, session_folder: Path, dbt_cache: Path
) -> Path:
    """The folder of a shop of two days, both published and taken in by all that follows.

    The source ends with them, so that no midnight makes a third day due.
    """
    source = SOURCE.replace("start: 2026-03-01", f"start: {BEFORE}\nend: {YESTERDAY}")
    shop = Shop(tmp_path_factory.mktemp("published") / "shop", source=source, dbt_cache=dbt_cache)
    for day in (BEFORE, YESTERDAY):
        shop.deliver_day(day)
    models = CompiledModels.of(PROJECT / "dbt_project", session_folder / "models")
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(transform, "build", models.build)
        patch.setattr(refresh, "build", models.build)
        run_stages(shop.pipeline, [BEFORE, YESTERDAY])
        refresh_reporting(shop.pipeline)
    return shop.root


@pytest.fixture
def sound(
    tmp_path: Path, published: Path, without_dbt: None, monkeypatch: pytest.MonkeyPatch
) -> Shop:
    """A copy of that shop, whose commands can be typed, in 80 columns and without a Dagster home."""
    shutil.copytree(published, tmp_path / "shop", symlinks=True)
    shop = Shop(tmp_path / "shop", source=(published / "source.yaml").read_text())
    for name, value in (shop.environment | {"COLUMNS": "80"}).items():
        monkeypatch.setenv(name, value)
    monkeypatch.setenv("CUSTOMER_PIPELINE_ALERT_URLS", "json://127.0.0.1:9/alerts")
    monkeypatch.delenv("DAGSTER_HOME", raising=False)
    monkeypatch.chdir(tmp_path)
    return shop


@pytest.fixture
def home(
    tmp_path: Path, sound: Shop, session_folder: Path, monkeypatch: pytest.MonkeyPatch
) -> Home:
    """A Dagster home in which a daemon seems to run, and in which all that can be is on."""
    home = Home(tmp_path / "home", sound.environment, template=home_template(session_folder))
    monkeypatch.setenv("DAGSTER_HOME", str(home.folder))
    with home.instance() as instance:
        beat(instance)
        switch(instance, "schedule", _SCHEDULE, "RUNNING")
        switch(instance, "sensor", _SENSOR, "DECLARED_IN_CODE")
        switch(instance, "sensor", "late_data", "RUNNING")
        for sensor in (_SENSOR, "late_data"):
            tick(instance, "sensor", sensor, "SKIPPED")
    return home


def test_a_sound_pipeline_has_nothing_but_good_lines(home: Home) -> None:
    done = typed()
    assert done.exit_code == 0, done.output
    assert done.output.rstrip().endswith("all is well")
    assert set(levels(said()[0]).values()) == {"ok"}
    assert max(map(len, done.output.splitlines())) <= 80


def test_what_is_wrong_stands_with_its_level_and_below_it_what_to_do(
    home: Home, sound: Shop
) -> None:
    sound.withdraw("orders", YESTERDAY)
    with home.instance() as instance:
        beat(instance, seconds_ago=600)
    done = typed()
    assert done.exit_code == 1
    lines = [" ".join(row.split()) for row in done.output.splitlines()]
    after = lines[next(n for n, row in enumerate(lines) if row.startswith("problem daemon")) :]
    assert any(row.startswith("→ start one with `make dev`") for row in after)
    assert lines[-1] == "1 problem, 1 warning"
    content = json.loads(typed("--json").output)
    assert content["levels"] == {"ok": len(content["findings"]) - 2, "warning": 1, "problem": 1}
    assert list(content["findings"][0]) == ["area", "name", "level", "words", "todo"]


def test_warnings_alone_end_with_exit_code_zero(sound: Shop) -> None:
    done = typed()
    assert done.exit_code == 0
    assert done.output.rstrip().endswith("1 warning")
    assert "DAGSTER_HOME" in done.output


def _late_delivery(shop: Shop, home: Home) -> None:
    shop.withdraw("customers", YESTERDAY)


def _other_owner(shop: Shop, home: Home) -> None:
    (shop.settings.landing_path / "SOURCE").write_text("another")


def _not_published(shop: Shop, home: Home) -> None:
    with shop.pipeline.warehouse.write() as connection:
        connection.execute("delete from ops.partitions where partition_key = ?", [YESTERDAY])


def _lake_gone(shop: Shop, home: Home) -> None:
    shutil.rmtree(shop.settings.lake_path / "fct_orders")


def _reporting_behind(shop: Shop, home: Home) -> None:
    shop.deliver_day(YESTERDAY, orders=5)
    run_stages(shop.pipeline, [YESTERDAY])


def _settings_of_dagster(shop: Shop, home: Home) -> None:
    path = home.folder / "dagster.yaml"
    before, _, after = path.read_text().partition("run_retries:\n  enabled: true\n")
    path.write_text(f"{before}run_retries:\n  enabled: false\n{after}")


def _own_event_log(shop: Shop, home: Home) -> None:
    path = home.folder / "dagster.yaml"
    text = path.read_text()
    start = text.index("event_log_storage:")
    path.write_text(text[:start] + text[text.index("run_coordinator:", start) :])


def _own_run_queue(shop: Shop, home: Home) -> None:
    path = home.folder / "dagster.yaml"
    text = path.read_text()
    start = text.index("run_coordinator:")
    path.write_text(text[:start] + text[text.index("concurrency:", start) :])


def _no_limits_of_backfills(shop: Shop, home: Home) -> None:
    path = home.folder / "dagster.yaml"
    path.write_text(path.read_text().replace("customer_pipeline/max_active_runs_", "something_"))


def _old_database(shop: Shop, home: Home) -> None:
    with closing(sqlite3.connect(home.folder / "history" / "runs.db")) as connection, connection:
        connection.execute("update alembic_version set version_num = '7f2b1a4ca7a5'")


def _one_silent_thread(shop: Shop, home: Home) -> None:
    with home.instance() as instance:
        beat(instance, seconds_ago=1000, only="BACKFILL")


def _schedule_off(shop: Shop, home: Home) -> None:
    with home.instance() as instance:
        switch(instance, "schedule", _SCHEDULE, "STOPPED")


def _sensor_off(shop: Shop, home: Home) -> None:
    with home.instance() as instance:
        switch(instance, "sensor", _SENSOR, "STOPPED")


def _sensor_fails(shop: Shop, home: Home) -> None:
    with home.instance() as instance:
        tick(instance, "sensor", _SENSOR, "FAILURE", error="the disk is full")


def _sensor_failed_once(shop: Shop, home: Home) -> None:
    with home.instance() as instance:
        tick(instance, "sensor", _SENSOR, "FAILURE", seconds_ago=60, error="the disk is full")


def _sensor_stopped_looking(shop: Shop, home: Home) -> None:
    with home.instance() as instance:
        forget_ticks(instance, _SENSOR)
        tick(instance, "sensor", _SENSOR, "SKIPPED", seconds_ago=3000)


def _run_killed_long_ago(shop: Shop, home: Home) -> None:
    with home.instance() as instance:
        create_run_for_test(instance, status=dg.DagsterRunStatus.STARTED)
    with closing(sqlite3.connect(home.folder / "history" / "runs.db")) as runs, runs:
        runs.execute("update runs set update_timestamp = '2026-03-01 00:00:00'")


@pytest.mark.parametrize(
    ("spoil", "line", "level", "words", "todo"),
    [
        (_late_delivery, ("source", "customers"), "warning", BEFORE, "ask whoever"),
        (_other_owner, ("data", "owner"), "problem", "'another'", "CUSTOMER_PIPELINE_DATA_DIR"),
        (
            *(_not_published, ("partitions", "daily_customers"), "problem", f"{YESTERDAY} is not"),
            f"customer-pipeline run --from {YESTERDAY}",
        ),
        (_lake_gone, ("lake", "tables"), "warning", "fct_orders", "run any partition"),
        (_reporting_behind, ("reporting", "tables"), "warning", "lack 1 ", "reporting_refresh"),
        (_settings_of_dagster, ("dagster", "dagster.yaml"), "warning", "run_retries", "copy"),
        (_own_run_queue, ("dagster", "dagster.yaml"), "warning", "OrderedRunQueue", "copy"),
        (_no_limits_of_backfills, ("dagster", "dagster.yaml"), "warning", "--max-active", "copy"),
        (_own_event_log, ("dagster", "event log"), "warning", "SqliteEventLogStorage", "copy"),
        (_old_database, ("dagster", "database"), "problem", "another version", "migrate"),
        (_one_silent_thread, ("dagster", "daemon"), "warning", "BACKFILL", "log"),
        (_schedule_off, ("dagster", _SCHEDULE), "warning", "is off", "turn it on"),
        (_sensor_off, ("dagster", _SENSOR), "warning", "is off", "turn it on"),
        (_sensor_fails, ("dagster", _SENSOR), "problem", "the disk is full", "ticks"),
        (_run_killed_long_ago, ("dagster", "runs"), "problem", "for an hour from run", "terminate"),
        (_sensor_failed_once, ("dagster", _SENSOR), "warning", "1 of its last 2", "ticks"),
        (_sensor_stopped_looking, ("dagster", _SENSOR), "problem", "although the daemon", "loads"),
    ],
)
def test_one_thing_spoilt_changes_exactly_its_line(
    home: Home,
    sound: Shop,
    spoil: Callable[[Shop, Home], None],
    line: Line,
    level: str,
    words: str,
    todo: str,
) -> None:
    spoil(sound, home)
    found, exit_code = said()
    assert {one: level for one, level in levels(found).items() if level != "ok"} == {line: level}
    assert words in found[line][1]
    assert todo in found[line][2]
    assert exit_code == (1 if level == "problem" else 0)


def test_a_misspelt_setting_is_a_line(home: Home, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("CUSTOMER_PIPELINE_LOCKTIMEOUT", "5")
    found, exit_code = said()
    bad = {one: level for one, level in levels(found).items() if level != "ok"}
    assert (bad, exit_code) == ({("settings", "variable"): "problem"}, 1)


@pytest.mark.parametrize("settings", ["source: [", None])
def test_what_cannot_be_looked_at_is_said_and_the_rest_is_looked_at(
    sound: Shop, settings: str | None
) -> None:
    if settings is None:
        sound.source_path.unlink()
    else:
        sound.source_path.write_text(settings)
    found = levels(said()[0])
    assert found["source", "declaration"] == "problem"
    assert found["warehouse", "ledger"] == found["versions", "packages"] == "ok"
    assert ("partitions", "daily_customers") not in found


def test_settings_that_cannot_be_read_are_a_line_too(
    sound: Shop, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("CUSTOMER_PIPELINE_LOCK_TIMEOUT", "long")
    done = typed()
    assert (done.exit_code, done.exception.__class__) == (1, SystemExit)
    level, words, _ = said()[0]["settings", "values"]
    assert (level, "CUSTOMER_PIPELINE_LOCK_TIMEOUT='long'" in words) == ("problem", True)
    assert said("--quick")[0]["partitions", "overdue"][0] == "problem"


def test_a_home_that_is_none_is_a_line_too(sound: Shop, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("DAGSTER_HOME", "/no/such/folder")
    for arguments in ([], ["--quick"]):
        level, words, _ = said(*arguments)[0]["dagster", "DAGSTER_HOME"]
        assert (level, "no such folder" in words) == ("problem", True)


def test_a_held_warehouse_makes_no_problem_of_what_could_not_be_looked_at(
    home: Home, sound: Shop
) -> None:
    holder = subprocess.Popen(
        [
            *(sys.executable, "-c"),
            "import sys, duckdb; held = duckdb.connect(sys.argv[1]);"
            " print(flush=True); sys.stdin.read()",
            str(sound.settings.warehouse_path),
        ],
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
    )
    try:
        assert holder.stdout is not None
        holder.stdout.readline()
        done = typed("--quick")
    finally:
        holder.communicate()
    assert done.exit_code == 0
    assert f"(process {holder.pid})" in " ".join(done.output.split())


def test_quick_is_well_without_any_instance_and_sees_an_overdue_day(sound: Shop) -> None:
    done = typed("--quick")
    assert done.exit_code == 0, done.output
    assert set(said("--quick")[0]) == {
        ("partitions", "daily_customers"),
        ("dagster", "daemon"),
        ("alerts", "channels"),
        ("alerts", "pending"),
    }
    _not_published(sound, None)  # type: ignore[arg-type]
    assert typed("--quick").exit_code == 1
    assert YESTERDAY in said("--quick")[0]["partitions", "daily_customers"][1]


def test_quick_sees_a_dead_daemon(home: Home) -> None:
    assert typed("--quick").exit_code == 0
    with home.instance() as instance:
        beat(instance, seconds_ago=100)
    done = typed("--quick")
    assert done.exit_code == 1
    assert "no Dagster daemon is running" in said("--quick")[0]["dagster", "daemon"][1]


def test_quick_imports_neither_dagster_nor_dbt_without_an_instance(sound: Shop) -> None:
    code = (
        "import sys; from customer_pipeline.cli.main import cli;"
        " cli(['doctor', '--quick'], standalone_mode=False);"
        " print(sorted({'dagster', 'dbt'} & sys.modules.keys()))"
    )
    done = subprocess.run(
        [sys.executable, "-c", code], capture_output=True, text=True, env=os.environ, check=False
    )
    # The warning is that no daemon was looked for.
    assert done.stdout.splitlines()[-2:] == ["1 warning", "[]"], done.stdout + done.stderr
