"""Whether a daemon runs, told from heartbeats alone."""

from __future__ import annotations

from datetime import UTC, datetime, timedelta

import dagster as dg
import pytest
from dagster._daemon.types import DaemonHeartbeat

from customer_pipeline.orchestration.daemon import DaemonState, daemon_state

_NOW = datetime(2026, 3, 9, 12, tzinfo=UTC)


def _heard(**seconds_ago: float | None) -> DaemonState:
    return DaemonState(
        {
            kind: None if ago is None else _NOW - timedelta(seconds=ago)
            for kind, ago in seconds_ago.items()
        },
        _NOW,
    )


@pytest.mark.parametrize(("seconds", "alive"), [(0, True), (74, True), (76, False)])
def test_a_daemon_that_misses_two_beats_is_dead(seconds: int, alive: bool) -> None:
    state = _heard(BACKFILL=seconds, SENSOR=seconds)
    assert state.alive is alive
    assert bool(state.silent) is not alive


def test_one_busy_thread_does_not_make_the_daemon_dead() -> None:
    state = _heard(BACKFILL=120, SENSOR=5)
    assert state.alive
    assert state.silent == ()


def test_a_thread_that_stays_silent_is_named() -> None:
    state = _heard(BACKFILL=601, SENSOR=5)
    assert state.alive
    assert state.silent == ("BACKFILL",)
    assert "without a heartbeat from BACKFILL" in state.words


def test_words_say_since_when_the_daemon_is_dead() -> None:
    assert "2026-03-09 11:50:00 UTC, 10 min ago" in _heard(BACKFILL=600).words
    assert "ever run" in _heard(BACKFILL=None).words


def test_an_instance_is_asked_for_the_daemons_that_its_settings_require() -> None:
    with dg.instance_for_test() as instance:
        assert not daemon_state(instance, _NOW).alive
        instance.add_daemon_heartbeat(DaemonHeartbeat(_NOW.timestamp() - 7, "SENSOR", "one"))
        state = daemon_state(instance, _NOW)
    assert {"BACKFILL", "SENSOR"} <= set(state.heard)
    assert state.alive
    assert state.last_heard == _NOW - timedelta(seconds=7)


def test_an_instance_that_is_not_kept_has_no_daemon() -> None:
    with dg.DagsterInstance.ephemeral() as instance:
        assert not daemon_state(instance, _NOW).alive
