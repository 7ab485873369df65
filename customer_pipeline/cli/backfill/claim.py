"""Taking turns: two backfills look at the partitions, and begin theirs, one after the other, so that
neither begins what the other has just begun.

What does not belong here: who has begun what (`orchestration/instance_view.py`).
"""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path

from filelock import FileLock, Timeout
from rich.console import Console

from customer_pipeline.errors import TransientError

_TIMEOUT = 120


@dataclass(frozen=True)
class Claim:
    """The turn to begin a backfill in one data folder."""

    lock: FileLock

    @classmethod
    def on(cls, data_folder: Path) -> Claim:
        return cls(FileLock(data_folder / ".backfill.lock", timeout=_TIMEOUT))

    @contextmanager
    def held(self, console: Console) -> Iterator[None]:
        """Nobody else has it until the block ends; one that has it may take it again.

        Raises:
            TransientError: another backfill has kept it for two minutes.
        """
        path = Path(self.lock.lock_file)
        path.parent.mkdir(parents=True, exist_ok=True)
        try:
            with console.status("waiting while another backfill starts"):
                self.lock.acquire()
        except Timeout:
            raise TransientError(
                "another backfill is starting, or running with --local",
                where=str(path),
                todo="try again when it has ended",
            ) from None
        try:
            yield
        finally:
            self.lock.release()
