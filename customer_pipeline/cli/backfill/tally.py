"""What a backfill has done so far, by the ledger.

What belongs here: counting. What does not: which of its runs are on their way (`workers.py`).
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import TYPE_CHECKING

from customer_pipeline.warehouse.attempts import Attempt
from customer_pipeline.warehouse.backfills import attempts_of_backfill
from customer_pipeline.warehouse.ledger import Published, published_partitions
from customer_pipeline.warehouse.schema import has_ledger

if TYPE_CHECKING:
    from customer_pipeline.orchestration.pipeline import Pipeline


@dataclass(frozen=True)
class Tally:
    """The partitions of a backfill that are done (published, or empty by rule) and those that failed, each
    with the attempt that says so, and what is published of those that are done."""

    done: Mapping[str, Attempt] = field(default_factory=dict)
    failed: Mapping[str, Attempt] = field(default_factory=dict)
    published: Mapping[str, Published] = field(default_factory=dict)

    @property
    def rows(self) -> int:
        """The source rows of what is done."""
        return sum(one.source_rows for one in self.published.values())


def read_tally(
    pipeline: Pipeline, backfill_id: str, keys: Sequence[str], *, lock_timeout: float | None = None
) -> Tally:
    """What the ledger says of the partitions `keys` in that backfill.

    Args:
        lock_timeout: seconds to wait for the warehouse, if not as long as everywhere.

    Raises:
        TransientError: the warehouse is held.
    """
    warehouse = pipeline.warehouse
    if lock_timeout is not None:
        warehouse = replace(warehouse, lock_timeout=lock_timeout)
    if not warehouse.exists:
        return Tally()
    with warehouse.read() as connection:
        if not has_ledger(connection):
            return Tally()
        attempts = attempts_of_backfill(connection, pipeline.name, backfill_id)
        published = published_partitions(connection, pipeline.name)
    ours = {key: attempts[key] for key in keys if key in attempts}
    done = {key: one for key, one in ours.items() if one.outcome != "failed"}
    return Tally(
        done,
        {key: one for key, one in ours.items() if key not in done},
        {key: published[key] for key in done if key in published},
    )
