"""`customer-pipeline waive`: days that will never come, and what becomes of them everywhere else."""

from __future__ import annotations

import json

import pytest
from typer.testing import CliRunner, Result

from customer_pipeline.cli.main import cli
from customer_pipeline.errors import PipelineError
from tests.support.shop import Shop
from tests.support.stages import run_stages
from tests.support.warehouse import query

DAYS = ["2026-03-03", "2026-03-04", "2026-03-05"]
DAY, LOST = DAYS[0], DAYS[1]
REASON = "closed for [bold]renovation[/bold]; '--"


@pytest.fixture
def terminal(shop: Shop, without_dbt: None, monkeypatch: pytest.MonkeyPatch) -> Shop:
    """A shop whose first and third day are published, and whose second one failed."""
    for name, value in (shop.environment | {"COLUMNS": "300"}).items():
        monkeypatch.setenv(name, value)
    monkeypatch.delenv("DAGSTER_HOME", raising=False)
    monkeypatch.setenv("LOGNAME", "eve")
    for day in (DAYS[0], DAYS[2]):
        shop.deliver_day(day)
    run_stages(shop.pipeline, DAYS)
    return shop


def typed(*arguments: str) -> Result:
    return CliRunner().invoke(cli, list(arguments))


def kinds(*days: str) -> list[str]:
    shown = typed("status", "--from", days[0], "--to", days[-1], "--json").output
    return [day["state"] for day in json.loads(shown)["days"]]


def test_a_waived_day_no_longer_counts_as_failed_and_says_why(terminal: Shop) -> None:
    assert kinds(*DAYS) == ["published", "failed", "published"]
    done = typed("waive", "--from", LOST, "--reason", REASON)
    assert (done.exit_code, done.output) == (0, f"{LOST}: 1 day waived: {REASON}\n")
    shown = typed("status", "--from", LOST, "--to", LOST, "--json")
    assert shown.exit_code == 0
    (day,) = json.loads(shown.output)["days"]
    assert day["state"] == "waived"
    assert (day["waiver"]["reason"], day["waiver"]["waived_by"]) == (REASON, "eve")


def test_a_day_that_was_never_tried_can_be_waived_before_there_is_a_warehouse(
    shop: Shop, monkeypatch: pytest.MonkeyPatch
) -> None:
    for name, value in shop.environment.items():
        monkeypatch.setenv(name, value)
    monkeypatch.delenv("DAGSTER_HOME", raising=False)
    done = typed("waive", "--from", DAYS[0], "--to", DAYS[2], "--reason", "lost")
    assert "3 days waived: lost" in done.output
    assert kinds(*DAYS) == ["waived"] * 3


def test_a_plan_leaves_a_waived_day_alone_whatever_is_to_be_redone(terminal: Shop) -> None:
    typed("waive", "--from", LOST, "--reason", REASON)
    for redo in ("missing", "failed", "stale"):
        shown = typed("plan", "--from", DAY, "--to", DAYS[2], "--redo", redo).output
        assert "would run: nothing" in shown
    shown = typed("plan", "--from", DAY, "--to", DAYS[2], "--redo", "all").output
    assert "would run: 2 days" in shown
    assert "waived by eve on " in shown
    assert REASON in shown


def test_verify_takes_a_waived_day_for_one_in_order(terminal: Shop) -> None:
    between = ("verify", "--from", DAY, "--to", DAYS[2])
    assert typed(*between).exit_code == 1
    typed("waive", "--from", LOST, "--reason", REASON)
    done = typed(*between, "--deep")
    assert done.exit_code == 0, done.output


def test_verify_sees_rows_of_a_waived_day_in_the_marts(terminal: Shop) -> None:
    typed("waive", "--from", LOST, "--reason", REASON)
    with terminal.pipeline.warehouse.write() as connection:
        connection.execute(
            "insert into marts.fct_orders by name"
            f" select * replace (date '{LOST}' as _date) from marts.fct_orders limit 1"
        )
    done = typed("verify", "--from", LOST, "--to", LOST)
    assert done.exit_code == 1
    assert "1 rows in marts, but never published" in done.output


def test_publishing_a_waived_day_ends_its_waiver(terminal: Shop) -> None:
    typed("waive", "--from", LOST, "--reason", REASON)
    terminal.deliver_day(LOST)
    run_stages(terminal.pipeline, [LOST])
    assert kinds(*DAYS) == ["published"] * 3
    assert query(terminal.settings.warehouse_path, "from ops.waivers") == []


def test_a_run_that_fails_on_a_waived_day_leaves_it_waived(terminal: Shop) -> None:
    typed("waive", "--from", LOST, "--reason", REASON)
    run_stages(terminal.pipeline, [LOST])
    assert kinds(LOST) == ["waived"]


def test_a_waiver_can_be_taken_back(terminal: Shop) -> None:
    typed("waive", "--from", LOST, "--reason", REASON)
    done = typed("waive", "--from", LOST, "--undo")
    assert (done.exit_code, done.output) == (0, f"{LOST}: 1 day expected again\n")
    assert kinds(LOST) == ["failed"]


REFUSED = {
    "a published day": (
        ["--from", DAY, "--to", DAYS[2], "--reason", "x"],
        "2 days are published, and nothing was changed: 2026-03-03, 2026-03-05",
    ),
    "no reason": (["--from", LOST], "a reason is needed"),
    "a blank reason": (["--from", LOST, "--reason", " \n"], "a reason is needed"),
    "what is not waived": (["--from", LOST, "--undo"], "1 day is not waived"),
    "an undo with a reason": (["--from", LOST, "--undo", "--reason", "x"], "takes no --reason"),
    "a day that is none": (["--from", "2026-02-30", "--reason", "x"], "is not a day"),
    "a day to come": (["--from", "2999-01-01", "--reason", "x"], "is not over yet"),
}


@pytest.mark.parametrize(("arguments", "said"), REFUSED.values(), ids=REFUSED.keys())
def test_what_cannot_be_waived_is_refused_and_nothing_changes(
    terminal: Shop, arguments: list[str], said: str
) -> None:
    done = typed("waive", *arguments)
    assert isinstance(done.exception, PipelineError)
    assert said in str(done.exception)
    assert query(terminal.settings.warehouse_path, "from ops.waivers") == []
    assert kinds(*DAYS) == ["published", "failed", "published"]


def test_a_reason_of_several_lines_is_kept_as_one(terminal: Shop) -> None:
    typed("waive", "--from", LOST, "--reason", "closed\n  for  good")
    assert query(terminal.settings.warehouse_path, "select reason from ops.waivers") == [
        ("closed for good",)
    ]
