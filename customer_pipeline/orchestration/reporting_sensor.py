"""What starts a refresh of the reporting tables: that something was published.

The sensor compares two numbers in the warehouse: the newest publication, and the one that the
reporting tables hold. So it does not matter how many days were published between two ticks, nor
what was switched off or broken meanwhile, and a day that failed starts nothing.

While more is about to be published, a refresh waits for the end of it, though not for ever. One
that failed is asked for again with the next publication, with other code, and after a pause that
doubles from time to time.
"""

from __future__ import annotations

from collections.abc import Sequence
from datetime import UTC, datetime, timedelta

import dagster as dg

from customer_pipeline.errors import TransientError
from customer_pipeline.orchestration.activity import Activity, activity
from customer_pipeline.orchestration.pipeline import Pipeline
from customer_pipeline.orchestration.reporting import reporting_keys
from customer_pipeline.orchestration.run_tags import AHEAD_OF_BACKFILLS, REFRESH
from customer_pipeline.reporting.refresh import Standing
from customer_pipeline.warehouse.publications import warehouse_id

# What has been published for that long is taken in, whatever is still going on.
_LONGEST_WAIT = timedelta(hours=1)
_SHORTEST_PAUSE = timedelta(minutes=5)
_LONGEST_PAUSE = timedelta(days=1)


def reporting_sensor(
    pipelines: Sequence[Pipeline], job, *, interval: int = 30
) -> dg.SensorDefinition:
    """Asks for one refresh of a pipeline's reporting tables when they lack something that is published.

    Args:
        interval: seconds between two looks, at least.
    """

    @dg.sensor(
        name="reporting_on_publish",
        job=job,
        minimum_interval_seconds=interval,
        default_status=dg.DefaultSensorStatus.RUNNING,
        description="Refreshes the reporting tables once after partitions were published.",
    )
    def _sensor(context: dg.SensorEvaluationContext) -> dg.SensorResult | dg.SkipReason:
        answers = [
            _refresh(context.instance, pipeline, datetime.now(UTC))
            for pipeline in pipelines
            if pipeline.reporting.tables
        ]
        requests = [one for one in answers if isinstance(one, dg.RunRequest)]
        if requests:
            return dg.SensorResult(run_requests=requests)
        return dg.SkipReason("; ".join(dict.fromkeys(map(str, answers))))

    return _sensor


def _refresh(
    instance: dg.DagsterInstance, pipeline: Pipeline, now: datetime
) -> dg.RunRequest | str:
    """The refresh that a pipeline's reporting tables need; or why there is none now."""
    # Before the warehouse: what has ended by now has told the warehouse what it did.
    going_on = activity(instance, pipeline, now)
    try:
        standing, warehouse = _look(pipeline)
    except TransientError as error:
        return f"the warehouse is busy, the next tick tries again: {error}"
    if not standing.partitions:
        return "the reporting tables hold everything that is published"
    if waiting := _waiting_for(standing, going_on, now):
        return waiting
    asked = f"{warehouse} {standing.publication} {pipeline.reporting.version}"
    earlier = instance.get_run_records(dg.RunsFilter(tags={REFRESH: asked}))
    if pause := _pause(earlier, now):
        return pause
    return dg.RunRequest(
        # A key that was used starts nothing more, however its run ended.
        run_key=f"{asked} {len(earlier) + 1}",
        asset_selection=reporting_keys(pipeline),
        tags={
            REFRESH: asked,
            "customer_pipeline/publication": str(standing.publication),
            "customer_pipeline/published": _named(standing.partitions),
        }
        | AHEAD_OF_BACKFILLS,
    )


def _look(pipeline: Pipeline) -> tuple[Standing, str]:
    """How far the reporting tables are behind, and in which warehouse."""
    warehouse = pipeline.warehouse_for_a_tick
    if not warehouse.exists:
        return Standing(0, (), None), ""
    with warehouse.read() as connection:
        standing = pipeline.reporting.standing(connection)
        return standing, warehouse_id(connection) if standing.publication else ""


def _waiting_for(standing: Standing, going_on: Activity, now: datetime) -> str:
    """What a refresh has to wait for, in a sentence; empty when it need not."""
    since = standing.waiting_since
    overdue = since is not None and now - since >= _LONGEST_WAIT
    waited_for = [*going_on.refreshing, *(() if overdue else going_on.publishing)]
    if not waited_for:
        return ""
    more = f" and {len(waited_for) - 1} more" if len(waited_for) > 1 else ""
    return f"waiting for the end of {waited_for[0]}{more}"


def _pause(earlier: Sequence[dg.RunRecord], now: datetime) -> str:
    """Why not to ask again for what these runs (newest first) did not achieve; empty when one may.

    It is asked again when as long has passed since the last run as between the first and the last.
    """
    if not earlier:
        return ""
    last, first = earlier[0], earlier[-1]
    ended = last.update_timestamp
    pause = min(max(ended - first.create_timestamp, _SHORTEST_PAUSE), _LONGEST_PAUSE)
    if now - ended >= pause:
        return ""
    return (
        f"run {last.dagster_run.run_id} did not bring the tables up to date (attempt {len(earlier)});"
        f" the next attempt is at {ended + pause:%Y-%m-%d %H:%M} UTC, or earlier after a"
        " publication or a code change"
    )


def _named(partitions: tuple[str, ...]) -> str:
    few = ", ".join(partitions)
    if len(partitions) <= 5:
        return few
    return f"{partitions[0]} ... {partitions[-1]} ({len(partitions)} partitions)"
