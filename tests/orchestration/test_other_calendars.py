"""Pipelines over months, weeks and hours: all that holds for days holds for them, by partition key
(contract 1 to 5 and 8).

What belongs here: whole runs through Dagster, and what they leave. What does not: the calendars
themselves (`tests/source/test_calendars.py`).
"""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

import pytest

from customer_pipeline.dbt_adapter.manifest import DbtProject
from customer_pipeline.orchestration.location import build_defs
from customer_pipeline.pipelines import MONTHLY, PipelineSpec
from customer_pipeline.planning.known import read_known
from customer_pipeline.planning.late_data import late_partitions
from customer_pipeline.planning.source_changes import source_changes
from customer_pipeline.planning.state import states
from tests.support.dagster_processes import Home, home_template
from tests.support.months import HOURLY, WEEKLY, RideShop, feed_of
from tests.support.runs import Ran, run_days
from tests.support.warehouse import query

# Each with a delivery that is cut off in the middle, and London's clocks change in all of them.
KEYS = {
    MONTHLY: ["2026-02-01", "2026-03-01", "2026-04-01", "2026-05-01"],
    WEEKLY: ["2026-03-16", "2026-03-23", "2026-03-30", "2026-04-06"],
    # Hours are those that pass: at one o'clock it is two, and in autumn there are two ones.
    HOURLY: ["2026-03-29-00:00", "2026-03-29-02:00", "2026-03-29-03:00", "2026-03-29-04:00"],
}
AUTUMN = ["2025-10-26-00:00", "2025-10-26-01:00", "2025-10-26-01:00+0000", "2025-10-26-02:00"]


class Rides:
    """A shop with one pipeline, four partitions of it, and the run that has published three."""

    def __init__(self, root: Path, session_folder: Path, models: DbtProject, spec: PipelineSpec):
        self.spec, self.keys = spec, KEYS[spec]
        self.shop = RideShop(root / "shop", models=models, specs=(spec,))
        template = home_template(session_folder)
        self.home = Home(root / "home", self.shop.environment, template=template)
        for number, key in enumerate(self.keys):
            self.shop.deliver_rides(key, spec, rides=2 + number)
        self.cut = self.keys[2]
        path = self.shop.ride_path(self.cut, spec)
        path.write_text(path.read_text()[:-5])
        self.ran = self.run(self.keys)

    def run(self, keys: Sequence[str]) -> Ran:
        return run_days(self.shop, self.home, keys[0], keys[-1], job_name=self.spec.job)

    @property
    def good(self) -> list[str]:
        return [key for key in self.keys if key != self.cut]

    def rows(self, relation: str, value: str = "count(*)") -> dict[str, object]:
        column = self.shop.pipeline.partitions.column
        query_of = f"select {column.key}, {value} from {relation} group by 1 order by 1"
        return dict(query(self.shop.settings.warehouse_path, query_of))

    def ledger(self) -> dict[str, tuple]:
        rows = query(
            self.shop.settings.warehouse_path,
            "select partition_key, status, source_rows, quarantined_rows, raw_rows, mart_rows,"
            " content_hash from ops.partitions where pipeline = ? order by 1",
            [self.spec.name],
        )
        return {key: tuple(rest) for key, *rest in rows}


@pytest.fixture(scope="module", params=[MONTHLY, WEEKLY, HOURLY], ids=lambda spec: spec.cadence)
def ridden(
    request: pytest.FixtureRequest,
    tmp_path_factory: pytest.TempPathFactory,
    session_folder: Path,
    rides: DbtProject,
) -> Rides:
    root = tmp_path_factory.mktemp(request.param.cadence)
    return Rides(root, session_folder, rides, request.param)


def test_good_partitions_are_published_and_the_bad_one_is_named(ridden: Rides) -> None:
    assert not ridden.ran.succeeded
    mart = f"marts/{ridden.spec.cadence}_rides_kept"
    each = {key: 2 + ridden.keys.index(key) for key in ridden.good}
    assert ridden.ran.materialized(mart) == ridden.good
    assert ridden.ran.rows(mart) == each
    assert ridden.rows(f"raw.{feed_of(ridden.spec)}") == each
    assert ridden.rows(f"marts.{ridden.spec.cadence}_rides_total", "sum(rides)") == each
    assert f"{ridden.cut} (extract)" in ridden.ran.error
    failed = query(
        ridden.shop.settings.warehouse_path,
        "select partition_key from ops.attempts where outcome = 'failed' and pipeline = ?",
        [ridden.spec.name],
    )
    assert set(failed) == {(ridden.cut,)}


def test_the_ledger_has_a_row_of_each_with_its_counts(ridden: Rides) -> None:
    found = {key: row[:5] for key, row in ridden.ledger().items()}
    counts = {key: 2 + ridden.keys.index(key) for key in ridden.good}
    assert found == {key: ("published", n, 0, n, n + 1) for key, n in counts.items()}


def test_a_second_run_leaves_what_the_first_left(ridden: Rides) -> None:
    before = ridden.ledger()
    ridden.run(ridden.keys)
    assert ridden.ledger() == before


def test_all_that_follows_agrees_and_is_verified_against_the_source(ridden: Rides) -> None:
    verifier = ridden.shop.pipeline.verifier
    windows = ridden.shop.pipeline.partitions.windows(ridden.good)
    assert verifier.findings(windows, deep=True) == []


def test_a_range_that_is_none_changes_nothing_and_is_not_tried_again(ridden: Rides) -> None:
    """Dagster takes the next keys for ends that are none, when they come as tags of a run."""
    # A day that begins no week and no month, and half past an hour.
    before, no_key = (
        ridden.ledger(),
        f"{ridden.keys[0][:8]}27{ridden.keys[0][10:].replace('00:00', '00:30')}",
    )
    ranges = {"is not": [no_key, no_key], "is reversed": [ridden.keys[1], ridden.keys[0]]}
    for said, ends in ranges.items():
        ran = ridden.run(ends)
        assert not ran.succeeded
        assert all(said in error for error in ran.errors.values())
        assert ran.events("STEP_UP_FOR_RETRY") == []
    assert ridden.ledger() == before


# After the others, since it changes what they look at.
def test_a_correction_changes_its_partition_alone_and_is_seen_before_it_is_run(
    ridden: Rides,
) -> None:
    before, corrected, pipeline = ridden.ledger(), ridden.keys[1], ridden.shop.pipeline
    # Fewer rows than before, and one whose time is of the partition before.
    outside = "x,2026-01-15T10:00:00Z,1.5,2.00"
    ridden.shop.deliver_rides(corrected, ridden.spec, rides=40, fare="3.00", more=[outside])

    known = read_known(pipeline.warehouse, pipeline.name, pipeline.feeds)
    windows = pipeline.partitions.windows(ridden.good)
    changes = source_changes(pipeline.feeds, windows, known.loaded)
    found = states(
        ridden.good,
        known,
        code_version=pipeline.code_version,
        running={},
        changes=changes,
        late=late_partitions(pipeline.feeds, windows, known, changes, refused={}),
    )
    assert {state.partition_key: state.kind for state in found} == {
        key: "stale" if key == corrected else "published" for key in ridden.good
    }

    assert ridden.run([corrected]).succeeded
    after = ridden.ledger()
    assert after[corrected][:5] == ("published", 41, 1, 40, 41)
    assert {key: row for key, row in after.items() if key != corrected} == {
        key: row for key, row in before.items() if key != corrected
    }
    ((reason,),) = query(
        ridden.shop.settings.warehouse_path, "select reason from ops.quarantine", []
    )
    window = pipeline.partitions.window(corrected)
    assert f"lies outside the partition [{window.start:%Y-%m-%d %H:%M:%S}" in reason


@pytest.mark.slow
def test_the_two_hours_of_one_name_are_two_partitions(
    tmp_path: Path, session_folder: Path, rides: DbtProject, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setitem(KEYS, HOURLY, AUTUMN)
    ridden = Rides(tmp_path, session_folder, rides, HOURLY)
    assert ridden.rows("marts.hourly_rides_kept") == {AUTUMN[0]: 2, AUTUMN[1]: 3, AUTUMN[3]: 5}
    ridden.shop.deliver_rides(AUTUMN[2], HOURLY, rides=7)
    assert ridden.run([AUTUMN[2]]).succeeded
    assert ridden.rows("marts.hourly_rides_kept") == {
        AUTUMN[0]: 2, AUTUMN[1]: 3, AUTUMN[2]: 7, AUTUMN[3]: 5
    }  # fmt: skip


def test_pipelines_of_all_lengths_live_in_one_location(tmp_path: Path, rides: DbtProject) -> None:
    specs = (MONTHLY, WEEKLY, HOURLY)
    shop = RideShop(tmp_path / "shop", models=rides, specs=specs)
    repository = build_defs(shop.settings, specs).get_repository_def()
    assert {schedule.job_name for schedule in repository.schedule_defs} == {
        spec.job for spec in specs
    }
