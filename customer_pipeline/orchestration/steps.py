"""What every step of a run does around its stage: errors become retries or failures, and the ledger
hears of each casualty, whichever step noticed it.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator
from contextlib import contextmanager
from datetime import UTC, datetime
from functools import partial
from typing import Any

import dagster as dg

from customer_pipeline.durations import seconds_text
from customer_pipeline.errors import PartitionError, PipelineError, TransientError
from customer_pipeline.orchestration.pipeline import Pipeline
from customer_pipeline.outcomes import Casualty, Stage
from customer_pipeline.stages.candidate import Candidate
from customer_pipeline.warehouse.ledger import Run, record_failures
from customer_pipeline.warehouse.schema import ensure_ledger


def step_settings(pipeline: Pipeline) -> dict[str, Any]:
    """One policy for all: a run may hold many partitions, and what is unforeseen is retried."""
    return {
        "backfill_policy": dg.BackfillPolicy.single_run(),
        "retry_policy": dg.RetryPolicy(
            max_retries=pipeline.settings.max_retries, delay=pipeline.retry_delay
        ),
    }


def run_of(context: dg.AssetExecutionContext, pipeline: Pipeline) -> Run:
    """The run that the step is part of, as the ledger knows it."""
    stats = context.instance.get_run_stats(context.run.run_id)
    return pipeline.run(context.run, started_at=getattr(stats, "start_time", None))


def candidate_of(context: dg.AssetExecutionContext, pipeline: Pipeline) -> Candidate:
    """The run's candidate. A run that goes on where another one failed, by hand or because the
    daemon started it again, takes over what that one has built."""
    candidate = pipeline.candidate(context.run.run_id)
    if context.run.parent_run_id:
        candidate.take_over(pipeline.candidate(context.run.parent_run_id))
    return candidate


def may_retry(context: dg.AssetExecutionContext, pipeline: Pipeline) -> bool:
    """Whether this attempt of the step may be followed by another."""
    return context.retry_number < pipeline.settings.max_retries


@contextmanager
def guarded(context: dg.AssetExecutionContext, pipeline: Pipeline, stage: Stage) -> Iterator[None]:
    """Run a stage for the partitions of `context`.

    What may pass by itself is tried again by Dagster (`CUSTOMER_PIPELINE_MAX_RETRIES` times, each
    after `CUSTOMER_PIPELINE_RETRY_DELAY`); what a retry cannot mend fails at once, in one sentence;
    anything unforeseen is retried too. All partitions of the run are recorded as failed, unless
    another attempt follows and says otherwise.
    """
    try:
        with retried_or_failed(context, pipeline, partial(_record_all, context, pipeline, stage)):
            _refuse_what_is_no_partition(context, pipeline)
            yield
    except (dg.Failure, dg.RetryRequested):
        raise
    except Exception as error:
        if not may_retry(context, pipeline):
            _record_all(context, pipeline, stage, f"{type(error).__name__}: {error}")
        raise


@contextmanager
def retried_or_failed(
    context: dg.AssetExecutionContext,
    pipeline: Pipeline,
    give_up: Callable[[str], None] = lambda _reason: None,
) -> Iterator[None]:
    """Turn the pipeline's own errors into another attempt, or into a failure in one sentence.

    Args:
        give_up: called with the reason before the step fails.
    """
    try:
        yield
    except PartitionError as error:
        # There are no such partitions, so there is nothing to give up.
        raise dg.Failure(str(error), allow_retries=False) from None
    except TransientError as error:
        if may_retry(context, pipeline):
            context.log.warning(f"trying again in {seconds_text(pipeline.retry_delay)}: {error}")
            raise dg.RetryRequested(pipeline.settings.max_retries, pipeline.retry_delay) from error
        give_up(str(error))
        raise dg.Failure(str(error), allow_retries=False) from None
    except PipelineError as error:
        give_up(str(error))
        raise dg.Failure(str(error), allow_retries=False) from error.__cause__


def record(
    context: dg.AssetExecutionContext, pipeline: Pipeline, casualties: Iterable[Casualty]
) -> None:
    """Note casualties of this run in the ledger, and in the run's log."""
    found = list(casualties)
    if not found:
        return
    for casualty in found:
        context.log.error(f"{casualty.partition_key} ({casualty.stage}): {casualty.reason}")
    with pipeline.warehouse.write() as connection:
        ensure_ledger(connection)
        record_failures(connection, run_of(context, pipeline), found)


def _refuse_what_is_no_partition(context: dg.AssetExecutionContext, pipeline: Pipeline) -> None:
    """A range in the tags of a run reaches a step as it is: Dagster checks single keys only."""
    try:
        keys = context.partition_keys
    except Exception as error:
        raise PartitionError(
            str(error), todo=f"ask for {pipeline.partitions.noun}s inside the source's range"
        ) from error
    newest = pipeline.partitions.window(keys[-1])
    if newest.end > datetime.now(UTC):
        raise PartitionError(
            f"{newest.key} is not over yet",
            todo=f"it can be run from {newest.end:%Y-%m-%d %H:%M} ({newest.end.tzinfo}) on",
        )


def _record_all(
    context: dg.AssetExecutionContext, pipeline: Pipeline, stage: Stage, reason: str
) -> None:
    try:
        record(context, pipeline, [Casualty(key, stage, reason) for key in context.partition_keys])
    except PipelineError as error:
        # The ledger itself cannot be written: the run's own failure still says what happened.
        context.log.error(f"the ledger could not be told: {error}")
