"""What the warehouse knows of a pipeline's partitions, read in one go.

What belongs here: gathering. What does not: what follows from it (`state.py`, `estimate.py`).
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Set
from dataclasses import dataclass, field

import duckdb

from customer_pipeline.warehouse.attempts import Failure, RunTime, failures_of, run_times
from customer_pipeline.warehouse.connection import Warehouse
from customer_pipeline.warehouse.deliveries import LoadedContent, loaded_contents
from customer_pipeline.warehouse.ledger import Published, published_partitions
from customer_pipeline.warehouse.schema import has_ledger
from customer_pipeline.warehouse.waivers import Waiver, waivers_of


@dataclass(frozen=True)
class Known:
    """Everything by partition key; what raw holds by feed, too. `run_times` are of the newest runs."""

    published: Mapping[str, Published] = field(default_factory=dict)
    failures: Mapping[str, Failure] = field(default_factory=dict)
    waivers: Mapping[str, Waiver] = field(default_factory=dict)
    loaded: Mapping[str, Mapping[str, LoadedContent]] = field(default_factory=dict)
    run_times: tuple[RunTime, ...] = ()

    @property
    def tried(self) -> Set[str]:
        """The partitions that somebody has ever asked for."""
        return self.published.keys() | self.failures.keys()


def read_known(warehouse: Warehouse, pipeline: str, feeds: Iterable[str]) -> Known:
    """What is known of `pipeline` and of the deliveries of its `feeds`; nothing, before its first
    run.

    Raises:
        TransientError: the warehouse is held.
        ConfigError: it is no DuckDB file.
    """
    if not warehouse.exists:
        return Known()
    with warehouse.read() as connection:
        return known_from(connection, pipeline, feeds)


def known_from(connection: duckdb.DuckDBPyConnection, pipeline: str, feeds: Iterable[str]) -> Known:
    """The same from a warehouse that is open already."""
    if not has_ledger(connection):
        return Known()
    return Known(
        published_partitions(connection, pipeline),
        failures_of(connection, pipeline),
        waivers_of(connection, pipeline),
        loaded_contents(connection, feeds),
        tuple(run_times(connection, pipeline)),
    )
