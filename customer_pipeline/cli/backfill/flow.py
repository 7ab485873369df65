"""A backfill from its first partition to its last: the first alone, verified, and then the rest.

What belongs here: the order of things, and that nothing is begun twice. What does not: who does the
work (`workers.py`), and what is said at the end (`report.py`).
"""

from __future__ import annotations

from collections.abc import Sequence
from contextlib import nullcontext
from dataclasses import dataclass, field
from datetime import UTC, datetime
from typing import TYPE_CHECKING

from rich.console import Console

from customer_pipeline.cli.backfill.asked import Asked
from customer_pipeline.cli.backfill.claim import Claim
from customer_pipeline.cli.backfill.tally import read_tally
from customer_pipeline.cli.backfill.view import View
from customer_pipeline.cli.backfill.workers import Worker
from customer_pipeline.cli.standing import standing
from customer_pipeline.phrases import counted
from customer_pipeline.planning.estimate import estimate
from customer_pipeline.verification.findings import Finding
from customer_pipeline.warehouse.attempts import RunTime
from customer_pipeline.warehouse.backfills import Backfill, record_backfill
from customer_pipeline.warehouse.schema import ensure_ledger
from customer_pipeline.warehouse.sql import transaction

if TYPE_CHECKING:
    from customer_pipeline.orchestration.pipeline import Pipeline

_NAMED = 3


@dataclass
class Course:
    """What has become of a backfill so far.

    Args:
        keys: the partitions that it is about, in their order; empty when nothing was left to do.
        unfinished: those that no run has brought to an end, each with the reason.
        held_back: why those after the first ones were never started, if they were not.
        findings: where those that are done differ from their source.
        left: it goes on by itself, or was stopped.
    """

    keys: list[str] = field(default_factory=list)
    unfinished: dict[str, str] = field(default_factory=dict)
    held_back: str = ""
    findings: list[Finding] = field(default_factory=list)
    left: bool = False


@dataclass(frozen=True)
class Flow:
    """A backfill and what it needs. `planned` are the partitions that the plan has shown to run,
    `launched_by` is a person's name, `run_times` are of earlier runs."""

    console: Console
    pipeline: Pipeline
    asked: Asked
    planned: Sequence[str]
    backfill_id: str
    launched_by: str
    run_times: Sequence[RunTime]
    worker: Worker
    claim: Claim

    def go(self, course: Course, *, wait: bool) -> None:
        """Do it, and write down in `course` how it goes, also when it is interrupted."""
        with self.claim.held(self.console) if self.worker.alone else nullcontext():
            self._go(course, wait=wait)

    def _go(self, course: Course, *, wait: bool) -> None:
        with self.claim.held(self.console):
            course.keys = self._to_do(self.planned)
            if not course.keys:
                return
            self._record(course.keys)
            # Whoever wants to cancel or change it meanwhile needs its name.
            self.console.print(f"\nbackfill [bold]{self.backfill_id}[/bold]", highlight=False)
            first, rest = self._parted(course.keys)
            self._begin(first or rest, "first, alone" if first and rest else "")
        if first:
            done = self._follow(course, first)
            course.held_back = self._mistrust(course, first, done)
            if course.held_back or not rest:
                return
            # Somebody else may have begun some of them by now.
            with self.claim.held(self.console):
                rest = self._to_do(rest)
                course.keys = [*first, *rest]
                if rest:
                    self._begin(rest, "the rest")
        if rest and wait:
            self._follow(course, rest)
        course.left = bool(rest) and not wait

    def stop(self, course: Course) -> None:
        """Stop what is under way."""
        course.left = True
        with View(self.console, len(course.keys), self._noun, None) as view:
            self.worker.stop(view)

    def _parted(self, keys: Sequence[str]) -> tuple[Sequence[str], Sequence[str]]:
        """The partitions that come first and alone, and the rest."""
        return keys[: self.asked.verify_first], keys[self.asked.verify_first :]

    def _to_do(self, keys: Sequence[str]) -> list[str]:
        """Those that are to run, as they stand now, in their order."""
        found = standing(self.pipeline, sorted(keys), look_at=self.asked.look_at)
        decisions = self.asked.decide(found.states)
        left = [one.partition_key for one in decisions if not one.runs]
        if left and len(left) < len(keys):
            self.console.print(f"{self._few(left)}: left to others, who have begun meanwhile")
        return self.asked.in_order([one.partition_key for one in decisions if one.runs])

    def _begin(self, keys: Sequence[str], which: str) -> None:
        runs = self.asked.runs_of(self.pipeline.partitions.complete_keys(datetime.now(UTC)), keys)
        them = keys[0] if len(keys) == 1 else self._counted(keys)
        number = "one run" if len(runs) == 1 else f"{len(runs)} runs"
        with self.console.status(f"launching {number}"):
            self.worker.start(runs)
        self.console.print(f"{f'{which}: ' if which else ''}{them} in {number}", highlight=False)

    def _follow(self, course: Course, keys: Sequence[str]) -> list[str]:
        """Wait for the end of these partitions, and verify those that are done, which are returned."""
        guess = estimate(self.run_times, len(keys))
        with View(self.console, len(keys), self._noun, guess.most if guess else None) as view:
            course.unfinished |= self.worker.follow(view)
        done = sorted(read_tally(self.pipeline, self.backfill_id, keys).done)
        if not done:
            return done
        with self.console.status(f"verifying {self._counted(done)}"):
            windows = self.pipeline.partitions.windows(done)
            found = self.pipeline.verifier.findings(windows)
        course.findings += found
        if not found:
            self.console.print(
                f"[green]{self._counted(done)} verified, from source to lake[/green]"
            )
        return done

    def _mistrust(self, course: Course, first: Sequence[str], done: Sequence[str]) -> str:
        """Why the first are no reason to go on; empty when they are."""
        if bad := [key for key in first if key not in done]:
            return f"{bad[0]}, one of the first, could not be published"
        if course.findings:
            return f"{course.findings[0].partition_key}, one of the first, differs from its source"
        return ""

    def _record(self, keys: Sequence[str]) -> None:
        row = Backfill(
            backfill_id=self.backfill_id,
            pipeline=self.pipeline.name,
            partition_keys=tuple(sorted(keys)),
            redo=self.asked.redo,
            reason=self.asked.reason,
            launched_by=self.launched_by,
            launched_at=datetime.now(UTC),
        )
        with self.pipeline.warehouse.write() as connection, transaction(connection):
            ensure_ledger(connection)
            record_backfill(connection, row)

    @property
    def _noun(self) -> str:
        return self.pipeline.partitions.noun

    def _counted(self, keys: Sequence[str]) -> str:
        return counted(len(keys), self._noun)

    def _few(self, keys: Sequence[str]) -> str:
        if len(keys) <= _NAMED:
            return ", ".join(keys)
        return f"{self._counted(keys)} from {keys[0]} on"
