"""Runs through Dagster leave the same as the stages called by hand: what the newest good deliveries
hold (contract 1, 3, 5, 7 and 8; case W9).

Many more histories, and those that are cut short, go through the stages alone
(`tests/stages/test_histories.py`).
"""

from __future__ import annotations

from collections.abc import Sequence
from itertools import count
from pathlib import Path

import pytest
from hypothesis import HealthCheck, Phase, settings
from hypothesis.stateful import precondition, rule, run_state_machine_as_test

from tests.support.dagster_processes import Home, home_template
from tests.support.delivered_rows import DAYS
from tests.support.histories import Histories
from tests.support.runs import refresh_reporting, run_days
from tests.support.shop import Shop

pytestmark = pytest.mark.slow


class ThroughDagster(Histories):
    """Runs by the pipeline's own jobs."""

    def __init__(self, shop: Shop, hashes: dict[str, str], home: Home) -> None:
        super().__init__(shop, hashes)
        self.home = home

    def run(self, keys: Sequence[str]) -> None:
        # Dagster takes a range, without gaps.
        super().run([day for day in DAYS if keys[0] <= day <= keys[-1]])

    def run_pipeline(self, keys: Sequence[str]) -> bool:
        delivered = self.delivered(keys)
        last = keys[-1] if len(keys) > 1 else None
        ran = run_days(self.shop, self.home, keys[0], last)
        failed = [day.key for day in delivered if day.status == "failed"]
        assert ran.succeeded == (not failed)
        assert ran.materialized("marts/fct_events") == [key for key in keys if key not in failed]
        return len(failed) < len(keys)

    @precondition(lambda self: self.expected.published)
    @rule()
    def refresh(self) -> None:
        assert refresh_reporting(self.shop, self.home).succeeded
        self.reported = self.expected
        self.check(self.look())


@pytest.mark.usefixtures("without_dbt")
def test_after_any_history_of_runs_all_is_what_the_newest_good_deliveries_hold(
    tmp_path: Path, dbt_cache: Path, session_folder: Path
) -> None:
    hashes: dict[str, str] = {}
    numbers = count()

    class InAFolderOfItsOwn(ThroughDagster):
        def __init__(self) -> None:
            root = tmp_path / f"{next(numbers)}"
            shop = Shop(root, dbt_cache=dbt_cache)
            home = Home(root / "home", shop.environment, template=home_template(session_folder))
            super().__init__(shop, hashes, home)

    run_state_machine_as_test(
        InAFolderOfItsOwn,
        settings=settings(
            max_examples=8,
            stateful_step_count=6,
            deadline=None,
            # Shrinking a failure takes minutes, and a history of a few steps can be read as it is.
            phases=[Phase.reuse, Phase.generate],
            suppress_health_check=[HealthCheck.too_slow, HealthCheck.data_too_large],
        ),
    )
