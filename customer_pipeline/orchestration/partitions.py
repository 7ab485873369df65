"""Dagster's view of a source's partitions."""

from __future__ import annotations

from datetime import timedelta

import dagster as dg

from customer_pipeline.source.partitions import DailyPartitions


def partitions_definition(partitions: DailyPartitions) -> dg.TimeWindowPartitionsDefinition:
    """The same keys and windows for Dagster; a partition exists once its window is over."""
    return dg.DailyPartitionsDefinition(
        start_date=partitions.first.isoformat(),
        # Dagster's end is exclusive.
        end_date=(partitions.last + timedelta(days=1)).isoformat() if partitions.last else None,
        timezone=partitions.zone.key,
    )
