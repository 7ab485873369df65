"""Backfills as an operator runs them: the command in a process of its own, Dagster's daemon at work,
and what the ledger and Dagster say of it afterwards.
"""

from __future__ import annotations

import re
import subprocess
import sys
from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from datetime import date, timedelta
from pathlib import Path
from typing import ClassVar

import dagster as dg

from tests.support.dagster_processes import PATIENCE, Api, Home, wait_for
from tests.support.gates import Gates
from tests.support.shop import Shop
from tests.support.warehouse import query

_OURS = "customer_pipeline/backfill"
_FIRST = "dagster/asset_partition_range_start"
_LAST = "dagster/asset_partition_range_end"
_NAMED = re.compile(r"^backfill ([0-9a-f]{8})", re.MULTILINE)


def days_from(first: str, number: int) -> list[str]:
    return [(date.fromisoformat(first) + timedelta(days=n)).isoformat() for n in range(number)]


@dataclass(frozen=True)
class Run:
    """A run of a backfill, by Dagster's record; instants are seconds since the epoch. `enqueued` and
    `dequeued` are when it came into the queue and left it."""

    run_id: str
    days: tuple[str, ...]
    status: str
    tags: dict[str, str]
    enqueued: float | None
    dequeued: float | None
    started: float | None
    ended: float | None


@dataclass(frozen=True)
class Command:
    """A `customer-pipeline backfill` that runs, and the file with what it has printed."""

    process: subprocess.Popen[str]
    log: Path

    @property
    def output(self) -> str:
        return self.log.read_text()

    def backfill_id(self) -> str:
        """The id of its backfill, as soon as it has been printed."""
        return wait_for(
            lambda: (found := _NAMED.search(self.output)) and found[1],
            seconds=90,
            what=f"the id of the backfill in\n{self.log}",
        )

    def wait_for_words(self, words: str, *, seconds: float = 120) -> None:
        wait_for(lambda: words in self.output, seconds=seconds, what=f"{words!r} in {self.log}")

    def ends(self, *, seconds: float = 200) -> int:
        """Wait for its end; returns the exit code."""
        return self.process.wait(timeout=PATIENCE * seconds)


@dataclass(frozen=True)
class Operator:
    """Somebody with a shop, a Dagster home, and gates that stop runs in the middle."""

    shop: Shop
    home: Home
    gates: Gates

    daemon: ClassVar[Sequence[str]] = (sys.executable, "-m", "tests.support.quick_daemon")

    def deliver(self, days: Iterable[str], **how: int | str) -> None:
        for day in days:
            self.shop.deliver_day(day, **how)  # pyright: ignore[reportArgumentType]

    def start(self, *arguments: str, entry: Sequence[str] = ("customer-pipeline",)) -> Command:
        """Begin `customer-pipeline backfill`, which answers no questions."""
        log = self.home.folder / f"command-{len(list(self.home.folder.glob('command-*')))}.txt"
        process = self.home.start(*entry, "backfill", *arguments, "--yes", log=log)
        return Command(process, log)

    def backfill(self, *arguments: str) -> tuple[int, str]:
        """`customer-pipeline backfill` to its end: the exit code, and what it has printed."""
        command = self.start(*arguments)
        return command.ends(), command.output

    def status(self, *arguments: str) -> str:
        return self.home.run("customer-pipeline", "status", *arguments, check=False).stdout

    def runs(self, backfill_id: str) -> list[Run]:
        """The runs of a backfill, in the order in which they left the queue."""
        with self.home.instance() as instance:
            records = instance.get_run_records(dg.RunsFilter(tags={_OURS: backfill_id}))
            runs = [_run(instance, record) for record in records]
        return sorted(runs, key=lambda run: run.dequeued or float("inf"))

    def retried_steps(self, runs: Iterable[Run]) -> list[str]:
        """The steps of these runs that were tried again."""
        with self.home.instance() as instance:
            return [
                found.event_log_entry.step_key or ""
                for run in runs
                for found in instance.get_records_for_run(
                    run.run_id, of_type=dg.DagsterEventType.STEP_UP_FOR_RETRY
                ).records
            ]

    def attempts(self, days: Sequence[str]) -> dict[str, list[tuple[str, str | None]]]:
        """What the ledger knows of each day: how each attempt ended, and whose it was."""
        found: dict[str, list[tuple[str, str | None]]] = {day: [] for day in days}
        rows = query(
            self.shop.settings.warehouse_path,
            "select partition_key, outcome, backfill_id from ops.attempts order by finished_at",
        )
        for day, outcome, backfill_id in rows:
            if day in found:
                found[day].append((outcome, backfill_id))
        return found

    def published(self, days: Sequence[str]) -> Counter[str]:
        """How often each day was published; days that never were are not in it."""
        return Counter(
            day
            for day, attempts in self.attempts(days).items()
            for outcome, _ in attempts
            if outcome == "published"
        )

    def wait_for_runs(self, backfill_id: str, count: int, *, seconds: float = 120) -> None:
        """Wait until Dagster has made that many runs of a backfill."""
        wait_for(
            lambda: len(self.runs(backfill_id)) >= count,
            seconds=seconds,
            what=f"{count} runs of backfill {backfill_id}",
        )


@dataclass(frozen=True)
class Services(Operator):
    """An operator with the web server and the daemon."""

    api: Api


def in_turn(runs: Iterable[Run]) -> list[str]:
    """The first days of the runs that had to wait until all of them were in the queue, in the order
    in which they left it. (Dagster makes runs one by one, and starts what there is.)"""
    made = list(runs)
    complete = max(run.enqueued or 0 for run in made)
    waited = [run for run in made if (run.dequeued or 0) > complete]
    return [run.days[0] for run in sorted(waited, key=lambda run: run.dequeued or 0)]


def most_at_once(runs: Iterable[Run]) -> int:
    """How many of the runs worked at the same moment, at most."""
    moments = sorted(
        moment
        for run in runs
        if run.started and run.ended
        for moment in ((run.started, 1), (run.ended, -1))
    )
    most = at_work = 0
    for _, change in moments:
        at_work += change
        most = max(most, at_work)
    return most


def _run(instance: dg.DagsterInstance, record: dg.RunRecord) -> Run:
    run = record.dagster_run
    return Run(
        run.run_id,
        tuple(_between(run.tags)),
        run.status.value,
        dict(run.tags),
        _moment(instance, run.run_id, dg.DagsterEventType.RUN_ENQUEUED),
        _moment(instance, run.run_id, dg.DagsterEventType.RUN_STARTING),
        record.start_time,
        record.end_time,
    )


def _moment(instance: dg.DagsterInstance, run_id: str, event: dg.DagsterEventType) -> float | None:
    found = instance.get_records_for_run(run_id, of_type=event).records
    return found[0].timestamp if found else None


def _between(tags: Mapping[str, str]) -> list[str]:
    first = tags.get(_FIRST) or tags["dagster/partition"]
    last = date.fromisoformat(tags.get(_LAST) or first)
    return days_from(first, (last - date.fromisoformat(first)).days + 1)
