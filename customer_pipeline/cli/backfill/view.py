"""A backfill at work, in a terminal: a bar, what runs now, what failed last, how long it may take.

Where there is no terminal, a line is printed whenever something has changed.

What does not belong here: finding out what is going on (`workers.py`).
"""

from __future__ import annotations

import time
from collections.abc import Sequence
from dataclasses import dataclass
from types import TracebackType
from typing import Self

from rich.console import Console, Group
from rich.live import Live
from rich.progress_bar import ProgressBar
from rich.table import Table
from rich.text import Text

from customer_pipeline.cli.backfill.tally import Tally
from customer_pipeline.cli.words import STYLES, SYMBOLS
from customer_pipeline.durations import seconds_text
from customer_pipeline.phrases import counted, short
from customer_pipeline.planning.groups import Span

_FAILURES_SHOWN = 3
_RUNS_SHOWN = 8
_BAR_WIDTH = 30


@dataclass(frozen=True)
class Working:
    """A run that works now: its partitions, what it does, and for how many seconds already."""

    run_id: str
    keys: Sequence[str]
    step: str
    seconds: float


class View:
    """Shows how far a backfill is, until the block ends.

    Args:
        size: how many partitions it is about.
        noun: what people call one.
        estimate: seconds that it may take, by what earlier runs took; None if that is not known.
    """

    def __init__(self, console: Console, size: int, noun: str, estimate: float | None) -> None:
        self._console, self._size, self._noun = console, size, noun
        self._estimate = estimate
        self._begun = time.monotonic()
        self._tally, self._working, self._waiting = Tally(), (), 0
        self._said = ""
        self._live = Live(
            console=console, get_renderable=self._picture, refresh_per_second=4, transient=True
        )

    def __enter__(self) -> Self:
        if self._console.is_terminal:
            self._live.start()
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        self._live.stop()

    @property
    def seconds(self) -> float:
        """How long it has been shown."""
        return time.monotonic() - self._begun

    def update(self, tally: Tally, working: Sequence[Working], waiting: int) -> None:
        """Show this from now on. `waiting` is how many runs have not begun."""
        self._tally, self._working, self._waiting = tally, tuple(working), waiting
        words = self._counts().plain
        if not self._console.is_terminal and words != self._said:
            self._said = words
            self._console.print(words, soft_wrap=True)

    def _picture(self) -> Group:
        over = len(self._tally.done) + len(self._tally.failed)
        line = Table.grid(padding=(0, 1))
        line.add_row(
            ProgressBar(total=self._size, completed=over, width=_BAR_WIDTH),
            f"{seconds_text(self.seconds)}{self._left(over)}",
        )
        runs = [_line(run) for run in self._working[:_RUNS_SHOWN]]
        if more := len(self._working) - len(runs):
            runs.append(Text(f"  … and {more} more at work", style="bright_black"))
        if self._waiting:
            waits = "run waits" if self._waiting == 1 else "runs wait"
            runs.append(Text(f"  {self._waiting} {waits} for a turn", style="bright_black"))
        if not self._working and not self._waiting:
            runs.append(Text("  waiting for Dagster to begin", style="bright_black"))
        failed = sorted(self._tally.failed.items(), key=lambda one: one[1].finished_at)
        failures = [
            Text.assemble(
                (f"  {SYMBOLS['failed']} {key}", STYLES["failed"]),
                f" {attempt.stage}: {attempt.reason}",
                no_wrap=True,
                overflow="ellipsis",
            )
            for key, attempt in failed[-_FAILURES_SHOWN:]
        ]
        return Group(line, self._counts(), *runs, *failures)

    def _counts(self) -> Text:
        tally = self._tally
        return Text.assemble(
            f"{len(tally.done)} of {counted(self._size, self._noun)} done",
            *([(f", {len(tally.failed)} failed", STYLES["failed"])] if tally.failed else []),
            f", {len(self._working)} at work" if len(self._working) == 1 else "",
            f", {len(self._working)} runs at work" if len(self._working) > 1 else "",
            f", {tally.rows:,} rows" if tally.rows else "",
        )

    def _left(self, over: int) -> str:
        """The time left, going by what is over, or else by earlier runs."""
        if over:
            left = self.seconds / over * (self._size - over)
        elif self._estimate is not None:
            left = self._estimate - self.seconds
        else:
            return ""
        return f", about {seconds_text(left)} left" if left >= 1 else ""


def _line(run: Working) -> Text:
    keys = Span(run.keys[0], run.keys[-1]).words
    return Text.assemble(
        (f"  {SYMBOLS['running']} ", STYLES["running"]),
        f"{keys}  run {short(run.run_id)}  {run.step}  {seconds_text(run.seconds)}",
        no_wrap=True,
        overflow="ellipsis",
    )
