"""After any history of deliveries, runs, failures and kills, all is what the newest good deliveries
hold (contract 1 to 4 and 8; cases W9 and W12).

The histories and what is expected of them are in `tests/support`. Here they go through the stages;
through Dagster they go in `tests/orchestration/test_histories_through_dagster.py`.
"""

from __future__ import annotations

import shutil
from collections.abc import Callable, Sequence
from concurrent.futures import ProcessPoolExecutor
from dataclasses import replace
from functools import partial
from itertools import count
from multiprocessing import get_context
from pathlib import Path
from random import Random

import duckdb
import pytest
from hypothesis import HealthCheck, Phase, settings
from hypothesis import seed as with_seed
from hypothesis import strategies as st
from hypothesis.stateful import precondition, rule, run_state_machine_as_test

from customer_pipeline.reporting import refresh
from customer_pipeline.stages import transform
from tests.support.compiled_models import CompiledModels
from tests.support.delivered_rows import day_sets
from tests.support.faults import Fault, watched
from tests.support.histories import Histories
from tests.support.kept_open import kept_open
from tests.support.killed_run import RunsThatDie
from tests.support.shop import Shop
from tests.support.stages import follow, refresh_reporting, run_stages
from tests.support.warehouse import contents

# A kind of statement, and which one of that kind: anywhere in a run, and more often where it
# matters.
points = st.one_of(
    st.tuples(st.just("."), st.integers(1, 320)),
    st.tuples(st.just("^(begin|commit)"), st.integers(1, 9)),
    st.tuples(st.just(r"^(delete|insert|update|create)[^(]* (marts|ops)\."), st.integers(1, 70)),
)


class ThroughTheStages(Histories):
    """Runs by the stages, of which some fail or are killed half-way. Lake and reporting follow each
    run, or only now and then."""

    def __init__(self, shop: Shop, hashes: dict[str, str], runs_that_die: RunsThatDie) -> None:
        super().__init__(shop, hashes)
        self.pipeline = shop.pipeline
        self.runs_that_die = runs_that_die
        self.followers_are_on = True

    def run_pipeline(self, keys: Sequence[str]) -> bool:
        with kept_open():
            return self._run(keys)

    def _run(self, keys: Sequence[str]) -> bool:
        publication = run_stages(self.pipeline, keys, lake=self.followers_are_on)
        return publication is not None and self.followers_are_on

    def run(self, keys: Sequence[str]) -> None:
        super().run(keys)
        if self.followers_are_on and self.expected.published:
            self._refresh()

    @rule()
    def switch_the_followers_on_or_off(self) -> None:
        self.followers_are_on = not self.followers_are_on
        if self.followers_are_on and self.expected.published:
            follow(self.pipeline)
            self.in_lake = [self.expected]
            self.check(self.look())

    @rule(keys=day_sets)
    def run_twice(self, keys: list[str]) -> None:
        self.run(keys)
        before = contents(self.warehouse)
        self.run(keys)
        assert contents(self.warehouse) == before

    @rule(keys=day_sets, point=points, again=st.booleans())
    def run_that_fails(self, keys: list[str], point: tuple[str, int], again: bool) -> None:
        self._cut_short(keys, lambda: self._fail(point, lambda: self._run(keys)))
        if again:
            self.run(keys)

    @rule(keys=day_sets, point=points, again=st.booleans())
    def run_that_is_killed(self, keys: list[str], point: tuple[str, int], again: bool) -> None:
        self._cut_short(keys, lambda: self.runs_that_die.run(self.shop.root, keys, point))
        if again:
            self.run(keys)

    def _cut_short(self, keys: Sequence[str], run: Callable[[], object]) -> None:
        """A run that may end anywhere: what it leaves is what one of its transactions left."""
        *loads, published = self.expected.after_each_transaction(self.delivered(keys))
        before = self.look()["ops.publications"]
        run()
        found = self.look()
        if found["ops.publications"] != before:
            self.expected = published
        else:
            states = [self.expected, *loads]
            fitting = [state for state in states if state.tables.items() <= found.items()]
            assert fitting, "the run left neither the old nor the new"
            self.expected = fitting[-1]
        self.in_lake = [*self.in_lake, self.expected]
        self.check(found)

    @precondition(lambda self: self.expected.published)
    @rule(then=st.sampled_from(["nothing", "again", "from nothing"]))
    def refresh(self, then: str) -> None:
        self._refresh()
        before = contents(self.warehouse)
        if then == "again":
            self._refresh()
            assert contents(self.warehouse) == before
        elif then == "from nothing":
            assert self._refreshed_from_nothing() == before

    def _refreshed_from_nothing(self) -> dict[str, list[tuple]]:
        """What is in a copy of the warehouse after a refresh that could build on no earlier one."""
        copy = self.warehouse.with_name("copy.duckdb")
        shutil.copy(self.warehouse, copy)
        with duckdb.connect(str(copy)) as connection:
            connection.execute("drop schema reporting cascade; delete from ops.followers")
        settings_of_copy = self.shop.settings.model_copy(update={"warehouse": copy})
        with kept_open():
            refresh_reporting(replace(self.pipeline, settings=settings_of_copy))
        found = contents(copy)
        copy.unlink()
        return found

    @precondition(lambda self: self.expected.published)
    @rule(point=points, killed=st.booleans())
    def refresh_that_is_cut_short(self, point: tuple[str, int], killed: bool) -> None:
        if killed:
            self.runs_that_die.refresh(self.shop.root, point)
        else:
            self._fail(point, lambda: refresh_reporting(self.pipeline))
        found = self.look()
        if self.expected.reporting.items() <= found.items():
            self.reported = self.expected
        self.check(found)

    def _fail(self, point: tuple[str, int], work: Callable[[], object]) -> None:
        """Do this work until a fault comes at that point, or to its end."""
        fault = Fault(*point)
        try:
            with kept_open(), watched(fault):
                work()
        except Exception:
            if not fault.has_come:
                raise

    def _refresh(self) -> None:
        with kept_open():
            refreshed = refresh_reporting(self.pipeline)
        assert not refreshed.held_back
        self.reported = self.expected
        self.check(self.look())


def try_histories(
    seed: int | None, *, folder: Path, dbt_cache: Path, models: Path, examples: int, steps: int
) -> None:
    """Try that many histories, each in a shop of its own below `folder`."""
    hashes: dict[str, str] = {}
    numbers = count()
    runs_that_die = RunsThatDie(models)

    class InAFolderOfItsOwn(ThroughTheStages):
        def __init__(self) -> None:
            root = folder / f"{seed} {next(numbers)}"
            super().__init__(Shop(root, dbt_cache=dbt_cache), hashes, runs_that_die)

    try:
        with pytest.MonkeyPatch.context() as patch:
            for module in (transform, refresh):
                patch.setattr(module, "build", CompiledModels.read(models).build)
            run_state_machine_as_test(
                InAFolderOfItsOwn if seed is None else with_seed(seed)(InAFolderOfItsOwn),
                settings=settings(
                    max_examples=examples,
                    stateful_step_count=steps,
                    deadline=None,
                    # Shrinking a failure takes minutes, and a history of a few steps can be read
                    # as it is.
                    phases=[Phase.reuse, Phase.generate],
                    suppress_health_check=[HealthCheck.too_slow, HealthCheck.data_too_large],
                ),
            )
    finally:
        runs_that_die.stop()


@pytest.fixture
def places(tmp_path: Path, dbt_cache: Path, models: CompiledModels) -> dict[str, Path]:
    """What histories need of a test's folders."""
    models.write(tmp_path / "models.json")
    return {"folder": tmp_path, "dbt_cache": dbt_cache, "models": tmp_path / "models.json"}


def test_after_any_history_all_is_what_the_newest_good_deliveries_hold(
    places: dict[str, Path],
) -> None:
    try_histories(None, **places, examples=4, steps=5)


@pytest.mark.slow
@pytest.mark.timeout(1800)
def test_after_any_of_many_histories_all_is_what_the_newest_good_deliveries_hold(
    places: dict[str, Path],
) -> None:
    """In two processes at once."""
    derandomized = settings().derandomize
    seeds = [1, 2] if derandomized else [Random().getrandbits(32) for _ in range(2)]
    with ProcessPoolExecutor(len(seeds), get_context("spawn")) as processes:
        tries = partial(try_histories, **places, examples=60, steps=8)
        assert list(processes.map(tries, seeds)) == [None] * len(seeds)
