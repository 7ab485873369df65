"""Dagster's partitions are the source's: the same keys, the same windows, whatever the clock says
(cases T2, T6, T7).
"""

from __future__ import annotations

from datetime import UTC, date, datetime, timedelta
from pathlib import Path
from zoneinfo import ZoneInfo

import dagster as dg
import pytest

from customer_pipeline.orchestration.location import build_defs
from customer_pipeline.orchestration.partitions import partitions_definition
from customer_pipeline.source.partitions import DailyPartitions
from tests.support.dagster_processes import Home
from tests.support.runs import run_days
from tests.support.shop import Shop

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
    ("first", "last"),
    [
        ("2026-02-30", None),
        ("2026-3-9", None),
        ("2026-02-28", None),
        ("2999-01-01", None),
        ("'; drop table x", None),
        ("2026-03-01", "2999-01-01"),
        ("2026-02-27", "2026-03-02"),
        ("2026-03-01", "2026-03-32"),
    ],
)
def test_a_key_that_the_source_does_not_have_is_refused_before_anything_is_touched(
    shop: Shop, home: Home, first: str, last: str | None
) -> None:
    with pytest.raises(Exception, match="artition") as refused:
        run_days(shop, home, first, last)
    assert (first in str(refused.value)) or (last or "") in str(refused.value)
    assert not shop.settings.warehouse_path.exists()
    assert not shop.settings.landing_path.exists()
    with home.instance() as instance:
        assert instance.get_runs() == []


def _partitions(defs: dg.Definitions) -> dg.PartitionsDefinition:
    job = defs.resolve_job_def("daily_customer_pipeline")
    assert job.partitions_def is not None
    return job.partitions_def
