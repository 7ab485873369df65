"""What a look at one thing found: that it is well, or what is wrong with it and what to do next.

What belongs here: the value, and how an error becomes one. What does not: looking (the modules
beside this one, and `orchestration/instance_health.py`), and showing (`cli/doctor_page.py`).
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass
from typing import Literal, get_args

from customer_pipeline.errors import PipelineError, TransientError

Level = Literal["ok", "warning", "problem"]
LEVELS: tuple[Level, ...] = get_args(Level)


@dataclass(frozen=True)
class Finding:
    """One line of a report.

    Args:
        area: what it belongs to, such as `warehouse`.
        name: what was looked at, such as `ledger`.
        level: `warning` is for what works now and should be looked at; `problem` for what does not
            work, or for data that is not as it should be.
        words: how it stands, in one sentence without a full stop.
        todo: what to do next; empty where nothing has to be done.
    """

    area: str
    name: str
    level: Level
    words: str
    todo: str = ""


@dataclass(frozen=True)
class Area:
    """Makes the findings of one area."""

    name: str

    def ok(self, name: str, words: str) -> Finding:
        return Finding(self.name, name, "ok", words)

    def warning(self, name: str, words: str, todo: str) -> Finding:
        return Finding(self.name, name, "warning", words, todo)

    def problem(self, name: str, words: str, todo: str) -> Finding:
        return Finding(self.name, name, "problem", words, todo)

    def mistake(self, name: str, error: PipelineError, *, todo: str = "") -> Finding:
        """An error that a user can meet, with its own advice, or `todo` when it has none."""
        return self.problem(name, _placed(error), error.todo or todo)

    def looked(self, name: str, look: Callable[[], Iterable[Finding]]) -> Iterator[Finding]:
        """What `look` finds; an error that a user can meet is one finding more, called `name`."""
        try:
            yield from look()
        except TransientError as error:
            # It may pass by itself, so what was to be looked at may be well.
            yield self.warning(name, _placed(error), error.todo)
        except PipelineError as error:
            yield self.mistake(name, error)
        except OSError as error:
            yield self.problem(
                name, str(error), "make sure that this user may read and write there"
            )


def _placed(error: PipelineError) -> str:
    return f"{error.where}: {error.what}" if error.where else error.what
