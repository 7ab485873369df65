"""Dagster's partitions are the source's: the same keys, the same windows, whatever the clock says
(cases T2, T6, T7).
"""

from __future__ import annotations

from datetime import UTC, date, datetime, timedelta
from zoneinfo import ZoneInfo

import dagster as dg
import pytest

from customer_pipeline.orchestration.location import build_defs
from customer_pipeline.orchestration.partitions import partitions_definition
from customer_pipeline.source.calendars import DailyPartitions
from tests.support.dagster_processes import Home
from tests.support.runs import run_days
from tests.support.shop import HEADERS, Shop

ZONES = ["Europe/London", "America/New_York", "Asia/Tokyo", "Pacific/Apia"]
NOON = datetime(2026, 3, 10, 12, tzinfo=UTC)


def test_a_day_later_there_is_the_same_first_key_and_exactly_one_more(shop: Shop) -> None:
    first_import, second_import = (build_defs(shop.settings) for _ in range(2))
    one_day, next_day = (
        [*partitions.get_partition_keys(current_time=clock)]
        for partitions, clock in (
            (_partitions(first_import), NOON),
            (_partitions(second_import), NOON + timedelta(days=1)),
        )
    )
    assert one_day[0] == "2026-03-01"
    assert next_day == [*one_day, "2026-03-10"]


@pytest.mark.parametrize("zone", ZONES)
@pytest.mark.parametrize("last", [None, date(2026, 11, 30)], ids=["goes on", "has ended"])
def test_keys_and_windows_are_those_of_the_source(zone: str, last: date | None) -> None:
    source = DailyPartitions(date(2026, 1, 1), last, ZoneInfo(zone))
    of_dagster = partitions_definition(source)
    now = datetime(2027, 1, 10, 10, tzinfo=UTC)
    keys = source.complete_keys(now)
    assert of_dagster.get_partition_keys(current_time=now) == keys
    for key in keys:
        window, other = source.window(key), of_dagster.time_window_for_partition_key(key)
        assert (other.start, other.end) == (window.start, window.end), key


@pytest.mark.parametrize("hour", [0, 4, 23])
@pytest.mark.parametrize("zone", ZONES)
def test_a_partition_exists_once_its_day_is_over_in_the_zone_of_the_source(
    zone: str, hour: int
) -> None:
    source = DailyPartitions(date(2026, 1, 1), None, ZoneInfo(zone))
    of_dagster = partitions_definition(source)
    for day in (8, 9, 29, 30):
        now = datetime(2026, 3, day, hour, tzinfo=UTC)
        assert of_dagster.get_partition_keys(current_time=now) == source.complete_keys(now)


@pytest.mark.parametrize(
    "key",
    ["2026-02-30", "2026-3-9", "2026-02-28", "2999-01-01", "'; drop table x", "../2026-03-01"],
)
def test_a_key_that_the_source_does_not_have_is_refused_before_there_is_a_run(
    shop: Shop, home: Home, key: str
) -> None:
    with pytest.raises(dg.DagsterUnknownPartitionError) as refused:
        run_days(shop, home, key)
    assert key in str(refused.value)
    with home.instance() as instance:
        assert instance.get_runs() == []
    assert not shop.settings.data_path.joinpath("landing").exists()


@pytest.mark.parametrize(
    ("first", "days", "said"),
    [
        (date(2026, 2, 27), 4, "2026-02-27 is outside the source's range"),
        (datetime.now(UTC).date() - timedelta(days=2), 4, "is not over yet"),
        (datetime.now(UTC).date() + timedelta(days=2), 1, "is not over yet"),
    ],
    ids=["before the first day", "into the future", "only a day to come"],
)
def test_a_range_beyond_the_source_changes_nothing_and_says_why(
    shop: Shop, home: Home, first: date, days: int, said: str
) -> None:
    """Dagster itself lets such a range pass when it comes as tags of a run."""
    keys = [(first + timedelta(days=n)).isoformat() for n in range(days)]
    for key in keys:
        shop.deliver_day(key)
    ran = run_days(shop, home, keys[0], keys[-1])
    assert set(ran.steps("STEP_FAILURE")) == {f"extract_{feed}" for feed in HEADERS}
    for error in ran.errors.values():
        assert said in error
    assert ran.events("STEP_UP_FOR_RETRY") == []
    assert not shop.settings.warehouse_path.exists()
    assert not shop.settings.landing_path.exists()


def _partitions(defs: dg.Definitions) -> dg.PartitionsDefinition:
    job = defs.resolve_job_def("daily_customer_pipeline")
    assert job.partitions_def is not None
    return job.partitions_def
