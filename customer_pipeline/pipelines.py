"""The location's pipelines: their names, their feeds, and when they run.

A pipeline takes the feeds of the source with its kind of partitions; one whose source has none is not
there. Its dbt models are in the folder `models/<name>`, and those of its reporting tables, which need
all of what it has published, in `models/<name>_reporting`.

What belongs here: what tells one pipeline from another. What does not: what all have in common
(`orchestration/pipeline.py`).
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from datetime import time, timedelta

from customer_pipeline.errors import ConfigError
from customer_pipeline.source.calendars import Cadence
from customer_pipeline.source.feed import Source


@dataclass(frozen=True)
class PipelineSpec:
    """A pipeline over the feeds with partitions of one `cadence`.

    Args:
        job: the name of its job.
        cron: when the job runs for the partition that closed last, in the source's time zone.
        retry_delay: between attempts, unless `CUSTOMER_PIPELINE_RETRY_DELAY` says otherwise.
        due_days: a partition is due so many days after its end, at `CUSTOMER_PIPELINE_DUE_BY`.
    """

    name: str
    cadence: Cadence
    job: str
    cron: str
    retry_delay: timedelta = timedelta(minutes=5)
    due_days: int = 0

    @property
    def schedule(self) -> str:
        return f"{self.job}_schedule"

    def due_after(self, by: time) -> timedelta:
        """How long after its end, on the clock of the source's zone, a partition should be published.

        Args:
            by: the time of day, for a partition that ends at midnight.
        """
        return timedelta(days=self.due_days, hours=by.hour, minutes=by.minute)

    @property
    def reporting(self) -> str:
        """The folder of the models of its reporting tables."""
        return f"{self.name}_reporting"


DAILY = PipelineSpec("daily_customers", "daily", job="daily_customer_pipeline", cron="0 3 * * *")
# A file that covers a month may come some hours late.
MONTHLY = PipelineSpec(
    "monthly_trips",
    "monthly",
    job="monthly_trips_pipeline",
    cron="0 6 3 * *",
    retry_delay=timedelta(hours=6),
    due_days=3,
)
PIPELINES = (DAILY, MONTHLY)


def option_of(spec: PipelineSpec, among: Sequence[PipelineSpec]) -> str:
    """What a command says to mean this pipeline, with a space in front: nothing for the first."""
    return "" if spec == among[0] else f" --pipeline {spec.name}"


def pipelines_of(
    source: Source, pipelines: Sequence[PipelineSpec] = PIPELINES
) -> list[PipelineSpec]:
    """The pipelines that have something to do with this source, in their order.

    Raises:
        ConfigError: a feed that no pipeline takes.
    """
    cadences = {one.cadence for one in pipelines}
    for name, feed in source.feeds.items():
        if feed.partitions not in cadences:
            raise ConfigError(
                f"no pipeline of this location takes {feed.partitions} feeds",
                where=f"feed {name}",
                todo=f"make it {' or '.join(sorted(cadences))}, or add a pipeline in pipelines.py",
            )
    return [one for one in pipelines if source.feeds_of(one.cadence)]
