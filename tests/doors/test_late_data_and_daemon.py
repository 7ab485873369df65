"""Corrections, late, vanished and half-written deliveries in real time, with the daemon as users run
it: the right runs and messages, and no others (cases T12, I10).

The tests share the services; each has a day of its own, and the last one counts all runs and messages.
"""

from __future__ import annotations

import os
import time
from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.support.dagster_processes import Home, wait_for
from tests.support.runs import JOB, run_days
from tests.support.shop import SOURCE, Shop, customer
from tests.support.told_services import ToldServices, told_services

pytestmark = pytest.mark.slow

SENSOR = "late_data"
# The source has ended, so that these are its newest days on whatever day the test runs.
CORRECTED, VANISHED, SLOWLY, TWICE, QUIET = (f"2026-03-{day:02}" for day in range(4, 9))
LATE = "2026-03-10"
PUBLISHED = [CORRECTED, VANISHED, SLOWLY, TWICE, QUIET]
QUIET_FOR = 6
_SOURCE = SOURCE.replace("timezone:", f"end: {LATE}\ntimezone:").replace(
    "{dates: [2026-03-07, 2026-03-08]}", "fail"
)
MONTHS = ["2026-01-01", "2026-02-01"]
MONTHS_JOB = "monthly_trips_pipeline"
_PATH = "path: deliveries/customers/{date}.csv"
_TRIP = {
    "vendor_id": ("text", "1"),
    "picked_up_at": ("timestamp", "{month}T10:00:00Z"),
    "dropped_off_at": ("timestamp", "{month}T10:15:00Z"),
    "passengers": ("integer", "2"),
    "distance": ("decimal(18,2)", "3.5"),
    **dict.fromkeys(
        ("rate_code", "store_and_forward", "pickup_zone", "dropoff_zone"), ("text", "7")
    ),
    "payment_type": ("text", "2"),
    **dict.fromkeys(
        ("fare_amount", "extra", "mta_tax", "tip_amount", "tolls_amount", "improvement_surcharge"),
        ("decimal(18,2)", "1.25"),
    ),
    "total_amount": ("decimal(18,2)", "12.50"),
    "congestion_surcharge": ("decimal(18,2)", ""),
}
_TRIPS = """\
  trips:
    partitions: monthly
    reader: csv
    path: deliveries/trips-{date:%Y-%m}.csv
    window_column: picked_up_at
    columns:
""" + "".join(f'      {name}: {{type: "{kind}"}}\n' for name, (kind, _) in _TRIP.items())
_START = "dagster/asset_partition_range_start"


@pytest.fixture(scope="module")
def services(
    tmp_path_factory: pytest.TempPathFactory, session_folder: Path, dbt_cache: Path
) -> Iterator[ToldServices]:
    root = tmp_path_factory.mktemp("late")
    source = _SOURCE.replace(_PATH, f"{_PATH}\n    ready_when: {{quiet_for: {QUIET_FOR}}}")
    source = source.replace("start: 2026-03-01", f"start: {MONTHS[0]}")
    shop = Shop(root / "shop", source=source + _TRIPS, dbt_cache=dbt_cache)

    def before(home: Home) -> None:
        for day in PUBLISHED:
            shop.deliver_day(day)
        an_hour_ago = time.time() - 3600
        for file in (shop.root / "deliveries").glob("*/*.csv"):
            os.utime(file, (an_hour_ago, an_hour_ago))
        assert run_days(shop, home, PUBLISHED[0], PUBLISHED[-1]).succeeded

    with told_services(root, shop, session_folder, before) as services:
        services.api.start_sensor(SENSOR)
        services.settle(SENSOR)
        yield services


def _deliver_trips(services: ToldServices, month: str, trips: int) -> None:
    values = ",".join(value.format(month=month) for _, value in _TRIP.values())
    path = services.shop.root / "deliveries" / f"trips-{month[:7]}.csv"
    path.write_text("\n".join([",".join(_TRIP), *[values] * trips, ""]))


def _late_runs(services: ToldServices, day: str) -> list[dict]:
    """The runs of a day that the sensor has asked for, oldest first."""
    found = [
        run
        for run in services.api.runs().values()
        if run["tags"].get("dagster/sensor_name") == SENSOR and run["tags"][_START] == day
    ]
    return sorted(found, key=lambda run: run["started"] or time.time())


def _ended(services: ToldServices, day: str, count: int = 1) -> list[dict]:
    """Wait until so many runs of a day have succeeded; and then see that no other follows."""

    def over() -> bool:
        runs = _late_runs(services, day)
        return len(runs) >= count and all(run["status"] == "SUCCESS" for run in runs)

    wait_for(over, seconds=120, what=f"{count} runs of {day}")
    services.settle(SENSOR)
    runs = _late_runs(services, day)
    assert len(runs) == count
    return runs


def _orders(services: ToldServices, day: str) -> int:
    return _rows(services, "marts.fct_orders", day)


def _rows(services: ToldServices, mart: str, day: str) -> int:
    # As the pipeline reads: what still writes is waited for.
    with services.shop.pipeline.warehouse.read() as connection:
        counted = f"select count(*) from {mart} where _date = ?::date"
        (rows,) = connection.execute(counted, [day]).fetchone() or (0,)
    return rows


def test_a_correction_is_one_run_of_its_day_with_the_reason(services: ToldServices) -> None:
    services.shop.deliver_day(CORRECTED, orders=5)
    (run,) = _ended(services, CORRECTED)
    assert "orders: its delivery has changed since" in run["tags"]["customer_pipeline/reason"]
    assert run["job"] == JOB
    assert _orders(services, CORRECTED) == 5


def test_a_late_file_is_one_run_when_it_has_come(services: ToldServices) -> None:
    services.shop.deliver_day(LATE)
    services.shop.withdraw("orders", LATE)
    (asked,) = services.api.launch_days(JOB, [LATE])
    services.told(f"{LATE} failed in extract")
    assert services.api.runs()[asked]["status"] == "FAILURE"
    services.shop.deliver_day(LATE, orders=4)
    _ended(services, LATE)
    assert _orders(services, LATE) == 4
    services.told(f"resolved: daily_customers: {LATE} has been published")


def test_a_vanished_delivery_is_told_once_and_nothing_is_emptied(services: ToldServices) -> None:
    services.shop.withdraw("orders", VANISHED)
    (message,) = services.told(VANISHED)
    assert "orders" in message.text
    services.settle(SENSOR)
    assert services.about(VANISHED) == [message]
    assert _late_runs(services, VANISHED) == []
    assert _orders(services, VANISHED) == 3


def test_a_file_that_is_still_written_is_taken_when_it_is_whole(services: ToldServices) -> None:
    path = services.shop.deliver("customers", SLOWLY, [customer(SLOWLY, n) for n in range(4)])
    lines = path.read_text().splitlines(keepends=True)
    with path.open("w") as file:
        for text in lines:
            file.write(text)
            file.flush()
            time.sleep(QUIET_FOR / 2)
    written = path.stat().st_mtime
    (run,) = _ended(services, SLOWLY)
    assert run["started"] >= written + QUIET_FOR
    assert _rows(services, "marts.dim_customers", SLOWLY) == 4


def test_a_correction_that_comes_while_its_day_is_run_is_not_lost(services: ToldServices) -> None:
    services.switch("wait", on=True)
    services.shop.deliver_day(TWICE, orders=4)
    services.waiting_run()
    services.shop.deliver_day(TWICE, orders=6)
    services.settle(SENSOR)
    services.switch("wait", on=False)
    _ended(services, TWICE, count=2)
    assert _orders(services, TWICE) == 6


def test_months_are_one_run_of_a_backfill_and_a_correction_is_a_run_of_its_month(
    services: ToldServices,
) -> None:
    for month in MONTHS:
        _deliver_trips(services, month, trips=3)
    assets = [
        key for key in services.api.asset_keys() if "trips" in key[-1] and key[0] != "reporting"
    ]
    backfill = services.api.launch_backfill(assets, MONTHS)
    assert services.api.wait_for_backfill(backfill) == "COMPLETED_SUCCESS"
    assert len(services.api.backfill(backfill)["runs"]) == 1
    (notice,) = services.told(f"backfill {backfill}")
    assert "monthly_trips" in notice.title
    assert "2 months asked for, 2 published" in notice.title
    _deliver_trips(services, MONTHS[1], trips=5)
    (run,) = _ended(services, MONTHS[1])
    assert run["job"] == MONTHS_JOB
    found = {month: _rows(services, "marts.trips_clean", month) for month in MONTHS}
    assert found == dict(zip(MONTHS, (3, 5), strict=True))


def test_there_was_nothing_else(services: ToldServices) -> None:
    services.settle(SENSOR)
    runs = [
        run["tags"].get(_START) or run["tags"]["dagster/partition"]
        for run in services.api.runs().values()
        if run["job"] == JOB
    ]
    # The first run is the one that has published them all.
    assert sorted(runs) == sorted([PUBLISHED[0], CORRECTED, LATE, LATE, SLOWLY, TWICE, TWICE])
    # A failure, its end, what vanished, and the notice of the backfill.
    assert len(services.receiver.taken("main")) == 4, services.receiver.titles("main")
