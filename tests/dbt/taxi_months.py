"""Four months of a made-up taxi company: raw trips, and what the tables must hold then.

The trips have what makes the rules hard: payment codes with white space, unknown ones and none,
trips that were given back, equal trips, and an average distance with a half in its last digit.
"""

from __future__ import annotations

import random
from collections.abc import Iterable, Sequence
from dataclasses import astuple, dataclass, replace
from datetime import UTC, date, datetime, time, timedelta
from decimal import ROUND_HALF_UP, Decimal

MONTHS = (date(2025, 1, 1), date(2025, 12, 1), date(2026, 1, 1), date(2026, 2, 1))
TRIPS_A_MONTH = 160
WORDS = {
    "1": "credit card",
    "2": "cash",
    "3": "no charge",
    "4": "dispute",
    "5": "unknown",
    "6": "voided",
}


@dataclass(frozen=True)
class Trip:
    """A row of raw.trips."""

    _date: date
    _line: int | None
    vendor_id: str | None
    picked_up_at: datetime
    dropped_off_at: datetime
    passengers: int | None
    distance: Decimal | None
    rate_code: str | None
    store_and_forward: str | None
    pickup_zone: str | None
    dropoff_zone: str | None
    payment_type: str | None
    fare_amount: Decimal
    extra: Decimal
    mta_tax: Decimal
    tip_amount: Decimal
    tolls_amount: Decimal
    improvement_surcharge: Decimal
    total_amount: Decimal
    congestion_surcharge: Decimal | None


def taxi_months(seed: int) -> list[Trip]:
    """The raw trips of all four months."""
    rng = random.Random(seed)
    return [
        trip
        for month in MONTHS
        for trip in _rounded_up([_trip(rng, month, 2 + n) for n in range(TRIPS_A_MONTH)])
    ]


def expected_trips_marts(trips: Iterable[Trip]) -> dict[str, list[tuple]]:
    """All rows of the marts, sorted."""
    cleaned = [_clean(trip) for trip in trips]
    months = sorted({trip._date for trip in cleaned})
    return {
        "trips_clean": sorted(map(astuple, cleaned), key=repr),
        "trips_monthly": [
            _monthly(month, [trip for trip in cleaned if trip._date == month]) for month in months
        ],
    }


def expected_trips_summary(months: Iterable[tuple]) -> list[tuple]:
    """All rows of `reporting.trips_summary`, sorted, from those of `marts.trips_monthly`."""
    revenue = {month: revenue for month, _, _, revenue, *_ in months}
    return [
        (
            month,
            trips,
            income,
            average_distance,
            cash_share,
            sum(revenue[one] for one in revenue if one.year == month.year and one <= month),
            before := revenue.get(month.replace(year=month.year - 1)),
            rounded((income - before) / before * 100, "0.01") if before and before > 0 else None,
        )
        for month, trips, _, income, average_distance, cash_share in sorted(months)
    ]


def rounded(number: Decimal, unit: str) -> Decimal:
    return number.quantize(Decimal(unit), ROUND_HALF_UP)


def _trip(rng: random.Random, month: date, line: int) -> Trip:
    start = datetime.combine(month, time(), UTC) + timedelta(minutes=rng.randrange(28 * 1440))
    sign = rng.choice([1] * 9 + [-1])
    return Trip(
        _date=month,
        _line=line,
        vendor_id=rng.choice(["1", " 2", "", None]),
        picked_up_at=start,
        dropped_off_at=start + timedelta(minutes=rng.randrange(90)),
        passengers=rng.choice([None, 0, 1, 2]),
        distance=Decimal(rng.randrange(2000)) / 100,
        rate_code=rng.choice(["1", "99", " ", None]),
        store_and_forward=rng.choice(["N", "Y\r", "", None]),
        pickup_zone=rng.choice(["161", " 007"]),
        dropoff_zone=rng.choice(["236", "\t"]),
        payment_type=rng.choice(["1", "2", " 2 \r\n", "3", "4", "5", "6", "", None]),
        fare_amount=sign * Decimal(rng.randrange(5000)) / 100,
        extra=sign * Decimal("0.5"),
        mta_tax=sign * Decimal("0.5"),
        tip_amount=Decimal(rng.randrange(900)) / 100,
        tolls_amount=Decimal(0),
        improvement_surcharge=sign * Decimal("0.3"),
        total_amount=sign * Decimal(rng.randrange(9000)) / 100,
        congestion_surcharge=rng.choice([None, Decimal("2.5")]),
    )


def _rounded_up(trips: Sequence[Trip]) -> list[Trip]:
    """The trips, the last one so much longer that a half is in the average's fifth digit."""
    *others, last = trips
    total = sum((trip.distance or Decimal(0) for trip in others), Decimal(0))
    # 0.88 / 160 = 0.0055, and 0.04 / 160 = 0.00025.
    unit, half = Decimal(len(trips)) / 100, Decimal("0.04")
    return [*others, replace(last, distance=(-total) % unit + half)]


def _clean(trip: Trip) -> Trip:
    code = _text(trip.payment_type)
    return replace(
        trip,
        vendor_id=_text(trip.vendor_id),
        rate_code=_text(trip.rate_code),
        store_and_forward=_text(trip.store_and_forward),
        pickup_zone=_text(trip.pickup_zone),
        dropoff_zone=_text(trip.dropoff_zone),
        payment_type=code and WORDS.get(code, code),
    )


def _text(value: str | None) -> str | None:
    return (value or "").strip(" \t\r\n") or None


def _monthly(month: date, trips: Sequence[Trip]) -> tuple:
    cash = sum(trip.payment_type == "cash" for trip in trips)
    distance = sum((trip.distance or Decimal(0) for trip in trips), Decimal(0))
    return (
        month,
        len(trips),
        cash,
        sum((trip.total_amount for trip in trips), Decimal(0)),
        rounded(distance / len(trips), "0.0001"),
        rounded(Decimal(cash) / len(trips), "0.0001"),
    )
