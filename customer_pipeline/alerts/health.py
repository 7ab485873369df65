"""How telling is doing: what is pending. For whoever asks from outside, such as `doctor`: it needs
neither Dagster nor the warehouse.
"""

from __future__ import annotations

from dataclasses import dataclass

from customer_pipeline.alerts.outbox import Delivery, deliveries
from customer_pipeline.alerts.store import Store

_NEWEST = 1000


@dataclass(frozen=True)
class Health:
    """`pending` is what some channel has not taken (yet)."""

    pending: tuple[Delivery, ...]

    @property
    def refused(self) -> tuple[Delivery, ...]:
        """What a channel was offered and did not take."""
        return tuple(one for one in self.pending if one.attempts)


def health(store: Store) -> Health:
    """How telling is doing.

    Raises:
        ConfigError: the file of alerts cannot be used.
    """
    if not store.exists:
        return Health(())
    with store.transaction() as connection:
        found = deliveries(connection, limit=_NEWEST)
    return Health(tuple(one for one in found if one.told_at is None))
