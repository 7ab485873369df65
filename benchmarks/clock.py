"""A clock around parts of the work, those inside of a stage included.

What belongs here: taking times. What does not: which parts there are.
"""

from __future__ import annotations

import time
from collections import defaultdict
from collections.abc import Callable, Iterator, Mapping
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass, field, replace
from functools import wraps
from types import ModuleType
from unittest import mock

# Seconds by part.
Seconds = Mapping[str, float]


@dataclass(frozen=True)
class Clock:
    """Adds up the seconds that each part takes.

    Args:
        inside: functions that are parts of their own wherever they are called meanwhile: by module,
            their names in it and the names of the parts. None of them calls another.
        now: seconds since some moment; `time.process_time` is steadier on a busy machine, and does
            not see what waits for the disk.
    """

    inside: Mapping[ModuleType, Mapping[str, str]] = field(default_factory=dict)
    now: Callable[[], float] = time.perf_counter
    spent: dict[str, float] = field(default_factory=lambda: defaultdict(float))

    def at_zero(self) -> Clock:
        """The same clock, with nothing spent yet."""
        return replace(self, spent=defaultdict(float))

    @contextmanager
    def part(self, name: str) -> Iterator[None]:
        """The body is this part, but for what the functions `inside` of it take."""
        before = sum(self.spent.values())
        begun = self.now()
        with ExitStack() as stack:
            for module, functions in self.inside.items():
                for function, part in functions.items():
                    timed = self._timed(getattr(module, function), part)
                    stack.enter_context(mock.patch.object(module, function, timed))
            yield
        took = self.now() - begun
        self.spent[name] += took - (sum(self.spent.values()) - before)

    def _timed(self, function: Callable, part: str) -> Callable:
        @wraps(function)
        def call(*args, **kwargs):
            begun = self.now()
            try:
                return function(*args, **kwargs)
            finally:
                self.spent[part] += self.now() - begun

        return call
