"""What a user may set for the made-up shop and its taxis: seed, size, and which flaws the data has.

What belongs here: the options, their defaults, and the error for a wrong one. What does not: what
an option does to the data (see the module of the feed).
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from pydantic import BaseModel, ConfigDict, Field, ValidationError

from customer_pipeline.errors import ConfigError

MICRO = 1_000_000


class Options(BaseModel):
    """The options of the demo source. The switches name flaws that real deliveries have."""

    model_config = ConfigDict(frozen=True, extra="forbid")

    seed: int = 1
    # 1 is the size of a real small shop: some 1,500 order lines and 80 invoices a day, and 3,000 trips
    # of its taxis a month.
    scale: float = Field(default=1, ge=0, le=100_000)

    closed_days: bool = True
    cancellations: bool = True
    missing_customers: bool = True
    missing_descriptions: bool = True
    untrimmed_texts: bool = True
    zero_prices: bool = True
    duplicate_lines: bool = True
    unreadable_values: bool = True
    duplicate_customers: bool = True
    late_events: bool = True
    redelivered_events: bool = True
    conflicting_events: bool = True
    shuffled_events: bool = True
    trips_outside_month: bool = True
    refunded_trips: bool = True
    trips_without_payment: bool = True
    unreadable_trips: bool = True

    @property
    def scale_micro(self) -> int:
        """The scale in millionths, so that all that follows is integer arithmetic."""
        return round(self.scale * MICRO)


def parse_options(given: Mapping[str, Any]) -> Options:
    """The options as values.

    Raises:
        ConfigError: for an unknown option, or a value that it cannot have.
    """
    try:
        return Options.model_validate(dict(given))
    except ValidationError as error:
        problems = "; ".join(
            f"{'.'.join(map(str, each['loc']))}: {each['msg']}" for each in error.errors()
        )
        raise ConfigError(
            f"the demo source cannot work with these options: {problems}",
            where="options of a demo feed",
            todo=f"the options are {', '.join(Options.model_fields)}",
        ) from error
