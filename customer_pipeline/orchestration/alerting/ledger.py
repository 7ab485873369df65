"""What the ledger says of each pipeline, read for a look.

What belongs here: reading it. What does not: what is told of it (`customer_pipeline/alerts/`).
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace

from customer_pipeline.errors import PipelineError, TransientError
from customer_pipeline.orchestration.pipeline import Pipeline
from customer_pipeline.planning.known import Known, read_known
from customer_pipeline.warehouse.schema_drift import SchemaDrift, schema_drift

# Seconds. A tick must be short; the next one looks again.
_LOCK_TIMEOUT = 5


@dataclass(frozen=True)
class Said:
    """Of one pipeline: its partitions, and the columns of its deliveries that are not as declared."""

    known: Known
    drift: Sequence[SchemaDrift]


def read_ledger(
    pipelines: Sequence[Pipeline],
) -> tuple[Mapping[str, Said] | None, PipelineError | None]:
    """What the ledger says, by pipeline; or nothing, of any, with the reason where waiting does not
    help."""
    try:
        return {pipeline.name: _said_of(pipeline) for pipeline in pipelines}, None
    except TransientError:
        return None, None
    except PipelineError as error:
        return None, error


def _said_of(pipeline: Pipeline) -> Said:
    warehouse = replace(pipeline.warehouse, lock_timeout=_LOCK_TIMEOUT)
    known = read_known(warehouse, pipeline.name, pipeline.feeds)
    if not warehouse.exists:
        return Said(known, ())
    with warehouse.read() as connection:
        return Said(known, schema_drift(connection, pipeline.feeds))
