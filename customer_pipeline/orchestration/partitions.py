"""Dagster's view of a source's partitions."""

from __future__ import annotations

from collections.abc import Sequence
from datetime import timedelta

import dagster as dg

from customer_pipeline.errors import PartitionError
from customer_pipeline.orchestration.run_tags import PARTITION, RANGE_END, RANGE_START
from customer_pipeline.source.partitions import DailyPartitions


def partitions_definition(partitions: DailyPartitions) -> dg.TimeWindowPartitionsDefinition:
    """The same keys and windows for Dagster; a partition exists once its window is over."""
    return dg.DailyPartitionsDefinition(
        start_date=partitions.first.isoformat(),
        # Dagster's end is exclusive.
        end_date=(partitions.last + timedelta(days=1)).isoformat() if partitions.last else None,
        timezone=partitions.zone.key,
    )


def partitions_of(run: dg.DagsterRun, partitions: DailyPartitions) -> Sequence[str]:
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
