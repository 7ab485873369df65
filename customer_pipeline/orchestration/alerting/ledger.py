"""What the ledger says of each pipeline, read for a look.

What belongs here: reading it. What does not: what is told of it (`customer_pipeline/alerts/`).
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from customer_pipeline.errors import PipelineError, TransientError
from customer_pipeline.orchestration.pipeline import Pipeline
from customer_pipeline.planning.known import Known, known_from
from customer_pipeline.warehouse.schema_drift import SchemaDrift, schema_drift


@dataclass(frozen=True)
class Said:
    """Of one pipeline: its partitions, and the columns of its deliveries that are not as declared."""

    known: Known
    drift: Sequence[SchemaDrift]


def read_ledger(
    pipelines: Sequence[Pipeline],
) -> tuple[Mapping[str, Said] | None, PipelineError | None]:
    """What the ledger says, by pipeline; or nothing, of any, with the reason where waiting does not
    help. All pipelines of a location have one warehouse, which is opened once."""
    warehouse = pipelines[0].warehouse_for_a_tick
    if not warehouse.exists:
        return {pipeline.name: Said(Known(), ()) for pipeline in pipelines}, None
    try:
        with warehouse.read() as connection:
            return {
                pipeline.name: Said(
                    known_from(connection, pipeline.name, pipeline.feeds),
                    schema_drift(connection, pipeline.feeds),
                )
                for pipeline in pipelines
            }, None
    except TransientError:
        return None, None
    except PipelineError as error:
        return None, error
