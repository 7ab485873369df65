"""What a feed may say about when a delivery counts, as frozen values: may it be missing, and when is
it complete.

What belongs here: the fields a user may write about that, and the rules between them. What does not:
looking at files (`readiness.py`), and what the pipeline does without a delivery (the extract stage).
"""

from __future__ import annotations

import re
from datetime import date
from typing import Annotated, Literal, Self

from pydantic import BeforeValidator, Field, model_validator

from customer_pipeline.source.column import Frozen

Weekday = Literal["monday", "tuesday", "wednesday", "thursday", "friday", "saturday", "sunday"]


def _written_as_day(value: object) -> object:
    # Left to itself, pydantic reads 20260309 as seconds since 1970.
    if type(value) is date or (
        isinstance(value, str) and re.fullmatch(r"[0-9]{4}-[0-9]{2}-[0-9]{2}", value)
    ):
        return value
    raise ValueError(f"{value!r} is not a day; write it as YYYY-MM-DD, such as 2026-03-09")


Day = Annotated[date, BeforeValidator(_written_as_day)]


class EmptyDays(Frozen):
    """The days on which no delivery means an empty day and not a failure."""

    weekdays: tuple[Weekday, ...] = ()
    dates: tuple[Day, ...] = ()


class ReadyWhen(Frozen):
    """How to tell that a file is complete and no longer being written. Exactly one is given.

    `quiet_for`: it was last changed that many seconds ago. `marker`: there is a file at this path,
    and `suffix`: there is one named like the delivery with this at its end; neither may be older
    than the delivery, so that the marker of an earlier file does not vouch for its correction.
    `manifest`: there is a JSON object at this path that states one or more of `rows`, `size` (bytes)
    and `sha256`, and they are the delivery's.
    """

    quiet_for: float | None = Field(default=None, gt=0, strict=True)
    marker: str | None = Field(default=None, min_length=1)
    suffix: str | None = None
    manifest: str | None = Field(default=None, min_length=1)

    @model_validator(mode="after")
    def _exactly_one(self) -> Self:
        *names, last = type(self).model_fields
        if sum(getattr(self, name) is not None for name in (*names, last)) != 1:
            raise ValueError(f"give one of {', '.join(names)} and {last}")
        if self.suffix is not None and not re.fullmatch(r"[^/\s]+", self.suffix):
            raise ValueError("'suffix' is what a file's name ends in, such as .done")
        return self
