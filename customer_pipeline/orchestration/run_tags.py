"""The tags by which runs are told apart, ordered and limited.

What belongs here: names of tags, and what their values mean. What does not: Dagster's limits by tag
(`dagster.yaml`), and the order of waiting runs (`run_queue.py`).
"""

from __future__ import annotations

# A scheduled run waits while another one of the same pipeline is active (`dagster.yaml` limits the
# runs per value of this tag to one).
SCHEDULED = "customer_pipeline/scheduled"
# What a refresh was asked to take in: a publication of a warehouse, by a version of the code.
REFRESH = "customer_pipeline/refresh"
# Which backfill of `customer-pipeline backfill` a run belongs to. One such backfill may be several
# of Dagster's own, which have an id each.
BACKFILL = "customer_pipeline/backfill"
# Why somebody has asked for a run.
REASON = "customer_pipeline/reason"
# In which order the waiting runs of a backfill are started; see `order`.
ORDER = "customer_pipeline/order"

PRIORITY = "dagster/priority"
# Seconds after which Dagster ends a run.
MAX_RUNTIME = "dagster/max_runtime"
RANGE_START = "dagster/asset_partition_range_start"
RANGE_END = "dagster/asset_partition_range_end"
PARTITION = "dagster/partition"
DAGSTER_BACKFILL = "dagster/backfill"
# On a run that failed: Dagster starts another in its place, or (the other's id) has done so.
WILL_RETRY = "dagster/will_retry"
RETRIED_BY = "dagster/auto_retry_run_id"

# Seconds: `max_runtime_seconds` in `dagster.yaml`. A code server may run where that file is not, so it
# is stated here too.
_WORKING_TIME = 12 * 3600

AHEAD_OF_BACKFILLS = {PRIORITY: "10"}


def time_allowed(pauses: float) -> dict[str, str]:
    """The tags of a run that may pause for so many seconds, between attempts, before it is taken for
    one that hangs."""
    return {MAX_RUNTIME: str(round(_WORKING_TIME + pauses))} if pauses > _WORKING_TIME else {}


def order(*, newest_first: bool, begin: str) -> str:
    """The value of `ORDER`: runs start the earlier, the nearer their partitions are to `begin`, the
    backfill's first one in that order."""
    return f"{'newest' if newest_first else 'oldest'} first, from {begin}"


def beginning_of(value: str) -> str | None:
    """The partition at which that order begins; None for what `order` has not written."""
    _, comma, begin = value.partition(" first, from ")
    return begin if comma and begin else None


def limit_tag(active_runs: int | str) -> str:
    """The tag whose every value, a backfill, has at most that many runs at once."""
    return f"customer_pipeline/max_active_runs_{active_runs}"
