"""What is bad stops early and alone: a bad first day keeps the rest from starting, a later one fails
by itself, and a resume takes exactly what is left (cases B2, B5, B8, B13, B16).
"""

from __future__ import annotations

import json

import pytest

from tests.support.backfills import Services, days_from

pytestmark = pytest.mark.slow


def test_a_bad_first_day_then_a_bad_later_one_each_mended_and_resumed(services: Services) -> None:
    days = days_from("2026-06-01", 6)
    first, *rest = days
    bad = days[3]
    services.deliver(days)
    services.shop.withdraw("orders", first)

    code, output = services.backfill("--from", first, "--to", days[-1])
    backfill_id = named(output)
    assert code == 1, output
    assert "0 of 6 days done" in output
    assert services.published(days) == {}
    assert all(services.attempts(days)[day] == [] for day in rest)
    assert [run.days for run in services.runs(backfill_id)] == [(first,)]

    services.deliver([first])
    services.shop.withdraw("customers", bad)
    code, output = services.backfill("--resume", backfill_id)
    second_id = named(output)
    assert code == 1, output
    assert "5 of 6 days done" in output
    good = [day for day in days if day != bad]
    assert services.published(days) == dict.fromkeys(good, 1)
    # Alone and verified before the rest began, which is one run though one of its days is bad.
    alone, others = services.runs(second_id)
    assert (alone.days, others.days) == ((first,), tuple(rest))
    assert (alone.ended or 0) < (others.dequeued or 0)
    assert output.index("1 day verified") < output.index("the rest: 5 days")
    states = json.loads(services.status("--from", first, "--to", days[-1], "--json"))["days"]
    assert [day["day"] for day in states if day["state"] == "failed"] == [bad]

    services.deliver([bad])
    code, output = services.backfill("--resume", second_id)
    assert code == 0, output
    assert "1 of 1 day done" in output
    assert services.published(days) == dict.fromkeys(days, 1)
    for earlier in (backfill_id, second_id):
        code, output = services.backfill("--resume", earlier)
        assert (code, "Nothing to launch." in output) == (0, True), output


def named(output: str) -> str:
    return output.partition("\nbackfill ")[2].split()[0].strip(":")
