"""Where a delivery is when it may come in several versions (case W13)."""

from __future__ import annotations

from datetime import date
from pathlib import Path
from typing import Any
from zoneinfo import ZoneInfo

import pytest

from customer_pipeline.errors import DeliveryError, MissingDeliveryError
from customer_pipeline.source.calendars import DailyPartitions, HourlyPartitions
from customer_pipeline.source.feed import Feed
from customer_pipeline.source.partitions import Window
from customer_pipeline.source.places import Place, place_of
from customer_pipeline.source.reading import read_delivery

CSV = "id\n1\n"


@pytest.fixture
def window() -> Window:
    return DailyPartitions(date(2026, 1, 1), None, ZoneInfo("UTC")).window("2026-03-01")


def feed(path: Path, versions: str = "highest", **fields: Any) -> Feed:
    return Feed.model_validate(
        {"reader": "csv", "path": str(path), "versions": versions, "columns": {"id": {}}} | fields
    )


def deliver(folder: Path, *names: str) -> None:
    for name in names:
        (folder / name).parent.mkdir(parents=True, exist_ok=True)
        (folder / name).write_text(CSV)


@pytest.mark.parametrize(
    ("template", "files", "version"),
    [
        ("{date}-v{version}.csv", ("2026-03-01-v2.csv", "2026-03-01-v10.csv"), "10"),
        ("{date}{version}.csv", ("2026-03-01.csv",), ""),
        ("{date}{version}.csv", ("2026-03-01.csv", "2026-03-01_2.csv"), "_2"),
        ("{date}/r{version}/o.csv", ("2026-03-01/r1/o.csv", "2026-03-01/r2/o.csv"), "2"),
        ("{version}/{date}.csv", ("3/2026-03-01.csv", "12/2026-03-01.csv"), "12"),
    ],
)
def test_the_highest_version_is_taken_where_the_feed_says_so(
    tmp_path: Path, window: Window, template: str, files: tuple[str, ...], version: str
) -> None:
    deliver(tmp_path, *files)
    place = place_of(feed(tmp_path / template), window)
    assert (place.version, str(place.path)) == (version, str(tmp_path / files[-1]))
    assert read_delivery(feed(tmp_path / template), window).version == version


@pytest.mark.parametrize(
    ("template", "other"),
    [
        ("{date}-v{version}.csv", "2026-03-02-v9.csv"),
        ("{date}-v{version}.csv", "2026-03-01-v9.csv.tmp"),
        ("{date}-v{version}.csv", ".2026-03-01-v9.csv"),
        ("{date}-v{version}.csv", "2026-03-01-v9.csv/part"),
        ("{date:%Y-%m-%-d}{version}.csv", "2026-03-10.csv"),
        ("{version}{date:%-m-%d}.csv", "23-01.csv"),
        ("{date}/r{version}/o.csv", "2026-03-01/r9/other.csv"),
    ],
)
def test_another_days_file_or_one_of_another_name_is_no_version_of_it(
    tmp_path: Path, window: Window, template: str, other: str
) -> None:
    deliver(tmp_path, other)
    with pytest.raises(MissingDeliveryError, match="in any version"):
        place_of(feed(tmp_path / template), window)


@pytest.mark.parametrize(
    ("template", "rule", "signs"),
    [
        ("{date}.csv{version}", {"suffix": ".done"}, (".csv.done", ".csv_v2.done")),
        ("{date}{version}", {"suffix": ".csv.done"}, (".csv.done", "_v2.csv.done")),
        ("{date}.csv{version}", {"marker": "{date}.csv{version}.ok"}, (".csv.ok", ".csv_v2.ok")),
        ("{date}{version}.csv", {"marker": "{date}-complete.csv"}, ("-complete.csv",)),
        ("{date}{version}.csv", {"manifest": "{date}{version}.rows.csv"}, ("_v2.rows.csv",)),
        ("{date}{version}.csv", {"manifest": "{{}}+/{date}{version}"}, ()),
    ],
)
def test_what_only_says_that_a_version_is_complete_is_no_version(
    tmp_path: Path, window: Window, template: str, rule: dict[str, str], signs: tuple[str, ...]
) -> None:
    in_folder = {
        name: value if name == "suffix" else str(tmp_path / value) for name, value in rule.items()
    }
    declared = feed(tmp_path / template, ready_when=in_folder)
    deliver(tmp_path, *(f"2026-03-01{sign}" for sign in signs))
    with pytest.raises(MissingDeliveryError):
        place_of(declared, window)
    for version in ("", "_v2"):
        name = template.replace("{date}", "2026-03-01").replace("{version}", version)
        deliver(tmp_path, name)
        assert place_of(declared, window) == Place(tmp_path / name, version)


def test_two_versions_are_refused_unless_the_feed_says_otherwise(
    tmp_path: Path, window: Window
) -> None:
    declared = feed(tmp_path / "{date}-v{version}.csv").model_copy(update={"versions": "refuse"})
    deliver(tmp_path, "2026-03-01-v1.csv")
    assert place_of(declared, window).version == "1"
    deliver(tmp_path, "2026-03-01-v2.csv")
    with pytest.raises(DeliveryError, match=r"2 versions.*'1', '2'.*'versions: highest'"):
        place_of(declared, window)


def test_versions_without_an_order_are_refused_whatever_the_feed_says(
    tmp_path: Path, window: Window
) -> None:
    deliver(tmp_path, "2026-03-01-v1.csv", "2026-03-01-vnew.csv")
    with pytest.raises(DeliveryError, match="it is unclear which of '1' and 'new' is newer"):
        place_of(feed(tmp_path / "{date}-v{version}.csv"), window)


def test_a_folder_that_is_not_there_holds_no_version(tmp_path: Path, window: Window) -> None:
    with pytest.raises(MissingDeliveryError):
        place_of(feed(tmp_path / "none" / "{date}-v{version}.csv"), window)


def test_what_looks_like_a_pattern_in_a_path_is_none(tmp_path: Path, window: Window) -> None:
    deliver(tmp_path, "a+[b]/c+[d]-2026-03-01-v1.csv", "a+[b]/ccd-2026-03-01-v2.csv")
    template = tmp_path / "a+[b]" / "c+[d]-{date}-v{version}.csv"
    assert place_of(feed(template), window).version == "1"


def test_an_hour_has_a_file_of_its_own(tmp_path: Path) -> None:
    hours = HourlyPartitions(date(2026, 1, 1), None, ZoneInfo("Europe/London"))
    hourly = feed(tmp_path / HourlyPartitions.in_paths)
    found = [place_of(hourly, hours.window(f"2026-07-01-{hour:02}:00")).path for hour in (9, 23)]
    assert [path.name for path in found] == ["2026-07-01-09+0100", "2026-07-01-23+0100"]
