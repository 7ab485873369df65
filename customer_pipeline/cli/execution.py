"""Running partitions in this process, without a daemon, and telling a person how it went.

What does not belong here: which partitions (`keys.py`), and the table of them (`published.py`).
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from typing import TYPE_CHECKING

from rich.console import Console

from customer_pipeline.cli.instance import dagster_home, working_instance
from customer_pipeline.cli.published import show_published
from customer_pipeline.phrases import counted
from customer_pipeline.settings import Settings

if TYPE_CHECKING:
    from dagster import AssetKey, DagsterInstance, Definitions

    from customer_pipeline.orchestration.pipeline import Pipeline


@dataclass(frozen=True)
class InThisProcess:
    """Runs in this process, without a daemon, with what every one of them needs."""

    console: Console
    definitions: Definitions
    instance: DagsterInstance
    pipeline: Pipeline

    def run(self, keys: Sequence[str], tags: Mapping[str, str] | None = None) -> bool:
        """Run the partitions `keys`, which have no gap, in one run; returns whether all succeeded."""
        # Dagster takes a second to import: only for a command that runs something.
        from customer_pipeline.orchestration.run_tags import RANGE_END, RANGE_START

        what = {RANGE_START: keys[0], RANGE_END: keys[-1]}
        return self._execute(self.pipeline.spec.job, tags=what | dict(tags or {}))

    def refresh(self) -> bool:
        """Bring the pipeline's reporting tables up to date, and say so; returns whether they are."""
        from customer_pipeline.orchestration.jobs import REFRESH_JOB
        from customer_pipeline.orchestration.reporting import reporting_keys

        behind = _not_reported(self.pipeline)
        if not behind:
            return True
        succeeded = self._execute(REFRESH_JOB, only=reporting_keys(self.pipeline))
        them = counted(len(behind), self.pipeline.partitions.noun)
        self.console.print(
            f"[red]reporting.* does not hold {them} yet[/red]"
            if _not_reported(self.pipeline)
            else f"reporting.* is up to date: {them} taken in"
        )
        return succeeded

    def _execute(
        self,
        job: str,
        *,
        tags: Mapping[str, str] | None = None,
        only: Sequence[AssetKey] | None = None,
    ) -> bool:
        result = self.definitions.resolve_job_def(job).execute_in_process(
            instance=self.instance,
            tags=tags,
            asset_selection=only,
            # Dagster would tell each failure several times; the table tells it once.
            run_config={"loggers": {"console": {"config": {"log_level": "CRITICAL"}}}},
            raise_on_error=False,
        )
        for step in result.filter_events(lambda event: event.is_step_failure):
            failure = step.step_failure_data
            if failure.user_failure_data is None:
                # One that nobody foresaw, for which the place in the code matters.
                self.console.print(failure.error_display_string, markup=False)
            elif not tags:
                # What a partition failed of stands in the table; this job has none.
                self.console.print(
                    f"{job}: {failure.user_failure_data.description}", style="red", markup=False
                )
        return result.success


@contextmanager
def in_this_process(
    console: Console, settings: Settings, pipeline: Pipeline
) -> Iterator[InThisProcess]:
    """The location and an instance, ready to run partitions until the block ends."""
    from customer_pipeline.orchestration.location import build_defs

    definitions = build_defs(settings)
    with working_instance() as instance:
        yield InThisProcess(console, definitions, instance, pipeline)
    if dagster_home() is None:
        console.print(
            "DAGSTER_HOME is not set: Dagster keeps no history of this run; the ledger does."
        )


def run_ranges(
    console: Console, settings: Settings, pipeline: Pipeline, ranges: Sequence[Sequence[str]]
) -> bool:
    """Run each range of partitions in one run, then bring the reporting tables up to date.

    Returns whether everything succeeded; what was published and what was not is printed.
    """
    succeeded, noun = True, pipeline.partitions.noun
    with in_this_process(console, settings, pipeline) as here:
        for keys in ranges:
            console.print(
                f"{pipeline.source.name}: {keys[0]} to {keys[-1]}, {counted(len(keys), noun)} in"
                " one run"
            )
            succeeded &= here.run(keys)
        show_published(console, pipeline, [key for keys in ranges for key in keys])
        succeeded &= here.refresh()
    return succeeded


def _not_reported(pipeline: Pipeline) -> tuple[str, ...]:
    """The published partitions that the reporting tables do not hold yet, if the pipeline has any."""
    if not (pipeline.reporting.tables and pipeline.warehouse.exists):
        return ()
    with pipeline.warehouse.read() as connection:
        return pipeline.reporting.standing(connection).partitions
