"""Rows of Dagster's event log: what a batch of events becomes in its tables.

What belongs here: events as rows, and the statements that write them many at a time. What does not:
connections and transactions (`event_log.py`).
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import sqlalchemy as sa
from dagster import DagsterEventType, EventLogEntry
from dagster._core.events import ASSET_EVENTS
from dagster._core.storage.event_log.schema import (
    AssetCheckExecutionsTable,
    SqlEventLogStorageTable,
)

_CHECKS = AssetCheckExecutionsTable.c

INSERT_EVENTS = SqlEventLogStorageTable.insert()
INSERT_EVENTS_FOR_IDS = INSERT_EVENTS.returning(
    SqlEventLogStorageTable.c.id, sort_by_parameter_order=True
)
UPDATE_CHECK = (
    AssetCheckExecutionsTable.update()
    .where(
        _CHECKS.asset_key == sa.bindparam("of_asset"),
        _CHECKS.check_name == sa.bindparam("of_check"),
        _CHECKS.run_id == sa.bindparam("of_run"),
        _CHECKS.partition == sa.bindparam("of_partition"),
    )
    .values(
        execution_status=sa.bindparam("status"),
        evaluation_event=sa.bindparam("event"),
        evaluation_event_timestamp=sa.bindparam("at"),
        evaluation_event_storage_id=sa.bindparam("event_id"),
        materialization_event_storage_id=sa.bindparam("materialization_id"),
    )
)


@dataclass(frozen=True)
class Stored:
    """An event, its row, and the row's id in the database that spans all runs."""

    event: EventLogEntry
    row: Mapping[str, Any]
    event_id: int


def kind_of(event: EventLogEntry) -> str:
    """What an event is to this storage, which writes those of one kind in one go."""
    if event.dagster_event_type in ASSET_EVENTS:
        return "asset"
    if event.dagster_event_type is DagsterEventType.ASSET_CHECK_EVALUATION_PLANNED:
        return "planned check"
    return "check result" if is_partitioned_check_result(event) else "other check"


def planned_rows(planned: Sequence[Stored]) -> Iterator[dict[str, Any]]:
    """One row per partition in which a check is going to run."""
    subset, keys = None, [None]
    for one in planned:
        data = one.event.get_dagster_event().asset_check_planned_data
        if data.partitions_subset is None:
            keys = [None]
        elif data.partitions_subset != subset:
            keys = list(data.partitions_subset.get_partition_keys())
        subset = data.partitions_subset
        for key in keys:
            yield {
                "asset_key": data.asset_key.to_string(),
                "check_name": data.check_name,
                "partition": key,
                "run_id": one.event.run_id,
                "execution_status": "PLANNED",
                "evaluation_event": one.row["event"],
                "evaluation_event_timestamp": one.row["timestamp"],
                "evaluation_event_storage_id": one.event_id,
            }


def result_row(result: Stored) -> dict[str, Any]:
    """The parameters of `UPDATE_CHECK` for the result of a check in a partition."""
    evaluation = result.event.get_dagster_event().asset_check_evaluation_data
    target = evaluation.target_materialization_data
    return {
        "of_asset": evaluation.asset_key.to_string(),
        "of_check": evaluation.check_name,
        "of_run": result.event.run_id,
        "of_partition": evaluation.partition,
        "status": "SUCCEEDED" if evaluation.passed else "FAILED",
        "event": result.row["event"],
        "at": result.row["timestamp"],
        "event_id": result.event_id,
        "materialization_id": target.storage_id if target else None,
    }


def is_partitioned_check_result(event: EventLogEntry) -> bool:
    of = event.dagster_event
    return (
        of is not None
        and of.event_type is DagsterEventType.ASSET_CHECK_EVALUATION
        and of.asset_check_evaluation_data.partition is not None
    )
