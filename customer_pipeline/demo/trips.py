"""The month's trips of the made-up shop's taxis: when, how far, for how much, and how it was paid.

What belongs here: trips as numbers. What does not: how the export writes them (`trips_export.py`).
The shares and curves are those of New York's yellow taxis, and so are the fares.
"""

from __future__ import annotations

from dataclasses import dataclass, fields
from typing import Any

import numpy as np

from customer_pipeline.demo.chance import (
    Flags,
    Ints,
    Words,
    below,
    curve,
    one_in,
    one_of_each,
    pick,
    weighted,
    words,
)
from customer_pipeline.demo.opening_days import day_number
from customer_pipeline.demo.options import MICRO, Options
from customer_pipeline.demo.wall_clock import HOUR, wall_clock
from customer_pipeline.source.partitions import Window

CARD, CASH, NO_CHARGE, DISPUTE = 1, 2, 3, 4

_TRIPS_A_MONTH = 3_000
_MONTH_TO_MONTH = curve((0, 91), (500, 100), (1000, 110))  # per cent
# Trips by the hour that the clock on the wall shows.
_HOURS = np.array(
    [38, 27, 19, 13, 10, 10, 22, 37, 46, 46, 45, 47,
     49, 49, 51, 48, 43, 53, 63, 63, 57, 57, 56, 49]
)  # fmt: skip
_RUSH_HOURS, _NIGHT_HOURS = (16, 20), (20, 6)

# In hundredths of a mile, and seconds per mile.
_DISTANCES = curve(
    (0, 25), (250, 98), (500, 161), (750, 295), (900, 715), (960, 1_080), (990, 1_840), (1000, 2_900)
)  # fmt: skip
_PACES = curve((0, 130), (100, 210), (500, 320), (900, 470), (1000, 700))
_PASSENGERS = weighted({1: 715, 2: 150, 3: 40, 4: 20, 5: 40, 6: 25, 0: 10})
_PAYMENTS = weighted({CARD: 720, CASH: 271, NO_CHARGE: 5, DISPUTE: 4})
_TIPS = curve((0, 0), (40, 0), (60, 10), (350, 17), (700, 20), (950, 25), (1000, 45))  # per cent

_FAR = 900  # in hundredths of a mile
# One trip in so many (tolls: of those that go far).
_REFUNDED, _WITHOUT_PAYMENT, _WITH_TOLLS, _OUTSIDE_THE_CENTRE = 250, 100, 3, 12
# Exactly one trip of each so many, so that no month's share in quarantine is ever above that.
_OUTSIDE, _UNREADABLE = 400, 500

_AMOUNTS = ("fare", "extra", "tax", "tip", "tolls", "improvement", "congestion")


@dataclass(frozen=True)
class Trips:
    """Trips of one month, in the order of the delivery: one array element a trip.

    `number` counts the trips of the month from 0; one that was given back is there twice, the second
    time with negative amounts. Times are in seconds since 1970-01-01T00:00:00 as the clock on the
    wall shows them, `distance` is in hundredths of a mile, amounts are in cents. Where `is_unknown`,
    nobody says by whom, for whom and how the trip was paid.
    """

    number: Ints
    picked_up: Ints
    dropped_off: Ints
    distance: Ints
    passengers: Ints
    payment: Ints
    is_unknown: Flags
    is_unreadable: Flags
    fare: Ints
    extra: Ints
    tax: Ints
    tip: Ints
    tolls: Ints
    improvement: Ints
    congestion: Ints

    @property
    def total(self) -> Ints:
        return np.sum([getattr(self, name) for name in _AMOUNTS], axis=0)


def trip_count(options: Options, window: Window) -> int:
    """Trips of a month, a fraction of one left to chance, so that small scales are right."""
    month = day_number(window.start.date())
    per_cent = int(pick(_MONTH_TO_MONTH, words(options.seed, "trips of the month", month))[0])
    whole, fraction = divmod(_TRIPS_A_MONTH * options.scale_micro * per_cent // 100, MICRO)
    return whole + int(below(words(options.seed, "fraction of a trip", month), MICRO)[0] < fraction)


def trips_of(options: Options, window: Window, first: int, last: int) -> Trips:
    """The trips of a month from number `first` up to (not including) `last`."""
    month, count = day_number(window.start.date()), trip_count(options, window)
    number = np.arange(first, last)

    def draw(stream: str) -> Words:
        return words(options.seed, f"trip: {stream}", month, number)

    def one_of(stream: str, size: int) -> Flags:
        drawn = words(options.seed, f"trip: {stream}", month, number // size)
        return one_of_each(drawn, number, size, count)

    began = _began(window, draw("hour"), draw("second"))
    if options.trips_outside_month:
        outside = one_of("outside", _OUTSIDE)
        began = np.where(outside, _before_or_after(window, draw("how far outside")), began)
    picked_up = wall_clock(window.start, began)
    distance = pick(_DISTANCES, draw("distance"))
    seconds = 40 + distance * pick(_PACES, draw("pace")) // 100
    payment = pick(_PAYMENTS, draw("payment"))
    is_unknown = one_in(draw("unknown"), _WITHOUT_PAYMENT) & options.trips_without_payment
    # So much to begin with, and again for each fifth of a mile and for each five minutes.
    fare = 250 + 50 * (distance // 20) + 50 * (seconds // 300)
    paid_by_card = (payment == CARD) & ~is_unknown
    far, central = distance > _FAR, ~one_in(draw("centre"), _OUTSIDE_THE_CENTRE)
    trips = Trips(
        number=number,
        picked_up=picked_up,
        dropped_off=wall_clock(window.start, began + seconds),
        distance=distance,
        passengers=pick(_PASSENGERS, draw("passengers")),
        payment=payment,
        is_unknown=is_unknown,
        is_unreadable=one_of("unreadable", _UNREADABLE) & options.unreadable_trips,
        fare=fare,
        extra=_extra(picked_up // HOUR % 24),
        tax=np.full_like(number, 50),
        tip=np.where(paid_by_card, fare * pick(_TIPS, draw("tip")) // 100, 0),
        tolls=np.where(far & one_in(draw("tolls"), _WITH_TOLLS), 612, 0),
        improvement=np.full_like(number, 30),
        congestion=np.where(central, 250, 0),
    )
    refunded = one_in(draw("refunded"), _REFUNDED) & options.refunded_trips
    return _with_refunds(trips, refunded)


def _began(window: Window, hour: Words, second: Words) -> Ints:
    """Seconds from the window's start to each trip's, more often at busy hours."""
    hours = np.arange(round(window.hours))
    shown = wall_clock(window.start, hours * HOUR) // HOUR % 24
    return pick(np.repeat(hours, _HOURS[shown]), hour) * HOUR + below(second, HOUR)


def _before_or_after(window: Window, drawn: Words) -> Ints:
    """The same for trips that began in the hour before the window, or in the hour after it."""
    second = below(drawn, 2 * HOUR) - HOUR
    return np.where(second < 0, second, round(window.hours) * HOUR + second)


def _extra(hour: Ints) -> Ints:
    rush = (hour >= _RUSH_HOURS[0]) & (hour < _RUSH_HOURS[1])
    night = (hour >= _NIGHT_HOURS[0]) | (hour < _NIGHT_HOURS[1])
    return np.select([rush, night], [100, 50], 0)


def _with_refunds(trips: Trips, refunded: Flags) -> Trips:
    """The trips, those that were given back a second time right behind the first."""
    place = np.repeat(np.arange(refunded.size), 1 + refunded)
    is_refund = np.diff(place, prepend=-1) == 0
    columns: dict[str, Any] = {
        each.name: getattr(trips, each.name)[place] for each in fields(trips)
    }
    for name in _AMOUNTS:
        columns[name] *= np.where(is_refund, -1, 1)
    columns["payment"] = np.where(is_refund, DISPUTE, columns["payment"])
    return Trips(**columns)
