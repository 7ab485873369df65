"""From wall-clock time in a zone to instants, in SQL.

What belongs here: what a time without an offset means. What does not: how it is written
(`text_casts.py`).
"""

from __future__ import annotations

from dataclasses import dataclass
from datetime import UTC, timedelta

from customer_pipeline.quoting import literal
from customer_pipeline.source.mapping.sql import let
from customer_pipeline.source.partitions import Window


@dataclass(frozen=True)
class WallClock:
    """The clock on the wall in `zone`. `quick` is a window in which it is never changed.

    A time that the clocks skip in spring is no instant. Of a time that comes twice in autumn it is
    the one that lies in `quick`, and otherwise the second, as DuckDB has it.
    """

    zone: str
    quick: Window | None = None

    @classmethod
    def over(cls, window: Window, zone: str) -> WallClock:
        """The clock in `zone`, quick for times in `window` where that has no change of clocks."""
        begins, ends = window.start.astimezone(UTC), window.end.astimezone(UTC)
        step = timedelta(hours=1)
        moments = [begins + n * step for n in range((ends - begins) // step)]
        # A change at the very end is none in the window.
        moments.append(ends - timedelta.resolution)
        offsets = {moment.astimezone(window.start.tzinfo).utcoffset() for moment in moments}
        # A midnight that the clocks skip has the offset of before.
        steady = offsets == {window.start.utcoffset()}
        return cls(zone, window if steady else None)

    def instant(self, wall: str) -> str:
        """SQL for the TIMESTAMPTZ of the TIMESTAMP `wall`, null for one that does not exist."""
        zone = literal(self.zone)
        # Two look-ups of the zone for each row take longer than all the rest of a feed's mapping.
        exact = "when (wall at time zone {0}) at time zone {0} = wall then wall at time zone {0}"
        quick = ""
        if self.quick is not None:
            start = self.quick.start.replace(tzinfo=None)
            end = start + timedelta(hours=self.quick.hours)
            offset = (self.quick.start.utcoffset() or timedelta(0)) // timedelta(microseconds=1)
            quick = (
                f"when wall >= timestamp '{start}' and wall < timestamp '{end}'"
                f" then make_timestamptz(epoch_us(wall) - {offset}) "
            )
        return let("wall", wall, f"case {quick}{exact.format(zone)} end")
