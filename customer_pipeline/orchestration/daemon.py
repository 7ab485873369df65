"""Whether a Dagster daemon runs with an instance, going by its heartbeats.

All daemons live in one process, one thread each, and that process ends when a thread dies. So the
newest heartbeat of any tells whether the process is there, while one thread may well be silent for
minutes, busy with a long piece of work.

What belongs here: reading heartbeats, and the words about them. What does not: what a daemon has
to do, and what follows when there is none (the commands' business).
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta

import dagster as dg

from customer_pipeline.durations import seconds_text

# Each thread beats every 30 seconds: one beat may be late, two may not.
_SILENCE_OF_ALL = timedelta(seconds=75)
# A thread is busy for longer with a slow code server or a wave of runs.
_SILENCE_OF_ONE = timedelta(minutes=10)

# In the project's folder the daemon loads the location under the name that the UI knows it by.
HOW_TO_START = (
    "start one with `make dev`, or without the UI with `dagster-daemon run` in the project's folder,"
    " with the same DAGSTER_HOME"
)


@dataclass(frozen=True)
class DaemonState:
    """When the required daemons were heard of last, as of the moment `now`.

    Args:
        heard: the required daemon types, such as `BACKFILL`, each with the instant of its newest
            heartbeat; None for one that has never run with this instance.
    """

    heard: Mapping[str, datetime | None]
    now: datetime

    @property
    def last_heard(self) -> datetime | None:
        """The newest heartbeat of any required daemon; None when none has ever run."""
        return max((at for at in self.heard.values() if at is not None), default=None)

    @property
    def alive(self) -> bool:
        """Whether a daemon process runs. A killed one is noticed after 75 seconds at the latest."""
        return self.last_heard is not None and self.now - self.last_heard < _SILENCE_OF_ALL

    @property
    def silent(self) -> tuple[str, ...]:
        """The required daemon types that do not work: all without a process, and of a living one
        those that have been silent for ten minutes."""
        if not self.alive:
            return tuple(self.heard)
        return tuple(
            kind
            for kind, at in self.heard.items()
            if at is None or self.now - at >= _SILENCE_OF_ONE
        )

    @property
    def words(self) -> str:
        """How it stands, as one sentence without a full stop."""
        if self.last_heard is None:
            return "no Dagster daemon has ever run with this DAGSTER_HOME"
        seconds = max(0, round((self.now - self.last_heard).total_seconds()))
        if not self.alive:
            return (
                "no Dagster daemon is running: the last heartbeat was at"
                f" {self.last_heard:%Y-%m-%d %H:%M:%S} UTC, {seconds_text(seconds)} ago"
            )
        if self.silent:
            return f"the Dagster daemon is running, but without a heartbeat from {', '.join(self.silent)}"
        return f"the Dagster daemon is running: last heartbeat {seconds_text(seconds)} ago"


def daemon_state(instance: dg.DagsterInstance, now: datetime) -> DaemonState:
    """How the daemons that the instance's settings ask for stand at the moment `now`.

    An instance that is not kept (an ephemeral one) asks for none, so none is alive.
    """
    beats = instance.get_daemon_heartbeats() if not instance.is_ephemeral else {}
    return DaemonState(
        {
            kind: datetime.fromtimestamp(beats[kind].timestamp, UTC) if kind in beats else None
            for kind in sorted(instance.get_required_daemon_types())
        },
        now,
    )
