"""In any order of sightings, ticks, kills and restarts, with channels that come and go: each channel that
ever takes messages again is told of everything, and of nothing twice unless it was killed just then
(contract 6).
"""

from __future__ import annotations

import re
import tempfile
from collections import Counter
from datetime import UTC, datetime, timedelta
from pathlib import Path
from unittest.mock import patch

import pytest
from hypothesis import settings
from hypothesis import strategies as st
from hypothesis.stateful import RuleBasedStateMachine, initialize, invariant, rule

from customer_pipeline.alerts import outbox
from customer_pipeline.alerts.channels import parse_channels
from customer_pipeline.alerts.message import Alert, Message
from customer_pipeline.alerts.sending import deliver
from customer_pipeline.alerts.store import Store
from tests.support.receiver import Receiver

CHANNELS = ("a", "b")


class Killed(BaseException):
    """The process is gone."""


class Telling(RuleBasedStateMachine):
    @initialize()
    def begin(self) -> None:
        self.folder = tempfile.TemporaryDirectory()
        self.receiver = Receiver()
        self.ahead = timedelta()
        self.noted: set[int] = set()
        self.killed = Counter()
        self.start_again()

    def teardown(self) -> None:
        if not hasattr(self, "receiver"):
            return
        for channel in CHANNELS:
            self.receiver.always(channel, 200)
        for _ in range(3):
            self.tick(3 * 3600)
        for channel in CHANNELS:
            told = self._told(channel)
            assert set(told) == self.noted, "each is told to each"
        self.receiver.stop()
        self.folder.cleanup()

    @rule()
    def start_again(self) -> None:
        self.store = Store(Path(self.folder.name) / "alerts.db")
        self.channels = parse_channels(" ".join(map(self.receiver.url, CHANNELS)))

    @rule(number=st.integers(0, 15))
    def see(self, number: int) -> None:
        """Whoever sees it, and however often."""
        with self.store.transaction() as connection:
            message = Message("error", f"<{number}> failed", reason="cut off")
            outbox.note(connection, Alert(f"failure {number}", message), self._now())
        self.noted.add(number)

    @rule(number=st.integers(0, 15))
    def see_and_be_killed(self, number: int) -> None:
        """Before what was seen was kept: it is seen again later, or never was."""
        with pytest.raises(Killed), self.store.transaction() as connection:
            message = Message("error", f"<{number}> failed", reason="cut off")
            outbox.note(connection, Alert(f"failure {number}", message), self._now())
            raise Killed

    @rule(seconds=st.sampled_from([1, 40, 400, 4000]))
    def tick(self, seconds: int) -> None:
        self.ahead += timedelta(seconds=seconds)
        deliver(self.store, self.channels, lambda _: None, now=self._now)

    @rule(seconds=st.sampled_from([40, 4000]))
    def tick_and_be_killed_after_sending(self, seconds: int) -> None:
        self.ahead += timedelta(seconds=seconds)
        before = {channel: self._told(channel) for channel in CHANNELS}

        def dies(*_: object) -> None:
            raise Killed

        with patch.object(outbox, "record_told", dies):
            try:
                deliver(self.store, self.channels, lambda _: None, now=self._now)
            except Killed:
                for channel in CHANNELS:
                    new = self._told(channel) - before[channel]
                    self.killed.update((channel, number) for number in new)

    @rule(channel=st.sampled_from(CHANNELS), status=st.sampled_from([200, 400, 503]))
    def change_a_channel(self, channel: str, status: int) -> None:
        self.receiver.always(channel, status)

    @invariant()
    def nothing_is_told_twice(self) -> None:
        for channel in CHANNELS if hasattr(self, "receiver") else ():
            for number, times in self._told(channel).items():
                assert times <= 1 + self.killed[channel, number], (channel, number)

    def _told(self, channel: str) -> Counter[int]:
        texts = "\n".join(one.text for one in self.receiver.taken(channel))
        return Counter(int(number) for number in re.findall(r"<(\d+)> failed", texts))

    def _now(self) -> datetime:
        return datetime.now(UTC) + self.ahead


TestTelling = Telling.TestCase
TestTelling.settings = settings(max_examples=20, stateful_step_count=25, deadline=None)
