"""`customer-pipeline` as a user types it: what it prints, and how it ends (case T6)."""

from __future__ import annotations

from collections.abc import Sequence

import pytest

from tests.support.dagster_processes import Home
from tests.support.shop import Shop
from tests.support.warehouse import content_hashes

pytestmark = pytest.mark.slow

DAYS = ["2026-03-01", "2026-03-02", "2026-03-03"]


def run(home: Home, *arguments: str) -> tuple[int, str]:
    """A command's exit code and output, lines unbroken."""
    done = home.run("customer-pipeline", *arguments, check=False)
    return done.returncode, done.stdout


@pytest.fixture
def home(home: Home) -> Home:
    home.environment["COLUMNS"] = "400"
    return home


def test_run_publishes_the_days_asked_for_and_shows_them(
    shop: Shop, home: Home, expected: dict[str, str]
) -> None:
    code, shown = run(home, "run", "--from", DAYS[0], "--to", DAYS[-1])
    assert code == 0, shown
    assert content_hashes(shop.settings.warehouse_path) == {day: expected[day] for day in DAYS}
    assert all(day in shown for day in DAYS)
    assert shown.count("published") == 3
    assert "DAGSTER_HOME" not in shown
    assert "Warning" not in shown
    with home.instance() as instance:
        recorded = {run.job_name: run.is_success for run in instance.get_runs()}
        assert recorded == {"daily_customer_pipeline": True, "reporting_refresh": True}

    code, again = run(home, "status", "--from", DAYS[0], "--to", "2026-03-04")
    assert code == 1
    assert "■ ■ ■ ·" in again
    assert "2026-03-04 │ 1 │ missing: never run" in again


def test_a_bad_day_is_told_once_and_the_good_ones_are_published(
    shop: Shop, home: Home, expected: dict[str, str]
) -> None:
    orders = shop.path("orders", DAYS[1])
    orders.write_text(orders.read_text()[:-5])
    for command in ("run", "status"):
        code, shown = run(home, command, "--from", DAYS[0], "--to", DAYS[-1])
        assert code == 1
        assert shown.count("the file is cut off on line") == 1, shown
        assert "Traceback" not in shown
        assert "Stack Trace" not in shown
        assert "published" in shown
        assert "failed" in shown
    published = {day: expected[day] for day in (DAYS[0], DAYS[-1])}
    assert content_hashes(shop.settings.warehouse_path) == published


def test_without_a_dagster_home_it_works_and_says_what_is_not_kept(
    shop: Shop, home: Home, expected: dict[str, str]
) -> None:
    del home.environment["DAGSTER_HOME"]
    code, shown = run(home, "run", "--from", DAYS[0])
    assert code == 0, shown
    assert "1 day in one run" in shown
    assert shown.count("DAGSTER_HOME is not set") == 1
    assert content_hashes(shop.settings.warehouse_path) == {DAYS[0]: expected[DAYS[0]]}


@pytest.mark.parametrize(
    ("arguments", "said"),
    [
        (["run", "--from", "2026-02-30"], "'2026-02-30' is not a day"),
        (["run", "--from", "2026-02-28"], "2026-02-28 is outside the source's range 2026-03-01"),
        (["run", "--from", DAYS[0], "--to", "2999-01-01"], "2999-01-01 is not over yet"),
        (["run", "--from", DAYS[1], "--to", DAYS[0]], f"{DAYS[1]}...{DAYS[0]} is reversed"),
        (["run"], "which days?"),
        (["run", "--last", "2", "--to", DAYS[0]], "which days?"),
        (["status", "--from", "2026-3-1"], "'2026-3-1' is not a day"),
    ],
)
def test_a_mistake_ends_in_one_sentence_and_touches_nothing(
    shop: Shop, home: Home, arguments: Sequence[str], said: str
) -> None:
    code, shown = run(home, *arguments)
    assert code == 2
    (line,) = shown.strip().splitlines()
    assert line.startswith("error: ")
    assert said in line
    assert not shop.settings.warehouse_path.exists()
    assert not shop.settings.landing_path.exists()


def test_a_mistake_in_the_settings_names_the_variable(home: Home) -> None:
    home.environment["CUSTOMER_PIPELINE_MAX_RETRIES"] = "many"
    code, shown = run(home, "run", "--last", "1")
    assert code == 2
    assert "CUSTOMER_PIPELINE_MAX_RETRIES='many'" in shown
    assert len(shown.strip().splitlines()) == 1


def test_dagsters_own_commands_refuse_what_is_no_day_of_the_source(shop: Shop, home: Home) -> None:
    for asked in (
        ["--partition", "2026-02-30"],
        ["--partition-range", f"{DAYS[0]}...2999-01-01"],
        ["--partition-range", f"2026-02-27...{DAYS[0]}"],
    ):
        done = home.materialize(*asked, check=False)
        assert done.returncode != 0
        assert "artition" in done.stdout.strip().splitlines()[-1], done.stdout
    with home.instance() as instance:
        assert instance.get_runs() == []
    assert not shop.settings.warehouse_path.exists()
