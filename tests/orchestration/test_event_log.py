"""The event log writes in batches over kept connections; what it leaves is what Dagster's own class
leaves, row by row, and nothing is lost when a process ends or when two write at once.
"""

from __future__ import annotations

import json
import shutil
import sqlite3
import sys
from collections import Counter
from contextlib import closing
from pathlib import Path
from typing import Any

import dagster as dg
import pytest
import yaml

from customer_pipeline.orchestration.event_log import PooledSqliteEventLogStorage
from tests.support.dagster_processes import Home, home_template
from tests.support.runs import run_days
from tests.support.shop import Shop, line

DAYS = [f"2026-03-{day:02}" for day in range(2, 8)]
CUT, BLANK = DAYS[1], DAYS[3]
# Numbers of runs, moments and rows differ from run to run.
_OF_THE_RUN = {"run_id", "timestamp", "storage_id"}

Row = tuple[Any, ...]


class Log:
    """A run that has ended, in the files of its event log."""

    def __init__(self, home: Home, run_id: str) -> None:
        self.run_id, self.index = run_id, home.index
        self.shard = home.index.with_name(f"{run_id}.db")

    def events(self, database: Path) -> list[Row]:
        """All events in their order, and of those about assets and checks everything."""
        rows = _rows(
            database,
            "select run_id, dagster_event_type, step_key, asset_key, partition, event"
            " from event_logs order by id",
        )
        return [(run == self.run_id, *others, _substance(event)) for run, *others, event in rows]

    def asset_keys(self) -> list[Row]:
        """Each asset with what was last materialized of it, where its storage id points."""
        rows = _rows(
            self.index, "select asset_key, last_run_id, last_materialization from asset_keys"
        )
        found = []
        for asset, run, last in sorted(rows):
            record = json.loads(last) if last else None
            found.append(
                (asset, run == self.run_id, record and self._pointed_at(record["storage_id"]))
            )
        return found

    def checks(self) -> list[Row]:
        """Each check and partition with its result, and where its storage ids point."""
        rows = _rows(
            self.index,
            "select asset_key, check_name, partition, execution_status, run_id, evaluation_event,"
            " evaluation_event_storage_id, materialization_event_storage_id"
            " from asset_check_executions",
        )
        found = [
            (*names, run == self.run_id, _substance(event), self._pointed_at(evaluation),
             self._pointed_at(materialization))
            for *names, run, event, evaluation, materialization in rows
        ]  # fmt: skip
        return sorted(found, key=str)

    def _pointed_at(self, storage_id: int | None) -> Row | None:
        """The event with this number, which is not the same number in another log."""
        if storage_id is None:
            return None
        (event,) = _rows(
            self.index,
            "select dagster_event_type, asset_key, partition, event from event_logs"
            f" where id = {storage_id}",
        )
        return (*event[:-1], _substance(event[-1]))


@pytest.fixture(scope="module", params=["range", pytest.param("day", marks=pytest.mark.slow)])
def logs(
    request: pytest.FixtureRequest,
    tmp_path_factory: pytest.TempPathFactory,
    session_folder: Path,
    dbt_cache: Path,
) -> tuple[Log, Log]:
    """The same failing run twice: under our event log, and under Dagster's own."""
    folder, template = tmp_path_factory.mktemp("event_log"), home_template(session_folder)
    ours = Home(folder / "ours", {}, template=template)
    theirs = Home(folder / "theirs", {}, template=template)
    settings = yaml.safe_load((theirs.folder / "dagster.yaml").read_text())
    assert settings.pop("event_log_storage")["class"] == PooledSqliteEventLogStorage.__name__
    (theirs.folder / "dagster.yaml").write_text(yaml.safe_dump(settings))
    days = (DAYS[0], DAYS[-1]) if request.param == "range" else (BLANK,)
    return _run(ours, folder, dbt_cache, days), _run(theirs, folder, dbt_cache, days)


def _run(home: Home, folder: Path, dbt_cache: Path, days: tuple[str, ...]) -> Log:
    """A run in which, of a range, one day is cut off and one has an order without id."""
    # The same paths in both runs.
    shutil.rmtree(folder / "shop", ignore_errors=True)
    shop = Shop(folder / "shop", dbt_cache=dbt_cache)
    home.environment |= shop.environment
    for day in DAYS[:-1]:
        shop.deliver_day(day)
    shop.path("orders", CUT).write_text(shop.path("orders", CUT).read_text()[:-5])
    shop.deliver("orders", BLANK, [line(BLANK, 0, order_id="  "), line(BLANK, 1)])
    with pytest.MonkeyPatch.context() as patch:
        # Where another test has used our event log in this process.
        patch.delenv("DAGSTER_EVENT_BATCH_SIZE", raising=False)
        ran = run_days(shop, home, *days)
    assert not ran.succeeded
    return Log(home, ran.run_id)


def test_the_run_has_the_same_events_in_the_same_order(logs: tuple[Log, Log]) -> None:
    ours, theirs = (log.events(log.shard) for log in logs)
    assert len(ours) > 150
    assert ours == theirs


def test_the_index_has_the_same_events_in_the_same_order(logs: tuple[Log, Log]) -> None:
    ours, theirs = (log.events(log.index) for log in logs)
    assert len(ours) > 100
    assert ours == theirs


def test_every_asset_points_at_the_same_materialization(logs: tuple[Log, Log]) -> None:
    ours, theirs = (log.asset_keys() for log in logs)
    assert len(ours) == 17
    assert ours == theirs


def test_every_check_has_the_same_result_for_each_day(logs: tuple[Log, Log]) -> None:
    ours, theirs = (log.checks() for log in logs)
    assert {row[3] for row in ours} >= {"SUCCEEDED", "FAILED"}
    assert ours == theirs


# Materializes sixty partitions of an asset in one run, with a check of each.
_PROGRAM = """
import sys
import dagster as dg
from customer_pipeline.orchestration.events import check_spec

asset, tail = dg.AssetKey(sys.argv[1]), sys.argv[2:]
days = dg.StaticPartitionsDefinition([f"p{n:02}" for n in range(60)])

@dg.multi_asset(
    specs=[dg.AssetSpec(asset, partitions_def=days)],
    check_specs=[check_spec("right", asset, description="", partitions_def=days)],
    backfill_policy=dg.BackfillPolicy.single_run(),
)
def made(context):
    yield dg.MaterializeResult(asset_key=asset)
    for key in context.partition_keys:
        context.log_event(
            dg.AssetCheckEvaluation(
                asset_key=asset, check_name="right", passed=key != "p07", partition=key
            )
        )
    yield dg.AssetCheckResult(asset_key=asset, check_name="right", passed=True)

with dg.DagsterInstance.get() as instance:
    dg.materialize(
        [made],
        instance=instance,
        tags={
            "dagster/asset_partition_range_start": "p00",
            "dagster/asset_partition_range_end": "p59",
        },
    )
"""


def test_two_processes_that_write_at_once_lose_nothing(home: Home) -> None:
    names = ["first", "second"]
    writers = [home.start(sys.executable, "-c", _PROGRAM, name) for name in names]
    outputs = [writer.communicate(timeout=120)[0] for writer in writers]
    assert [writer.returncode for writer in writers] == [0, 0], outputs
    assert "locked" not in "".join(outputs)
    found = Counter(
        _rows(
            home.index, "select asset_key, dagster_event_type from event_logs where asset_key > ''"
        )
    )
    for name in names:
        key = json.dumps([name])
        assert found[key, "ASSET_MATERIALIZATION"] == 60
        assert found[key, "ASSET_MATERIALIZATION_PLANNED"] == 60
        results = Counter(
            _rows(
                home.index,
                "select partition = 'p07', execution_status from asset_check_executions"
                f" where partition is not null and asset_key = '{key}'",
            )
        )
        assert results == {(0, "SUCCEEDED"): 59, (1, "FAILED"): 1}


def test_a_result_reported_without_a_run_is_there_at_once(home: Home) -> None:
    """As the last word of a process, with nothing after it that would have it written."""
    asset = dg.AssetKey("reported")
    with home.instance() as instance:
        instance.report_runless_asset_event(
            dg.AssetCheckEvaluation(
                asset_key=asset, check_name="right", passed=False, partition="2026-03-03"
            )
        )
        stored = _rows(
            home.index, "select check_name, partition, execution_status from asset_check_executions"
        )
    assert stored == [("right", "2026-03-03", "FAILED")]


def _rows(database: Path, sql: str) -> list[Row]:
    with closing(sqlite3.connect(database)) as connection:
        return connection.execute(sql).fetchall()


def _substance(event: str) -> Any:
    """What an event about an asset or a check says; of other events only that they are."""
    dagster_event = json.loads(event)["dagster_event"] or {}
    if not dagster_event.get("event_type_value", "").startswith("ASSET"):
        return None
    return _plain(dagster_event["event_specific_data"])


def _plain(value: Any) -> Any:
    if isinstance(value, dict):
        # How long it took, and which five rows DuckDB gave first.
        if value.get("label") in ("publish_seconds", "preview"):
            return None
        return {name: _plain(one) for name, one in value.items() if name not in _OF_THE_RUN}
    return [_plain(one) for one in value] if isinstance(value, list) else value
