"""Who does the work of a backfill: Dagster's daemon, or this process.

Both take runs (each a list of partitions without a gap), and return, for every one that they have not
brought to an end, why. What became of the others is in the ledger.

What belongs here: starting, following and stopping. What does not: which runs (`asked.py`).
"""

from __future__ import annotations

import time
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from datetime import UTC, datetime
from typing import TYPE_CHECKING, ClassVar, Protocol

from customer_pipeline.cli.backfill.tally import Tally, read_tally
from customer_pipeline.cli.backfill.view import View, Working
from customer_pipeline.cli.execution import InThisProcess
from customer_pipeline.errors import StageError, TransientError
from customer_pipeline.phrases import short

if TYPE_CHECKING:
    from dagster import DagsterInstance

    from customer_pipeline.orchestration.backfill_progress import Progress, RunProgress
    from customer_pipeline.orchestration.backfills import Launch
    from customer_pipeline.orchestration.pipeline import Pipeline

_LOOK_EVERY = 1.0
_LISTEN_EVERY = 10.0
# The daemon stops what runs within half a minute, and the runs then take a moment to end.
_PATIENCE_WITH_CANCELLING = 90.0
_LEDGER_TIMEOUT = 0.5


class Worker(Protocol):
    """`alone`: no other backfill may be begun while it works, since Dagster's record does not show
    all that it is going to do."""

    alone: ClassVar[bool]

    def start(self, runs: Sequence[Sequence[str]]) -> None:
        """Begin runs, given in the order of the calendar. Of a worker that is not `alone`, they are
        in Dagster's record then, so that nobody begins them again."""
        ...

    def follow(self, view: View) -> Mapping[str, str]:
        """Work, or wait, to the end of what was started."""
        ...

    def stop(self, view: View) -> None:
        """Stop what was started; whole partitions are finished or untouched."""
        ...


class DaemonIsSilentError(StageError):
    """The daemon that is to do the work is not heard of any more."""


@dataclass
class ByTheDaemon:
    """Dagster's backfills, which its daemon carries out. `calendar` is all partitions of the pipeline."""

    instance: DagsterInstance
    pipeline: Pipeline
    launch: Launch
    calendar: Sequence[str]
    started: tuple[str, ...] = ()
    asked: tuple[str, ...] = ()
    alone: ClassVar[bool] = False

    @property
    def backfill_id(self) -> str:
        return self.launch.backfill_id

    def start(self, runs: Sequence[Sequence[str]]) -> None:
        from customer_pipeline.orchestration.backfills import launch
        from customer_pipeline.orchestration.run_limits import limit_in_force

        self.asked = tuple(key for run in runs for key in run)
        how = self.launch
        if self.started:
            # Somebody may have changed it while the first ran.
            limit = limit_in_force(self.instance, self.backfill_id)
            how = replace(how, max_active_runs=limit)
        self.started = tuple(launch(self.pipeline, how, self.calendar, runs))

    def follow(self, view: View) -> Mapping[str, str]:
        listened = time.monotonic()
        for found in self._looks(view):
            if found.ended:
                return _unfinished(found, self.asked)
            if time.monotonic() - listened > _LISTEN_EVERY:
                listened = time.monotonic()
                self._listen()
        raise AssertionError("looking does not end by itself")

    def stop(self, view: View) -> None:
        from customer_pipeline.orchestration.backfill_progress import active_backfills
        from customer_pipeline.orchestration.backfills import cancel

        # By its tag: the interruption may have come before Dagster's answer to the launch.
        active = [one.backfill_id for one in active_backfills(self.instance, self.backfill_id)]
        if not active:
            return
        cancel(active)
        self.started = tuple({*self.started, *active})
        until = time.monotonic() + _PATIENCE_WITH_CANCELLING
        for found in self._looks(view):
            if found.ended or time.monotonic() > until:
                return

    def _looks(self, view: View) -> Iterator[Progress]:
        """Look again and again, and show what there is to see."""
        from customer_pipeline.orchestration.backfill_progress import progress

        tally, ended = Tally(), -1
        while True:
            found = progress(self.instance, self.pipeline, self.started, self.asked)
            now_ended = sum(run.ended for run in found.runs)
            if now_ended != ended:
                try:
                    tally = self._tally()
                    ended = now_ended
                except TransientError:
                    pass  # a run publishes just now; the next look will see it
            at_work = [run for run in found.runs if run.state == "running"]
            view.update(
                tally,
                [Working(run.run_id, run.keys, run.step or "starts", _age(run)) for run in at_work],
                sum(run.state == "waiting" for run in found.runs),
            )
            yield found
            time.sleep(_LOOK_EVERY)

    def _tally(self) -> Tally:
        return read_tally(self.pipeline, self.backfill_id, self.asked, lock_timeout=_LEDGER_TIMEOUT)

    def _listen(self) -> None:
        from customer_pipeline.orchestration.daemon import HOW_TO_START, daemon_state

        state = daemon_state(self.instance, datetime.now(UTC))
        if not state.alive:
            raise DaemonIsSilentError(
                f"{state.words}; Dagster goes on with the backfill as soon as one runs again",
                where="daemon",
                todo=HOW_TO_START,
            )


@dataclass
class InProcess:
    """Runs in this process, one after the other."""

    here: InThisProcess
    launch: Launch
    runs: Sequence[Sequence[str]] = ()
    alone: ClassVar[bool] = True

    def start(self, runs: Sequence[Sequence[str]]) -> None:
        self.runs = runs[::-1] if self.launch.newest_first else runs

    def follow(self, view: View) -> Mapping[str, str]:
        from dagster import DagsterExecutionInterruptedError

        asked = [key for run in self.runs for key in run]
        for n, run in enumerate(self.runs):
            tally = read_tally(self.here.pipeline, self.launch.backfill_id, asked)
            at_work = Working(self.launch.backfill_id, run, "in this process", 0)
            view.update(tally, [at_work], len(self.runs) - n - 1)
            try:
                self.here.run(run, self.launch.tags)
            except DagsterExecutionInterruptedError:
                raise KeyboardInterrupt from None
        view.update(read_tally(self.here.pipeline, self.launch.backfill_id, asked), [], 0)
        return {}

    def stop(self, view: View) -> None:
        """An interrupted run has ended by now."""


def _age(run: RunProgress) -> float:
    return (datetime.now(UTC) - run.begun).total_seconds() if run.begun else 0.0


def _unfinished(found: Progress, asked: Sequence[str]) -> dict[str, str]:
    """Why partitions that no run has brought to an end were not."""
    newest = {key: run for run in found.runs for key in run.keys}
    reasons = {}
    for key in asked:
        run = newest.get(key)
        if run is None:
            reasons[key] = found.error or "cancelled before a run of it began"
        elif run.state == "cancelled":
            reasons[key] = "its run was cancelled"
        elif run.state == "failed":
            reasons[key] = f"run {short(run.run_id)} ended before its end: see it in Dagster's UI"
    return reasons
