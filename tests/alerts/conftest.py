"""What the tests of alerts share: a receiver of messages, and a file in which alerts are kept."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest

from customer_pipeline.alerts.store import Store
from tests.support.receiver import Receiver
from tests.support.receiver import receiver as running_receiver


@pytest.fixture
def receiver() -> Iterator[Receiver]:
    with running_receiver() as running:
        yield running


@pytest.fixture
def store(tmp_path: Path) -> Store:
    return Store(tmp_path / "alerts.db")
