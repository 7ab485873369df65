"""`customer-pipeline backfill --local`, as a user types it: which days run, in which runs and order,
what keeps the rest from starting, and what is refused (cases B1, B10, B11, B13, B16, T6).

With a daemon: `tests/doors/backfills/`.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import dagster as dg
import pytest
from filelock import FileLock, Timeout
from typer.testing import CliRunner, Result

from customer_pipeline.cli.backfill import claim, flow
from customer_pipeline.cli.execution import InThisProcess
from customer_pipeline.cli.main import cli
from customer_pipeline.errors import PipelineError, StageError, TransientError
from customer_pipeline.orchestration import backfills
from customer_pipeline.orchestration.location import build_defs
from customer_pipeline.planning.plan import Redo
from tests.support.backfills import days_from
from tests.support.dagster_processes import Home
from tests.support.shop import SOURCE, Shop
from tests.support.stages import run_stages
from tests.support.warehouse import query

DAYS = days_from("2026-03-09", 8)
# A day in each state; which of them each rule runs is a table in README.md.
IN_STATE = dict(
    zip(("missing", "failed", "stale", "published", "waived", "running"), DAYS, strict=False)
)
RUNS: dict[Redo, set[str]] = {
    "missing": {"missing", "failed"},
    "failed": {"failed"},
    "stale": {"stale"},
    "all": {"missing", "failed", "stale", "published"},
}


@pytest.fixture
def delivered(terminal: Shop) -> Shop:
    for day in DAYS:
        terminal.deliver_day(day)
    return terminal


def typed(*arguments: str, local: bool = True, last: str = DAYS[-1]) -> Result:
    return CliRunner().invoke(
        cli,
        ["backfill", "--yes", *(["--local"] if local else []), *arguments]
        + ([] if "--resume" in arguments else ["--from", DAYS[0], "--to", last]),
    )


def attempts(shop: Shop) -> list[tuple[str, str, str]]:
    """Day, outcome and run of every attempt of a backfill, in the order in which they ended."""
    return query(
        shop.settings.warehouse_path,
        "select partition_key, outcome, run_id from ops.attempts where backfill_id is not null"
        " order by finished_at, partition_key",
    )


def days_of_runs(shop: Shop) -> list[list[str]]:
    """The days of each run, in the order in which the runs ended."""
    found: dict[str, list[str]] = {}
    for day, _, run in attempts(shop):
        found.setdefault(run, []).append(day)
    return list(found.values())


def backfill_id(shop: Shop) -> str:
    """The id of the newest backfill."""
    ((found,),) = query(
        shop.settings.warehouse_path,
        "select backfill_id from ops.backfills order by launched_at desc limit 1",
    )
    return found


# What each rule makes of each state is cell by cell in `tests/planning/test_plan.py`.
@pytest.mark.parametrize(
    "redo",
    [
        "missing",
        *(pytest.param(redo, marks=pytest.mark.slow) for redo in RUNS if redo != "missing"),
    ],
)
def test_each_rule_runs_the_days_that_the_table_says(
    delivered: Shop, home: Home, monkeypatch: pytest.MonkeyPatch, redo: Redo
) -> None:
    monkeypatch.setenv("DAGSTER_HOME", str(home.folder))
    run_stages(delivered.pipeline, [IN_STATE["stale"]])
    delivered.source_path.write_text(
        SOURCE.replace("name: {}", 'name: {expression: "upper(value)"}')
    )
    delivered.withdraw("orders", IN_STATE["failed"])
    run_stages(delivered.pipeline, [IN_STATE["published"], IN_STATE["failed"]])
    if redo != "stale":
        # A day whose cause of failure is gone from the source is stale, too.
        delivered.deliver_day(IN_STATE["failed"])
    waived = ["waive", "--from", IN_STATE["waived"], "--reason", "closed"]
    assert CliRunner().invoke(cli, waived).exit_code == 0
    job = build_defs(delivered.settings).resolve_job_def("daily_customer_pipeline")
    with home.instance() as instance:
        instance.create_run_for_job(
            job,
            tags={"dagster/partition": IN_STATE["running"]},
            status=dg.DagsterRunStatus.STARTED,
        )
    done = typed("--redo", redo, last=IN_STATE["running"])
    assert done.exit_code == 0, done.output
    assert [(day, outcome) for day, outcome, _ in attempts(delivered)] == [
        (day, "published") for state, day in IN_STATE.items() if state in RUNS[redo]
    ]


@pytest.mark.slow
def test_as_many_runs_as_the_plan_says_and_in_its_order(delivered: Shop) -> None:
    done = typed("--verify-first", "0", "--days-per-run", "3")
    assert done.exit_code == 0, done.output
    assert "8 days in 3 runs" in done.output
    assert days_of_runs(delivered) == [DAYS[:3], DAYS[3:6], DAYS[6:]]


@pytest.mark.slow
def test_the_newest_come_first_when_that_is_asked_for(delivered: Shop) -> None:
    done = typed("--newest-first", "--verify-first", "2", "--days-per-run", "3")
    assert done.exit_code == 0, done.output
    assert "first, alone: 2 days in one run" in done.output
    assert "the rest: 6 days in 2 runs" in done.output
    assert days_of_runs(delivered) == [DAYS[6:], DAYS[3:6], DAYS[:3]]


def test_a_bad_first_day_keeps_the_rest_from_starting(delivered: Shop) -> None:
    delivered.withdraw("orders", DAYS[0])
    done = typed()
    assert done.exit_code == 1
    assert [(day, outcome) for day, outcome, _ in attempts(delivered)] == [(DAYS[0], "failed")]
    assert "0 of 8 days done" in done.output
    assert f"not started: {DAYS[0]}, one of the first" in " ".join(
        done.output.replace("│", " ").split()
    )


def test_a_first_day_that_differs_from_its_source_keeps_the_rest_from_starting(
    delivered: Shop, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The delivery is another one a moment after the run, as when a source is still being written."""
    run_days = InThisProcess.run

    def run_and_deliver(here: InThisProcess, keys: Sequence[str], *rest: Any) -> bool:
        succeeded = run_days(here, keys, *rest)
        delivered.deliver_day(keys[0], price="9.99")
        return succeeded

    monkeypatch.setattr(InThisProcess, "run", run_and_deliver)
    done = typed()
    assert done.exit_code == 1
    assert [day for day, _, _ in attempts(delivered)] == DAYS[:1]
    assert "differs from its source" in " ".join(done.output.split())


@pytest.mark.slow
def test_a_bad_day_among_the_rest_fails_alone_and_a_resume_takes_just_that_one(
    delivered: Shop,
) -> None:
    bad = DAYS[4]
    whole = delivered.path("orders", bad).read_text()
    delivered.withdraw("orders", bad)
    assert typed().exit_code == 1
    first = backfill_id(delivered)
    assert [day for day, outcome, _ in attempts(delivered) if outcome == "published"] == [
        day for day in DAYS if day != bad
    ]
    delivered.path("orders", bad).write_text(whole)
    resumed = typed("--resume", first)
    assert resumed.exit_code == 0, resumed.output
    assert days_of_runs(delivered)[2:] == [[bad]]
    again = typed("--resume", first)
    assert (again.exit_code, "Nothing to launch." in again.output) == (0, True)
    assert len(days_of_runs(delivered)) == 3


@pytest.mark.slow
def test_a_resume_of_published_days_repeats_only_what_the_backfill_has_not_done(
    delivered: Shop,
) -> None:
    """`--redo all` that broke off: what was published before it began is still to be repeated."""
    run_stages(delivered.pipeline, DAYS)
    delivered.withdraw("orders", DAYS[0])
    assert typed("--redo", "all").exit_code == 1
    delivered.deliver_day(DAYS[0])
    resumed = typed("--resume", backfill_id(delivered))
    assert resumed.exit_code == 0, resumed.output
    assert days_of_runs(delivered)[1:] == [DAYS[:1], DAYS[1:]]


@pytest.mark.slow
def test_the_reason_is_kept_in_the_ledger_and_on_the_runs(
    delivered: Shop, home: Home, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("DAGSTER_HOME", str(home.folder))
    reason = "[bold]new[/bold] rule; '--"
    assert typed("--reason", reason).exit_code == 0
    assert query(
        delivered.settings.warehouse_path, "select reason, partition_keys from ops.backfills"
    ) == [(reason, DAYS)]
    with home.instance() as instance:
        runs = instance.get_runs(dg.RunsFilter(job_name="daily_customer_pipeline"))
    assert [run.tags["customer_pipeline/reason"] for run in runs] == [reason, reason]
    assert {run.tags["customer_pipeline/backfill"] for run in runs} == {backfill_id(delivered)}


@pytest.mark.slow
def test_while_it_works_here_no_other_backfill_can_begin(
    delivered: Shop, monkeypatch: pytest.MonkeyPatch
) -> None:
    lock = delivered.settings.data_path / ".backfill.lock"
    run_days, refused = InThisProcess.run, []

    def run_and_look(here: InThisProcess, keys: Sequence[str], *rest: Any) -> bool:
        with pytest.raises(Timeout):
            FileLock(lock, timeout=0).acquire()
        refused.append(list(keys))
        return run_days(here, keys, *rest)

    monkeypatch.setattr(InThisProcess, "run", run_and_look)
    assert typed().exit_code == 0
    assert refused == [DAYS[:1], DAYS[1:]]

    monkeypatch.setattr(claim, "_TIMEOUT", 0.1)
    with FileLock(lock):
        done = typed("--redo", "all")
    assert isinstance(done.exception, TransientError)
    assert "another backfill is starting, or running with --local" in str(done.exception)
    assert len(days_of_runs(delivered)) == 2


@pytest.mark.slow
def test_an_interruption_leaves_whole_days_and_says_how_to_go_on(
    delivered: Shop, monkeypatch: pytest.MonkeyPatch
) -> None:
    run_days = InThisProcess.run

    def run_or_stop(here: InThisProcess, keys: Sequence[str], *rest: Any) -> bool:
        if keys[0] == DAYS[5]:
            raise dg.DagsterExecutionInterruptedError
        return run_days(here, keys, *rest)

    monkeypatch.setattr(InThisProcess, "run", run_or_stop)
    done = typed("--verify-first", "1", "--days-per-run", "2")
    assert done.exit_code == 130, done.output
    assert "5 of 8 days done" in done.output
    assert "stopped, or not started" in done.output
    assert f"backfill --resume {backfill_id(delivered)}" in done.output
    monkeypatch.setattr(InThisProcess, "run", run_days)
    assert typed("--resume", backfill_id(delivered)).exit_code == 0
    assert days_of_runs(delivered) == [
        *(DAYS[:1], DAYS[1:3], DAYS[3:5]),
        *(DAYS[5:6], DAYS[6:]),
    ]


@pytest.mark.slow
def test_days_that_others_have_begun_since_the_plan_are_left_to_them(
    delivered: Shop, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Between the plan that was agreed to and the start, somebody else publishes two days."""
    agreed = CliRunner()
    published = []

    def agree(*_: Any, **__: Any) -> None:
        published.append(run_stages(delivered.pipeline, DAYS[:2]))

    monkeypatch.setattr("customer_pipeline.cli.backfill.carrying_out._agree", agree)
    done = agreed.invoke(cli, ["backfill", "--local", "--from", DAYS[0], "--to", DAYS[-1]])
    assert done.exit_code == 0, done.output
    assert "would run: 8 days" in done.output
    assert f"{DAYS[0]}, {DAYS[1]}: skipped: already started by another run" in done.output
    assert days_of_runs(delivered) == [DAYS[2:3], DAYS[3:]]
    assert len(published) == 1


def test_a_warehouse_that_somebody_holds_meanwhile_is_named_with_the_way_on(
    delivered: Shop, monkeypatch: pytest.MonkeyPatch
) -> None:
    def held(*_: Any, **__: Any) -> None:
        raise TransientError("the warehouse was held by a notebook", where="warehouse.duckdb")

    monkeypatch.setattr(flow, "read_tally", held)
    done = typed()
    assert done.exit_code == 1
    shown = " ".join(done.output.split())
    assert "error: warehouse.duckdb: the warehouse was held by a notebook" in shown
    assert f"customer-pipeline backfill --resume {backfill_id(delivered)}" in shown


@pytest.mark.parametrize(
    ("arguments", "said"),
    [
        (["--from", "2026-02-30"], ["'2026-02-30' is not a day"]),
        (["--from", "2026-02-28"], ["2026-02-28 is outside the source's range 2026-03-01"]),
        (["--to", "2999-01-01"], ["2999-01-01 is not over yet"]),
        (["--from", DAYS[4], "--to", DAYS[0]], [f"{DAYS[4]}...{DAYS[0]} is reversed"]),
        (
            ["--from", "2026-3-9", "--to", "2999-01-01", "--feed", "nope"],
            ["'2026-3-9' is not a day", "2999-01-01 is not over yet", "no feed 'nope'"],
        ),
        (["--resume", "nope"], ["there is no backfill nope"]),
        (["--cancel", "nope"], ["there is no backfill nope"]),
        (["--change", "nope", "--max-active-runs", "2"], ["there is no backfill nope"]),
        (["--change", "nope"], ["--change needs --max-active-runs"]),
        (["--local", "--max-active-runs", "2"], ["--local does one run at a time"]),
        (["--to", DAYS[0]], ["DAGSTER_HOME is not set"]),
    ],
)
def test_every_mistake_is_named_before_anything_is_done(
    delivered: Shop, arguments: list[str], said: list[str]
) -> None:
    done = CliRunner().invoke(cli, ["backfill", "--yes", *arguments])
    assert isinstance(done.exception, PipelineError)
    assert all(words in str(done.exception) for words in said), done.exception
    assert not delivered.settings.warehouse_path.exists()


def test_without_a_daemon_it_says_so_and_how_to_start_one(
    delivered: Shop, home: Home, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("DAGSTER_HOME", str(home.folder))
    done = typed(local=False)
    assert isinstance(done.exception, PipelineError)
    said = str(done.exception)
    assert "no Dagster daemon has ever run with this DAGSTER_HOME" in said
    assert "make dev" in said
    assert "--local" in said
    assert not delivered.settings.warehouse_path.exists()


def test_when_dagster_does_not_answer_it_is_said_what_to_do_about_it(
    shop: Shop, home: Home, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("DAGSTER_HOME", str(home.folder))
    monkeypatch.setattr(backfills, "_TIMEOUT", 0.01)
    how = backfills.Launch("4b1d", "", newest_first=False, begin=DAYS[0])
    with pytest.raises(StageError, match=r"did not answer within 0\.01 s") as told:
        backfills.launch(shop.pipeline, how, DAYS, [DAYS])
    assert "look in the UI under Runs, Backfills" in told.value.todo
    assert "customer-pipeline backfill --resume 4b1d, or --cancel 4b1d" in told.value.todo
    with pytest.raises(StageError, match="did not answer"):
        backfills.cancel(["of Dagster"])
