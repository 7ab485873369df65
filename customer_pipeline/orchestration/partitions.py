"""Dagster's view of a source's partitions."""

from __future__ import annotations

from collections.abc import Callable, Collection, Sequence
from datetime import datetime, time
from functools import partial
from typing import Any

import dagster as dg

from customer_pipeline.errors import PartitionError
from customer_pipeline.orchestration.run_tags import PARTITION, RANGE_END, RANGE_START
from customer_pipeline.source.calendars import (
    DailyPartitions,
    HourlyPartitions,
    MonthlyPartitions,
    WeeklyPartitions,
)
from customer_pipeline.source.partitions import Partitions

_DEFINITIONS: dict[type[Partitions], Callable[..., dg.TimeWindowPartitionsDefinition]] = {
    HourlyPartitions: partial(dg.HourlyPartitionsDefinition, fmt="%Y-%m-%d-%H:%M"),
    DailyPartitions: dg.DailyPartitionsDefinition,
    WeeklyPartitions: partial(dg.WeeklyPartitionsDefinition, day_offset=1),
    MonthlyPartitions: dg.MonthlyPartitionsDefinition,
}


def partitions_definition(partitions: Partitions) -> dg.TimeWindowPartitionsDefinition:
    """The same keys and windows for Dagster; a partition exists once its window is over."""
    return _DEFINITIONS[type(partitions)](
        start_date=datetime.combine(partitions.first, time()),
        end_date=partitions.end.replace(tzinfo=None) if partitions.end else None,
        timezone=partitions.zone.key,
    )


def asked_of(backfill: Any, assets: Collection[dg.AssetKey] | None = None) -> set[str]:
    """The keys that a backfill (Dagster's) was asked for, whether or not a run of them was ever started.

    Args:
        assets: only what was asked for of these.
    """
    if backfill.asset_backfill_data is None:
        return set(backfill.partition_names or ())
    subsets = backfill.asset_backfill_data.target_subset.partitions_subsets_by_asset_key
    return {
        key
        for asset, subset in subsets.items()
        if assets is None or asset in assets
        for key in subset.get_partition_keys()
    }


def partitions_of(run: dg.DagsterRun, partitions: Partitions) -> Sequence[str]:
    """The keys that a run works on, however Dagster has written them down."""
    tags = run.tags
    if PARTITION in tags:
        return [tags[PARTITION]]
    if RANGE_START in tags:
        try:
            return partitions.keys_between(tags[RANGE_START], tags[RANGE_END])
        except PartitionError:
            # Such a run touches nothing: its first step refuses the range.
            return []
    return [*run.partitions_subset.get_partition_keys()] if run.partitions_subset else []
