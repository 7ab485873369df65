"""The schedule, turned on in the UI and run by the daemon (cases T1, T9, P4)."""

from __future__ import annotations

from datetime import datetime, timedelta
from pathlib import Path
from zoneinfo import ZoneInfo

import pytest

from tests.support.dagster_processes import Home, home_template, wait_for
from tests.support.shop import SOURCE, Shop
from tests.support.warehouse import query

pytestmark = pytest.mark.slow

SCHEDULE = "daily_customer_pipeline_schedule"


def _days_ago(days: int) -> str:
    return (datetime.now(ZoneInfo("Europe/London")).date() - timedelta(days=days)).isoformat()


def test_turned_on_it_runs_the_day_that_closed_once_and_nothing_of_the_past(
    tmp_path: Path, session_folder: Path, dbt_cache: Path
) -> None:
    yesterday, first = _days_ago(1), _days_ago(4)
    source = SOURCE.replace("start: 2026-03-01", f"start: {first}")
    shop = Shop(tmp_path / "shop", source=source, dbt_cache=dbt_cache)
    for days in range(5):
        shop.deliver_day(_days_ago(days))
    home = Home(tmp_path / "home", shop.environment, template=home_template(session_folder))
    with home.services("tests.support.location_every_minute") as api:
        assert api.runs() == {}
        api.start_schedule(SCHEDULE)
        # The second tick asks for the same day again, under the same run key.
        ticks = wait_for(
            lambda: len(found := api.ticks(SCHEDULE)) >= 2 and found,
            seconds=180,
            what="two ticks of the schedule",
        )
        runs = api.wait_for_runs(1)
    assert [tick["status"] for tick in ticks] == ["SUCCESS", "SKIPPED"], ticks
    ((run_id, run),) = runs.items()
    assert ticks[0]["runIds"] == [run_id]
    assert run["status"] == "SUCCESS"
    assert run["tags"]["dagster/partition"] == yesterday
    published = query(
        shop.settings.warehouse_path,
        "select partition_key, outcome, launched_by from ops.attempts",
    )
    assert published == [(yesterday, "published", f"schedule {SCHEDULE}")]
