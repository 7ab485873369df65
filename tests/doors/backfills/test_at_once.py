"""The same days asked for twice at the same moment: each is published once (contract 7)."""

from __future__ import annotations

import pytest

from tests.support.backfills import Services, days_from

pytestmark = pytest.mark.slow


def test_the_same_days_launched_twice_at_once(services: Services) -> None:
    days = days_from("2026-06-11", 6)
    services.deliver(days)
    arguments = ("--from", days[0], "--to", days[-1], "--days-per-run", "2")
    commands = [services.start(*arguments) for _ in range(2)]
    for command in commands:
        assert command.ends() == 0, command.output
    assert services.published(days) == dict.fromkeys(days, 1)
