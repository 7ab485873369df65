"""Dagster's view of a source's partitions."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from datetime import datetime, time
from functools import partial

import dagster as dg

from customer_pipeline.errors import PartitionError
from customer_pipeline.orchestration.run_tags import PARTITION, RANGE_END, RANGE_START
from customer_pipeline.source.partitions import (
    DailyPartitions,
    HourlyPartitions,
    MonthlyPartitions,
    Partitions,
    WeeklyPartitions,
)

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
