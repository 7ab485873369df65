"""The stages in their order, as the Dagster steps call them, without Dagster."""

from __future__ import annotations

from collections.abc import Sequence
from datetime import UTC, datetime
from uuid import uuid4

from customer_pipeline.orchestration.pipeline import Pipeline
from customer_pipeline.outcomes import Casualty
from customer_pipeline.reporting.refresh import Refreshed
from customer_pipeline.stages.candidate import Candidate
from customer_pipeline.stages.extract import extract
from customer_pipeline.stages.load import load
from customer_pipeline.stages.publication import Publication
from customer_pipeline.stages.publish import publish
from customer_pipeline.stages.transform import Built, transform
from customer_pipeline.stages.validate import Validation, validate
from customer_pipeline.warehouse.ledger import Run, record_failures


def run_stages(pipeline: Pipeline, keys: Sequence[str], *, lake: bool = True) -> Publication | None:
    """Run `keys` through all stages, and let the lake follow; None, and the lake as it is, when no
    partition survived the transform."""
    run = new_run(pipeline)
    extract_and_load(pipeline, keys, run_id=run.run_id)
    candidate = pipeline.candidate(run.run_id)
    built = transform_keys(pipeline, keys, candidate)
    record(pipeline, run, built.casualties)
    if not built.partition_keys:
        return None
    validate_candidate(pipeline, candidate)
    publication = publish_candidate(pipeline, candidate, run)
    if lake:
        follow(pipeline)
    return publication


def follow(pipeline: Pipeline) -> None:
    """Bring the lake up to what is published."""
    pipeline.lake.follow(pipeline.warehouse, pipeline.name, pipeline.marts)


def refresh_reporting(pipeline: Pipeline) -> Refreshed:
    """Bring the reporting tables up to what is published, as the job `reporting_refresh` does."""
    run_id = str(uuid4())
    return pipeline.reporting.refresh(pipeline.settings.runs_path / run_id, run_id=run_id)


def new_run(pipeline: Pipeline) -> Run:
    return Run(str(uuid4()), pipeline.name, datetime.now(UTC), pipeline.code_version)


def record(pipeline: Pipeline, run: Run, casualties: Sequence[Casualty]) -> None:
    """Tell the ledger, as every step does."""
    if casualties:
        with pipeline.warehouse.write() as connection:
            record_failures(connection, run, casualties)


def extract_and_load(pipeline: Pipeline, keys: Sequence[str], *, run_id: str = "test") -> None:
    """Land and load `keys` of every feed."""
    for name, feed in pipeline.feeds.items():
        extract(
            name,
            feed,
            pipeline.partitions.windows(keys),
            zone=pipeline.source.timezone,
            landing=pipeline.landing,
            give_up=True,
        )
        load(
            name,
            feed,
            keys,
            zone=pipeline.source.timezone,
            landing=pipeline.landing,
            warehouse=pipeline.warehouse,
            run_id=run_id,
        )


def transform_keys(pipeline: Pipeline, keys: Sequence[str], candidate: Candidate) -> Built:
    """Build `keys` in `candidate`; they must be loaded."""
    return transform(
        candidate,
        keys,
        pipeline=pipeline.name,
        feeds=pipeline.feeds,
        zone=pipeline.source.timezone,
        landing=pipeline.landing,
        warehouse=pipeline.warehouse,
        project=pipeline.project,
    )


def validate_candidate(pipeline: Pipeline, candidate: Candidate) -> Validation:
    return validate(
        candidate,
        feeds=pipeline.feeds,
        partitions=pipeline.partitions,
        landing=pipeline.landing,
        rules=pipeline.rules,
    )


def publish_candidate(pipeline: Pipeline, candidate: Candidate, run: Run) -> Publication:
    return publish(
        candidate,
        pipeline.marts,
        messages=pipeline.messages,
        tables_read=pipeline.tables_read,
        warehouse=pipeline.warehouse,
        run=run,
    )
