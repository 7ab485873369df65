"""Who tells of a run or a backfill: of the location's pipelines, the one whose assets it works on.

What works on no pipeline's, or on those of several, is told by the first, so that everything is told
by exactly one.

What belongs here: that choice. What does not: what is told (`customer_pipeline/alerts/`).
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Any

import dagster as dg

from customer_pipeline.orchestration.pipeline import Pipeline
from customer_pipeline.orchestration.reporting import reporting_keys
from customer_pipeline.orchestration.specs import partitioned_keys


@dataclass(frozen=True)
class Tellers:
    """All the pipelines of the location, at least one."""

    pipelines: Sequence[Pipeline]

    @property
    def first(self) -> Pipeline:
        return self.pipelines[0]

    @cached_property
    def assets(self) -> Mapping[str, frozenset[dg.AssetKey]]:
        """By pipeline, its assets with partitions and its reporting tables."""
        return {
            pipeline.name: frozenset([*partitioned_keys(pipeline), *reporting_keys(pipeline)])
            for pipeline in self.pipelines
        }

    def of_run(self, run: dg.DagsterRun) -> Pipeline:
        return self._touched(run)[0]

    def of_backfill(self, backfill: Any, runs: Iterable[dg.DagsterRun]) -> Pipeline:
        """Of a backfill of Dagster's, by what it was asked for, or else by its first run."""
        job = getattr(backfill, "job_name", None)
        for pipeline in self.pipelines:
            asked = frozenset(backfill.asset_selection or ())
            if job == pipeline.spec.job or asked & self.assets[pipeline.name]:
                return pipeline
        return next(map(self.of_run, runs), self.first)

    def job_of(self, run: dg.DagsterRun, pipeline: Pipeline) -> str:
        """What a run is a run of: a job, named as one pipeline's where several share it.

        A run of assets that somebody picked has a job of Dagster's own making, with no name to tell.
        """
        name = "selected assets" if run.job_name.startswith("__") else run.job_name
        is_shared = pipeline.name != self.first.name and name != pipeline.spec.job
        return f"{name} of {pipeline.name}" if is_shared else name

    def jobs_of(self, run: dg.DagsterRun) -> list[str]:
        """All that a run is a run of, where it works for several pipelines."""
        return [self.job_of(run, pipeline) for pipeline in self._touched(run)]

    def _touched(self, run: dg.DagsterRun) -> list[Pipeline]:
        # A run in the process that asked for it names no assets.
        touched = [
            pipeline
            for pipeline in self.pipelines
            if (
                run.asset_selection & self.assets[pipeline.name]
                if run.asset_selection
                else run.job_name == pipeline.spec.job
            )
        ]
        return touched or [self.first]
