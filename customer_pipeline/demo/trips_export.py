"""The trips of a month as the made-up shop's taxis report them: text in every column.

What belongs here: how trips are written, and the flaws of writing. What does not: the trips
(`trips.py`).
"""

from __future__ import annotations

from collections.abc import Iterator

import pyarrow as pa

from customer_pipeline.demo.chance import Flags, Ints, below, words
from customer_pipeline.demo.opening_days import day_number
from customer_pipeline.demo.options import Options
from customer_pipeline.demo.texts import (
    clock_texts,
    digits,
    either,
    joined,
    plain,
    texts_at,
)
from customer_pipeline.demo.trips import Trips, trip_count, trips_of
from customer_pipeline.source.partitions import Window

# Large deliveries are made and handed over piece by piece.
_TRIPS_A_PIECE = 200_000

_ZONES = 263
_BAD_TIMES = ["0000-00-00T00:00:00", "2025-02-30T10:15:00", "not known", "T09:30"]
_BAD_DISTANCES = ["n/a", "1.2.5", "--", "O.9"]
_BAD_TOTALS = ["#REF!", "?", "14,3O", "by account"]


def trip_tables(options: Options, window: Window) -> Iterator[pa.Table]:
    """The trips of a month, in pieces (at least one, which may have no rows)."""
    count = trip_count(options, window)
    for first in range(0, max(count, 1), _TRIPS_A_PIECE):
        last = min(first + _TRIPS_A_PIECE, count)
        yield _written(options, window, trips_of(options, window, first, last))


def _written(options: Options, window: Window, trips: Trips) -> pa.Table:
    month = day_number(window.start.date())

    def drawn(stream: str, limit: int) -> Ints:
        return below(words(options.seed, f"trip: {stream}", month, trips.number), limit)

    def unless_unknown(texts: pa.Array) -> pa.Array:
        return either(trips.is_unknown, None, texts)

    picked_up, distance = _time(trips.picked_up), _decimal(trips.distance)
    total = _decimal(trips.total)
    kind = drawn("what is unreadable", 3)
    return pa.table(
        {
            "Vendor": unless_unknown(plain(1 + drawn("vendor", 2))),
            "Picked Up": _spoilt(picked_up, trips, kind == 0, _BAD_TIMES),
            "Dropped Off": _time(trips.dropped_off),
            "Passengers": unless_unknown(plain(trips.passengers)),
            "Miles": _spoilt(distance, trips, kind == 1, _BAD_DISTANCES),
            "Rate": unless_unknown(texts_at(["1"], 0 * trips.number)),
            "Sent Later": unless_unknown(either(drawn("sent later", 150) == 0, "Y", "N")),
            "From Zone": plain(1 + drawn("from zone", _ZONES)),
            "To Zone": plain(1 + drawn("to zone", _ZONES)),
            "Payment": unless_unknown(plain(trips.payment)),
            "Fare": _decimal(trips.fare),
            "Extra": _decimal(trips.extra),
            "Transport Tax": _decimal(trips.tax),
            "Tip": _decimal(trips.tip),
            "Tolls": _decimal(trips.tolls),
            "Improvement": _decimal(trips.improvement),
            "Total": _spoilt(total, trips, kind == 2, _BAD_TOTALS),
            "Congestion": _decimal(trips.congestion),
        }
    )


def _time(seconds: Ints) -> pa.Array:
    """`2025-06-12T14:25:07`, wall-clock time."""
    return clock_texts(seconds // 86_400, seconds % 86_400)


def _decimal(hundredths: Ints) -> pa.Array:
    """`-12.05`."""
    size = abs(hundredths)
    sign = either(hundredths < 0, "-", texts_at([""], 0 * hundredths))
    return joined(sign, plain(size // 100), ".", digits(size % 100, 2))


def _spoilt(texts: pa.Array, trips: Trips, chosen: Flags, bad: list[str]) -> pa.Array:
    which = trips.is_unreadable & chosen
    return either(which, texts_at(bad, trips.number % len(bad)), texts)
