"""Gates at which runs in other processes wait, so that a test finds them in the middle of their work.

A gate is a file that is called like a partition. A run that comes to it leaves its process's id
beside it, and goes on when the gate is gone.
"""

from __future__ import annotations

import os
import time
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from pathlib import Path

from tests.support.dagster_processes import wait_for

_SUFFIX = ".waits"


@dataclass(frozen=True)
class Gates:
    """The gates in `folder`."""

    folder: Path

    def close(self, keys: Iterable[str]) -> None:
        for key in keys:
            (self.folder / key).touch()

    def open(self, keys: Iterable[str]) -> None:
        for key in keys:
            (self.folder / key).unlink(missing_ok=True)

    def waiting(self) -> dict[str, int]:
        """The partitions whose runs wait, each with the run's process."""
        return {path.stem: int(path.read_text()) for path in self.folder.glob(f"*{_SUFFIX}")}

    def waiting_if(self, number: int) -> set[str]:
        """The partitions whose runs wait, if just so many do; else none."""
        found = self.waiting().keys()
        return set(found) if len(found) == number else set()

    def wait_until_waiting(self, keys: Sequence[str], *, seconds: float = 120) -> None:
        wait_for(
            lambda: set(keys) <= self.waiting().keys(), seconds=seconds, what=f"runs of {keys}"
        )

    def pass_by(self, keys: Sequence[str]) -> None:
        """Wait here while there is a gate for one of the partitions."""
        for gate in (self.folder / key for key in keys):
            if not gate.exists():
                continue
            mark, beside = gate.with_suffix(_SUFFIX), gate.with_suffix(".tmp")
            beside.write_text(str(os.getpid()))
            beside.rename(mark)
            try:
                while gate.exists():
                    time.sleep(0.1)
            finally:
                mark.unlink(missing_ok=True)
