"""Whatever happens to deliveries while the sensor looks: once they are good, and it has asked for the
last time, the days are what a first run of them would publish (contract 1; case T12).
"""

from __future__ import annotations

import shutil
from itertools import count
from pathlib import Path

import pytest
from hypothesis import HealthCheck, Phase, example, given, settings
from hypothesis import strategies as st

from customer_pipeline.cli.standing import standing
from customer_pipeline.planning.state import State
from customer_pipeline.warehouse.ledger import published_partitions
from tests.support.dagster_processes import Home, home_template
from tests.support.late_desk import LateDesk
from tests.support.shop import SOURCE, Shop, customer, event, line
from tests.support.stages import run_stages

DAYS = ["2026-03-01", "2026-03-02"]
FIRST, SECOND = DAYS
_SOURCE = SOURCE.replace("timezone:", f"end: {SECOND}\ntimezone:")
FEEDS = ["customers", "orders", "events"]
VERSIONS = range(3)

# What happens to a feed's delivery of a day, and what follows: a look of the sensor and the runs that
# it asks for, nothing, or a run by hand.
happenings = st.tuples(
    st.sampled_from([*VERSIONS, "cut", "gone", "touched"]),
    st.sampled_from(FEEDS),
    st.sampled_from(DAYS),
    st.sampled_from(["look", "look", "look", "nothing", "run"]),
)
endings = st.tuples(*[st.sampled_from(VERSIONS)] * 6)


def _content(feed: str, day: str, version: int) -> list[dict[str, object]]:
    numbers = range(2 + version)
    if feed == "customers":
        return [customer(day, n, name=f"Name {version}") for n in numbers]
    if feed == "orders":
        return [line(day, n, price=f"{version + 1}.50") for n in numbers]
    return [event(day, n) for n in numbers]


def _happens(shop: Shop, what: int | str, feed: str, day: str) -> None:
    path = shop.path(feed, day)
    if isinstance(what, int):
        shop.deliver(feed, day, _content(feed, day, what))
    elif what == "gone":
        path.unlink(missing_ok=True)
    elif path.exists() and what == "touched":
        path.touch()
    elif path.exists():
        path.write_text(path.read_text()[:-3])


def _hashes(shop: Shop) -> dict[str, str]:
    with shop.pipeline.warehouse.read() as connection:
        known = published_partitions(connection, shop.pipeline.name)
    return {key: found.content_hash for key, found in known.items()}


def _states(shop: Shop) -> list[State]:
    return list(standing(shop.pipeline, DAYS, look_at=FEEDS).states)


def _work_off(desk: LateDesk) -> None:
    """Look, and run what is asked for, until nothing is."""
    for _ in range(4):
        asked = desk.tick()
        # Nothing that `plan --redo stale` would not run, and all of it.
        stale = [state.partition_key for state in _states(desk.shop) if state.stale]
        assert [key for first, last in asked for key in DAYS if first <= key <= last] == stale
        if not asked:
            return
        desk.run(*stale)
    raise AssertionError(f"the sensor asks again and again: {asked}")


@pytest.mark.slow
@pytest.mark.usefixtures("without_dbt")
def test_in_the_end_the_days_are_what_a_first_run_would_publish(
    tmp_path: Path, dbt_cache: Path, session_folder: Path
) -> None:
    numbers = count()
    first_runs: dict[tuple[int, ...], dict[str, str]] = {}

    def first_run(ending: tuple[int, ...]) -> dict[str, str]:
        if ending not in first_runs:
            shop = Shop(tmp_path / f"{next(numbers)}", source=_SOURCE, dbt_cache=dbt_cache)
            _end(shop, ending)
            run_stages(shop.pipeline, DAYS, lake=False)
            first_runs[ending] = _hashes(shop)
            shutil.rmtree(shop.root)
        return first_runs[ending]

    # An old version comes back after another feed was corrected beside a bad delivery.
    @example(
        [(1, "customers", FIRST, "nothing"), ("cut", "orders", FIRST, "look")], (1, 0, 0, 0, 0, 0)
    )
    # A bad correction is withdrawn.
    @example([("cut", "orders", FIRST, "look")], (0, 0, 0, 0, 0, 0))
    # What is corrected beside a delivery that is gone empties nothing.
    @example([("gone", "events", FIRST, "look"), (1, "orders", FIRST, "look")], (0, 1, 0, 0, 0, 0))
    # The same correction twice, with one by hand in between.
    @example(
        [(1, "orders", FIRST, "look"), (0, "orders", FIRST, "run"), (1, "orders", FIRST, "look")],
        (0, 1, 0, 0, 0, 0),
    )
    @given(st.lists(happenings, min_size=1, max_size=6), endings)
    @settings(
        max_examples=16,
        deadline=None,
        # Shrinking a failure takes minutes, and a few steps can be read as they are.
        phases=[Phase.explicit, Phase.reuse, Phase.generate],
        suppress_health_check=[HealthCheck.too_slow],
    )
    def in_the_end(history: list[tuple[int | str, str, str, str]], ending: tuple[int, ...]) -> None:
        root = tmp_path / f"{next(numbers)}"
        shop = Shop(root, source=_SOURCE, dbt_cache=dbt_cache)
        _end(shop, (0,) * 6)
        run_stages(shop.pipeline, DAYS, lake=False)
        home = Home(root / "home", shop.environment, template=home_template(session_folder))
        with home.instance() as instance:
            desk = LateDesk(shop, instance)
            for what, feed, day, then in history:
                _happens(shop, what, feed, day)
                if then == "run":
                    desk.run(day)
                elif then == "look":
                    _work_off(desk)
            _end(shop, ending)
            _work_off(desk)
        assert _hashes(shop) == first_run(ending)
        assert [state.kind for state in _states(shop)] == ["published", "published"]
        shutil.rmtree(root)

    in_the_end()


def _end(shop: Shop, versions: tuple[int, ...]) -> None:
    """Deliver these versions, in the order of days, then feeds."""
    pairs = [(feed, day) for day in DAYS for feed in FEEDS]
    for (feed, day), version in zip(pairs, versions, strict=True):
        shop.deliver(feed, day, _content(feed, day, version))
