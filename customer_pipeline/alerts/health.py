"""How telling is doing: what is pending, and whether anybody looks. For whoever asks from outside,
such as `doctor`: it needs neither Dagster nor the warehouse.
"""

from __future__ import annotations

from dataclasses import dataclass
from datetime import UTC, datetime

from customer_pipeline.alerts.outbox import Delivery, deliveries
from customer_pipeline.alerts.store import Store, note_of

_NEWEST = 1000


@dataclass(frozen=True)
class Health:
    """`pending` is what some channel has not taken (yet); `looked_at` when somebody looked last, None
    for never."""

    pending: tuple[Delivery, ...]
    looked_at: datetime | None

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
        return Health((), None)
    with store.transaction() as connection:
        found = deliveries(connection, limit=_NEWEST)
        looked = note_of(connection, "looked_at")
    return Health(
        tuple(one for one in found if one.told_at is None),
        datetime.fromtimestamp(float(looked), UTC) if looked else None,
    )
