"""What the publishing step does besides publishing: it says which messages contradict each other,
and lets the lake follow.

What is published is published: nothing in here makes the step try again, since it would find nothing
to publish then.
"""

from __future__ import annotations

from collections.abc import Mapping

import dagster as dg

from customer_pipeline.orchestration.events import check_spec
from customer_pipeline.orchestration.pipeline import Pipeline
from customer_pipeline.orchestration.specs import mart_key
from customer_pipeline.outcomes import CheckResult
from customer_pipeline.stages.messages import Redelivered

_NO_CONFLICTS = "messages_do_not_conflict"


def message_checks(pipeline: Pipeline) -> list[dg.AssetCheckSpec]:
    """The checks of marts of messages, as Dagster is told of them before a run."""
    return [
        check_spec(
            _NO_CONFLICTS,
            mart_key(one.mart),
            description=f"no message of {one.feed} comes again with other content; one that does"
            " not count, and lies in quarantine",
            partitions_def=pipeline.partitions_def,
        )
        for one in pipeline.messages
    ]


def no_conflicts(redelivered: Mapping[str, Redelivered]) -> list[CheckResult]:
    """By partition, whether its messages agree with those that count."""
    return [
        CheckResult(
            _NO_CONFLICTS,
            key,
            passed=not found.conflicts,
            description=f"{found.conflicts} messages differ from the ones delivered first,"
            f" {found.copies} are copies",
            warn_only=True,
            metadata={"conflicts": found.conflicts, "copies": found.copies},
        )
        for key, found in redelivered.items()
    ]


def follow_with_lake(context: dg.AssetExecutionContext, pipeline: Pipeline) -> dg.Failure | None:
    """Bring the lake up to the ledger. What went wrong is returned: it makes the run fail, and no
    partition; the next run makes up for it."""
    try:
        pipeline.lake.follow(pipeline.warehouse, pipeline.name, pipeline.marts)
    except Exception as error:
        context.log.exception("the lake could not follow")
        return dg.Failure(
            "everything is published, but the lake is behind, until the next run makes up for it:"
            f" {error}",
            allow_retries=False,
        )
    return None
