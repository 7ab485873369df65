"""Runs of the pipeline in this process, with Dagster's own records of them on disk."""

from __future__ import annotations

import json
import sqlite3
from collections import Counter, defaultdict
from collections.abc import Iterator, Mapping, Sequence
from contextlib import closing
from dataclasses import dataclass
from typing import Any

import dagster as dg

from customer_pipeline.orchestration.location import build_defs
from customer_pipeline.settings import load_settings
from tests.support.dagster_processes import Home
from tests.support.shop import Shop

JOB = "daily_customer_pipeline"
_RANGE_START = "dagster/asset_partition_range_start"
_RANGE_END = "dagster/asset_partition_range_end"
# Failures are read from the events; their stack traces are noise in a test's output.
_QUIET = {"loggers": {"console": {"config": {"log_level": "CRITICAL"}}}}

By = dict[str | None, Any]


@dataclass(frozen=True)
class Ran:
    """A run that has ended, and everything that Dagster stored of it."""

    run_id: str
    succeeded: bool
    log: tuple[dg.DagsterEvent, ...]
    checks: dict[tuple[str, str, str | None], str]

    def metadata(self, asset: str, name: str) -> By:
        """A value of the metadata of what was materialized of `asset`, by partition."""
        return {
            partition: value.metadata[name].value if name in value.metadata else None
            for partition, value in self._materializations(asset)
        }

    def tags(self, asset: str, name: str) -> By:
        """A tag of what was materialized of `asset`, by partition."""
        return {
            partition: (value.tags or {}).get(name)
            for partition, value in self._materializations(asset)
        }

    def materialized(self, asset: str) -> list[str | None]:
        """The partitions of `asset` that this run materialized, sorted, each as often as it was."""
        found = [partition for partition, _ in self._materializations(asset)]
        return sorted(found, key=str)

    def rows(self, asset: str) -> By:
        return self.metadata(asset, "dagster/partition_row_count")

    def results(self, check: str) -> By:
        """What `asset_check_executions` holds of a check, by partition."""
        return {
            partition: status
            for (_, name, partition), status in self.checks.items()
            if name == check
        }

    def failed_checks(self) -> dict[str | None, set[str]]:
        """The names of failed checks by partition."""
        found: dict[str | None, set[str]] = defaultdict(set)
        for (_, name, partition), status in self.checks.items():
            if status == "FAILED":
                found[partition].add(name)
        return dict(found)

    def steps(self, event: str = "STEP_SUCCESS") -> list[str]:
        """The steps with such an event (STEP_START, STEP_UP_FOR_RETRY and so on), in order."""
        return [one.step_key or "" for one in self.log if one.event_type_value == event]

    @property
    def errors(self) -> dict[str, str]:
        """What the failed steps said, without where in the code, by step."""
        return {
            one.step_key or "": one.step_failure_data.error_display_string.split("\nStack Trace")[0]
            for one in self.events("STEP_FAILURE")
        }

    @property
    def error(self) -> str:
        """What the one failed step said."""
        (message,) = self.errors.values()
        return message

    def events(self, kind: str) -> list[dg.DagsterEvent]:
        return [one for one in self.log if one.event_type_value == kind]

    def _materializations(self, asset: str) -> Iterator[tuple[str | None, dg.AssetMaterialization]]:
        for one in self.events("ASSET_MATERIALIZATION"):
            found = one.step_materialization_data.materialization
            if found.asset_key.to_user_string() == asset:
                yield found.partition, found  # pyright: ignore[reportReturnType]


def run_days(
    shop: Shop,
    home: Home,
    first: str,
    last: str | None = None,
    *,
    only: Sequence[str] = (),
    tags: Mapping[str, str] | None = None,
    job_name: str = JOB,
) -> Ran:
    """Run a partition, or the range from `first` to `last`, by the pipeline's job.

    Args:
        only: the first parts of the keys of the assets to run instead (`landing`, `marts`), as
            somebody selects them in the UI.
        tags: such as a schedule gives to its runs.
    """
    days = {_RANGE_START: first, _RANGE_END: last} if last else {}
    defs = build_defs(shop.settings, shop.specs)
    keys = [key for key in defs.resolve_asset_graph().get_all_asset_keys() if key.path[0] in only]
    job = defs.resolve_implicit_global_asset_job_def() if only else defs.resolve_job_def(job_name)
    with home.instance() as instance:
        result = job.execute_in_process(
            instance=instance,
            asset_selection=keys or None,
            partition_key=None if last else first,
            tags={**days, **(tags or {})},
            run_config=_QUIET,
            raise_on_error=False,
        )
        return _ran(home, instance, result)


def refresh_reporting(shop: Shop, home: Home) -> Ran:
    """Run the job that brings the reporting tables up to what is published."""
    job = build_defs(shop.settings).resolve_job_def("reporting_refresh")
    with home.instance() as instance:
        result = job.execute_in_process(instance=instance, run_config=_QUIET, raise_on_error=False)
        return _ran(home, instance, result)


def rerun_from_failure(home: Home, failed: Ran) -> Ran:
    """What "Re-execute from failure" does in the UI, and the daemon for a run whose worker died."""
    with home.instance() as instance:
        parent = instance.get_run_by_id(failed.run_id)
        assert parent is not None
        with dg.execute_job(
            # Dagster keeps what it has made from the same arguments.
            dg.build_reconstructable_job(__name__, "job_in", (str(home.folder),)),
            instance,
            run_config=_QUIET,
            tags={tag: parent.tags[tag] for tag in (_RANGE_START, _RANGE_END)},
            reexecution_options=dg.ReexecutionOptions.from_failure(failed.run_id, instance),
        ) as result:
            return _ran(home, instance, result)


def job_in(_home: str) -> dg.JobDefinition:
    return build_defs(load_settings()).resolve_job_def(JOB)


def _ran(
    home: Home,
    instance: dg.DagsterInstance,
    result: dg.ExecuteInProcessResult | dg.JobExecutionResult,
) -> Ran:
    log = [entry.dagster_event for entry in instance.all_logs(result.run_id)]
    return Ran(
        result.run_id,
        result.success,
        tuple(event for event in log if event is not None),
        _check_executions(home, result.run_id),
    )


def _check_executions(home: Home, run_id: str) -> dict[tuple[str, str, str | None], str]:
    with closing(sqlite3.connect(home.index)) as index:
        rows = index.execute(
            "select asset_key, check_name, partition, execution_status"
            " from asset_check_executions where run_id = ?",
            [run_id],
        ).fetchall()
    found = {
        ("/".join(json.loads(asset)), check, partition): status
        for asset, check, partition, status in rows
    }
    assert len(found) == len(rows), Counter(row[:3] for row in rows).most_common(3)
    return found
