"""Eight months of New York's taxi trips, in one run and month by month, against an independent reading
of the files: csv and Decimal, nothing of the pipeline."""

from __future__ import annotations

import csv
import gzip
import re
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass
from datetime import date
from decimal import ROUND_HALF_UP, Decimal
from pathlib import Path

import pytest

from customer_pipeline.orchestration.location import build_pipeline
from customer_pipeline.orchestration.pipeline import Pipeline
from customer_pipeline.settings import PACKAGE, Settings
from tests.support.dagster_processes import Home
from tests.support.stages import refresh_reporting, run_stages
from tests.support.warehouse import content_hashes, query

pytestmark = pytest.mark.slow

SOURCE = PACKAGE / "source" / "nyc_taxi.yaml"
MONTHS = ("2018-11-01", "2020-04-01")
WORDS = {"1": "credit card", "2": "cash", "3": "no charge", "4": "dispute", "": None}
AMOUNTS = (
    *("fare_amount", "extra", "mta_tax", "tip_amount", "tolls_amount"),
    *("improvement_surcharge", "total_amount", "congestion_surcharge"),
)

# Lines are counted from 1, and the first one is the header.
Lines = Mapping[int, dict[str, str]]


@dataclass(frozen=True)
class Month:
    """A month's file: the trips that began in the month, and those that did not, by line."""

    trips: Lines
    outside: Lines

    @property
    def revenue(self) -> Decimal:
        return sum((Decimal(row["total_amount"]) for row in self.trips.values()), Decimal(0))

    @property
    def cash_trips(self) -> int:
        return sum(row["payment_type"] == "2" for row in self.trips.values())

    @property
    def numbers(self) -> tuple[int, int, Decimal, Decimal, Decimal]:
        """Trips, trips paid in cash, revenue, average distance, share of cash."""
        count = len(self.trips)
        distance = sum((Decimal(row["trip_distance"]) for row in self.trips.values()), Decimal(0))
        average, share = distance / count, Decimal(self.cash_trips) / count
        return count, self.cash_trips, self.revenue, _rounded(average), _rounded(share)


def _rounded(number: Decimal, unit: str = "0.0001") -> Decimal:
    return number.quantize(Decimal(unit), ROUND_HALF_UP)


def _read(path: Path) -> Month:
    month = path.name.removesuffix(".csv.gz")[-len("2018-11") :]
    with gzip.open(path, "rt", newline="") as file:
        rows = dict(enumerate(csv.DictReader(file), start=2))
    inside = {line for line, row in rows.items() if row["pickup_datetime"].startswith(month)}
    return Month(
        {line: row for line, row in rows.items() if line in inside},
        {line: row for line, row in rows.items() if line not in inside},
    )


@pytest.fixture(scope="module")
def files(test_data: Path) -> Path:
    folder = test_data / "taxi_monthly"
    if not folder.is_dir():
        pytest.skip(f"no taxi trips at {folder}")
    return folder


@pytest.fixture(scope="module")
def truth(files: Path) -> dict[str, Month]:
    """By partition key, what the month's file says."""
    found = {f"{path.name[-14:-7]}-01": _read(path) for path in sorted(files.iterdir())}
    assert len(found) == 8
    return found


@pytest.fixture(scope="module")
def pipeline_in(files: Path, dbt_cache: Path) -> Iterator[Callable[[Path], Pipeline]]:
    """Makes a pipeline over the files with its data in a folder, for runs without Dagster."""
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("NYC_TAXI_DIR", str(files))

        def make(folder: Path) -> Pipeline:
            folder.mkdir(exist_ok=True)
            (folder / ".dbt").symlink_to(dbt_cache)
            settings = Settings(source=SOURCE, data_dir=folder, warehouse=None)
            return build_pipeline(settings, "monthly_trips")

        yield make


@pytest.fixture(scope="module")
def pipeline(
    pipeline_in: Callable[[Path], Pipeline],
    files: Path,
    tmp_path_factory: pytest.TempPathFactory,
) -> Pipeline:
    """All months in one run of Dagster, also those that have no file. Only to be read."""
    folder = tmp_path_factory.mktemp("one_run")
    pipeline = pipeline_in(folder / "data")
    home = Home(
        folder / "home",
        {
            "CUSTOMER_PIPELINE_SOURCE": str(SOURCE),
            "CUSTOMER_PIPELINE_DATA_DIR": str(folder / "data"),
            "CUSTOMER_PIPELINE_MAX_RETRIES": "0",
            "NYC_TAXI_DIR": str(files),
        },
    )
    ended = home.materialize("--partition-range", "...".join(MONTHS), check=False)
    assert ended.returncode != 0  # for the months that are missing
    refresh_reporting(pipeline)
    return pipeline


def test_every_month_with_a_file_is_published_and_the_others_failed_since_they_have_none(
    pipeline: Pipeline, truth: dict[str, Month]
) -> None:
    path = pipeline.warehouse.path
    published = query(path, "select partition_key, status from ops.partitions order by all")
    assert published == [(key, "published") for key in truth]
    failed = query(
        path, "select partition_key, stage, reason from ops.attempts where outcome = 'failed'"
    )
    missing = set(pipeline.partitions.keys_between(*MONTHS)) - truth.keys()
    assert {key for key, *_ in failed} == missing
    assert len(failed) == len(missing) == 10
    for key, stage, reason in failed:
        assert stage == "extract"
        assert f"yellow_tripdata_sample_{key[:7]}.csv.gz: there is no such file" in reason


def test_every_row_is_accounted_for(pipeline: Pipeline, truth: dict[str, Month]) -> None:
    rows = query(
        pipeline.warehouse.path,
        "select partition_key, source_rows, quarantined_rows, raw_rows from ops.partitions",
    )
    assert {key: tuple(counts) for key, *counts in rows} == {
        key: (10_000, len(month.outside), len(month.trips)) for key, month in truth.items()
    }


def test_trips_outside_their_month_are_quarantined_with_that_reason(
    pipeline: Pipeline, truth: dict[str, Month]
) -> None:
    found = query(
        pipeline.warehouse.path,
        "select partition_key, line, reason from ops.quarantine order by all",
    )
    # In a month in which the clocks change, the times are shown with their offsets.
    assert [(key, line, re.sub(r"-0[45]:00", "", reason)) for key, line, reason in found] == [
        (
            key,
            line,
            f"picked_up_at: '{row['pickup_datetime']}' lies outside the partition"
            f" [{key} 00:00:00, {_next_month(key)} 00:00:00) in America/New_York",
        )
        for key, month in truth.items()
        for line, row in month.outside.items()
    ]
    assert len(found) == 5


def test_every_month_has_the_true_numbers_to_the_last_digit(
    pipeline: Pipeline, truth: dict[str, Month]
) -> None:
    rows = query(
        pipeline.warehouse.path,
        "select _date::varchar, trips, cash_trips, revenue, average_distance, cash_share"
        " from marts.trips_monthly",
    )
    assert {key: tuple(numbers) for key, *numbers in rows} == {
        key: month.numbers for key, month in truth.items()
    }


def test_every_trip_is_what_its_line_says(pipeline: Pipeline, truth: dict[str, Month]) -> None:
    """Also in the files with both kinds of line ends, and on the day when clocks are put back."""
    clock = "strftime({} at time zone 'America/New_York', '%Y-%m-%d %H:%M:%S')"
    rows = query(
        pipeline.warehouse.path,
        f"select _date::varchar, _line, {clock.format('picked_up_at')},"
        f" {clock.format('dropped_off_at')}, vendor_id, passengers, distance, rate_code,"
        " store_and_forward, pickup_zone, dropoff_zone, payment_type,"
        f" {', '.join(AMOUNTS)} from marts.trips_clean",
    )
    expected = {
        (key, line): (
            row["pickup_datetime"],
            row["dropoff_datetime"],
            row["vendor_id"] or None,
            int(row["passenger_count"]) if row["passenger_count"] else None,
            Decimal(row["trip_distance"]),
            row["rate_code_id"] or None,
            row["store_and_fwd_flag"] or None,
            row["pickup_location_id"],
            row["dropoff_location_id"],
            WORDS[row["payment_type"]],
            *(Decimal(row[name]) if row[name] else None for name in AMOUNTS),
        )
        for key, month in truth.items()
        for line, row in month.trips.items()
    }
    found = {(key, line): tuple(values) for key, line, *values in rows}
    assert found.keys() == expected.keys()
    assert [place for place, trip in found.items() if trip != expected[place]] == []


def test_the_summary_adds_up_years_and_compares_months_with_those_a_year_before(
    pipeline: Pipeline, truth: dict[str, Month]
) -> None:
    revenue = {date.fromisoformat(key): month.revenue for key, month in truth.items()}
    before = {month: revenue.get(month.replace(year=month.year - 1)) for month in revenue}
    rows = query(
        pipeline.warehouse.path,
        "select month, revenue, revenue_so_far_this_year, revenue_a_year_before,"
        " revenue_change_percent from reporting.trips_summary order by month",
    )
    assert rows == [
        (
            month,
            income,
            sum(revenue[one] for one in revenue if one.year == month.year and one <= month),
            earlier,
            _rounded((income - earlier) / earlier * 100, "0.01") if earlier else None,
        )
        for month, income in revenue.items()
        for earlier in [before[month]]
    ]
    assert sum(earlier is not None for earlier in before.values()) == 3


def test_months_run_one_by_one_in_another_order_leave_the_same_content(
    pipeline: Pipeline,
    pipeline_in: Callable[[Path], Pipeline],
    truth: dict[str, Month],
    tmp_path: Path,
) -> None:
    other = pipeline_in(tmp_path / "data")
    for key in reversed(truth):
        assert run_stages(other, [key])
    assert content_hashes(other.warehouse.path) == content_hashes(pipeline.warehouse.path)


def _next_month(key: str) -> str:
    year, month = int(key[:4]), int(key[5:7])
    return f"{year + month // 12}-{month % 12 + 1:02d}-01"
