"""A backfill that is cancelled, or whose processes die, in the middle: nothing more of it starts or
it goes on by itself, each day is whole or untouched, and a resume takes exactly what is left (cases
B5, B6, B7, B8, A3).
"""

from __future__ import annotations

import os
import signal
import subprocess
import sys

import pytest

from tests.support.backfills import Services, days_from
from tests.support.dagster_processes import wait_for
from tests.support.warehouse import rows_of

pytestmark = pytest.mark.slow

ONE_BY_ONE = ("--verify-first", "0", "--days-per-run", "1", "--max-active-runs", "2")
QUICK = (sys.executable, "-m", "tests.support.quick_command")


def test_cancelled_in_each_way_and_resumed_each_time(services: Services) -> None:
    days, gates = days_from("2026-05-01", 8), services.gates
    services.deliver(days)
    gates.close(days)
    done: set[str] = set()

    def let_two_through() -> None:
        """Two more days are done, and two others at work."""
        two = wait_for(lambda: gates.waiting_if(2), seconds=120, what="two runs")
        done.update(two)
        gates.open(two)
        wait_for(
            lambda: (found := gates.waiting_if(2)) and found.isdisjoint(two),
            seconds=120,
            what="two other runs",
        )

    def stopped() -> None:
        """The days that are done have been published, each once; of no other day is there a row."""
        assert services.published(days) == dict.fromkeys(done, 1)
        rows = rows_of(services.shop.settings.warehouse_path, {"marts.fct_orders": ["_date"]})
        assert {str(day) for (day,) in rows["marts.fct_orders"]} & set(days) == done
        assert gates.waiting() == {}

    # By the command, from another terminal.
    first = services.start(
        *("--from", days[0], "--to", days[-1], *ONE_BY_ONE, "--reason", "why not")
    )
    backfill_id = first.backfill_id()
    wait_for(lambda: gates.waiting_if(2), seconds=120, what="two runs")
    code, output = services.backfill("--cancel", backfill_id[:5])
    assert code == 0, output
    assert f"backfill {backfill_id} is being cancelled" in output
    assert first.ends() == 1, first.output
    assert "0 of 8 days done" in first.output
    assert "cancelled" in first.output
    assert f"backfill --resume {backfill_id}" in first.output
    stopped()
    assert {run.status for run in services.runs(backfill_id)} <= {"CANCELED"}
    code, output = services.backfill("--cancel", backfill_id)
    assert (code, f"no run of backfill {backfill_id} is active" in output) == (2, True), output

    # By Ctrl-C.
    second = services.start("--resume", backfill_id, *ONE_BY_ONE)
    second_id = second.backfill_id()
    let_two_through()
    os.kill(second.process.pid, signal.SIGINT)
    assert second.ends() == 130, second.output
    assert "2 of 8 days done" in second.output
    assert "stopped, or not started" in second.output
    assert f"backfill --resume {second_id}" in second.output
    stopped()
    runs = services.runs(second_id)
    assert {run.tags["customer_pipeline/reason"] for run in runs} == {"why not"}

    # In the UI.
    third = services.start("--resume", backfill_id, *ONE_BY_ONE)
    third_id = third.backfill_id()
    let_two_through()
    for dagsters in {run.tags["dagster/backfill"] for run in services.runs(third_id)}:
        services.api.cancel_backfill(dagsters)
    assert third.ends() == 1, third.output
    assert "2 of 6 days done" in third.output
    stopped()

    gates.open(days)
    code, output = services.backfill("--resume", backfill_id)
    assert code == 0, output
    assert "4 of 4 days done" in output
    done.update(days)
    stopped()
    code, output = services.backfill("--resume", backfill_id)
    assert (code, "Nothing to launch." in output) == (0, True), output


def test_a_killed_worker_and_a_killed_code_server_are_made_up_for(services: Services) -> None:
    days = days_from("2026-05-11", 4)
    services.deliver(days)
    services.gates.close(days[:2])
    command = services.start("--from", days[0], "--to", days[-1], *ONE_BY_ONE)
    backfill_id = command.backfill_id()
    services.gates.wait_until_waiting(days[:2])

    worker = services.gates.waiting()[days[0]]
    os.kill(worker, signal.SIGKILL)
    wait_for(
        lambda: services.gates.waiting()[days[0]] != worker,
        seconds=120,
        what="another run of the day",
    )
    # The days at work are not begun again by anybody.
    code, output = services.backfill("--from", days[0], "--to", days[-1])
    assert (code, "Nothing to launch." in output) == (0, True), output

    for server in code_servers(services.home.daemon):
        os.kill(server, signal.SIGKILL)
    services.gates.open(days)
    assert command.ends() == 0, command.output
    assert "4 of 4 days done" in command.output
    assert services.published(days) == dict.fromkeys(days, 1)
    runs = services.runs(backfill_id)
    assert sorted((run.days[0], run.status) for run in runs) == [
        (days[0], "FAILURE"),
        *((day, "SUCCESS") for day in days),
    ]


def test_a_killed_daemon_is_noticed_and_the_next_one_goes_on(services: Services) -> None:
    days, others = days_from("2026-05-16", 4), days_from("2026-05-21", 2)
    services.deliver([*days, *others])
    services.gates.close(days[:2])
    command = services.start("--from", days[0], "--to", days[-1], *ONE_BY_ONE, entry=QUICK)
    backfill_id = command.backfill_id()
    services.gates.wait_until_waiting(days[:2])
    os.kill(services.home.daemon.pid, signal.SIGKILL)
    services.home.daemon.wait()
    assert command.ends(seconds=60) == 1, command.output
    assert "no Dagster daemon is running" in command.output
    assert "start one with `make dev`" in command.output
    assert "not done when the daemon stopped responding" in command.output
    assert f"backfill --resume {backfill_id}" in command.output

    # Without a daemon nothing is begun, and that is said at once.
    refused = services.start("--from", others[0], "--to", others[-1], entry=QUICK)
    assert refused.ends(seconds=30) == 2, refused.output
    assert "no Dagster daemon is running" in refused.output
    assert "--local" in refused.output
    assert services.attempts(others) == {day: [] for day in others}

    services.home.start_daemon(services.daemon)
    services.gates.open(days)
    wait_for(
        lambda: [run.status for run in services.runs(backfill_id)] == ["SUCCESS"] * 4,
        seconds=180,
        what="the end of all runs",
    )
    assert services.published(days) == dict.fromkeys(days, 1)
    code, output = services.backfill("--resume", backfill_id)
    assert (code, "Nothing to launch." in output) == (0, True), output


def test_an_interruption_while_it_is_being_launched_leaves_nothing_behind(
    services: Services,
) -> None:
    days = days_from("2026-05-24", 2)
    services.deliver(days)
    services.gates.close(days)
    command = services.start("--from", days[0], "--to", days[-1], "--verify-first", "0")
    backfill_id = command.backfill_id()
    with services.home.instance() as instance:

        def live() -> list[str]:
            return [
                found.backfill_id
                for found in instance.get_backfills(limit=5)
                if found.tags.get("customer_pipeline/backfill") == backfill_id
                and found.status.value in ("REQUESTED", "CANCELING")
            ]

        # Dagster has it, and has not answered the command yet.
        wait_for(live, seconds=60, what="the backfill", pause=0.02)
        os.kill(command.process.pid, signal.SIGINT)
        assert command.ends() == 130, command.output
        assert f"backfill --resume {backfill_id}" in command.output
        # The command need not wait for Dagster to note that all of it is cancelled.
        wait_for(lambda: not live(), seconds=60, what="the end of the backfill")
    services.gates.open(days)


def code_servers(daemon: subprocess.Popen[str]) -> list[int]:
    """The processes in which a daemon has loaded the code location."""
    listed = subprocess.run(
        ["ps", "-o", "pid=,args=", "--ppid", str(daemon.pid)],
        capture_output=True,
        text=True,
        check=True,
    )
    return [int(line.split()[0]) for line in listed.stdout.splitlines() if "api grpc" in line]
