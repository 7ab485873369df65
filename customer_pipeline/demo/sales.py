"""The day's invoices of the made-up shop: when, to whom, from which country, with how many lines.

What belongs here: everything that is known per invoice, without its lines. What does not: the lines
(`sale_lines.py`). The shares and curves are those of a real shop of this kind: weekday pattern,
guests who buy little or a great deal, days on which nearly all or no invoices lack a customer.
"""

from __future__ import annotations

from dataclasses import dataclass
from math import prod

import numpy as np

from customer_pipeline.demo.chance import (
    Flags,
    Ints,
    Words,
    below,
    curve,
    pick,
    weighted,
    words,
)
from customer_pipeline.demo.opening_days import date_of
from customer_pipeline.demo.options import MICRO, Options
from customer_pipeline.demo.people import People
from customer_pipeline.demo.profiles import country_positions
from customer_pipeline.demo.words import COUNTRY_TABLE

GUEST = -1

_INVOICES_A_DAY = 84
# Per cent of an average day: Monday to Sunday, and January to December.
_WEEKDAYS = (102, 106, 98, 110, 90, 62, 45)
_MONTHS = (82, 84, 93, 97, 102, 97, 96, 94, 112, 122, 140, 118)
_DAY_TO_DAY = curve((0, 62), (100, 76), (300, 90), (500, 100), (700, 109), (900, 126), (1000, 155))
# Per mille of a day's invoices.
_CANCELLED = curve((0, 20), (100, 54), (250, 85), (500, 140), (750, 200), (900, 270), (1000, 330))
_BY_GUESTS = curve((0, 0), (100, 15), (250, 70), (500, 160), (750, 240), (900, 320), (1000, 430))

_HOURS = weighted(
    {7: 2, 8: 23, 9: 70, 10: 115, 11: 128, 12: 146, 13: 124, 14: 120, 15: 126, 16: 78, 17: 47,
     18: 12, 19: 10}
)  # fmt: skip
_LINES = curve(
    (0, 1), (100, 2), (250, 6), (500, 14), (750, 26), (900, 44), (950, 58), (990, 94), (1000, 280)
)
_GUEST_LINES = curve((0, 1), (500, 1), (620, 8), (750, 24), (900, 120), (950, 180), (1000, 460))
_CANCELLED_LINES = curve((0, 1), (600, 1), (750, 2), (900, 4), (950, 6), (990, 15), (1000, 40))


@dataclass(frozen=True)
class Invoices:
    """The invoices of one day in the order of their time: one array element an invoice.

    `minute` counts from midnight, `customer` is a customer's number or `GUEST`, `country` a
    position in `COUNTRIES`, `lines` how many lines the invoice has.
    """

    day: int
    minute: Ints
    cancelled: Flags
    customer: Ints
    country: Ints
    lines: Ints

    @property
    def customers(self) -> Ints:
        """The customers among the buyers, each once, in the order of their numbers."""
        return np.unique(self.customer[self.customer != GUEST])


def invoices_of(options: Options, people: People, day: int) -> Invoices:
    """The invoices of an open day (`people` are all until that day)."""
    active = people.active_on(day)
    number = np.arange(_invoice_count(options, day) if active.size else 0)

    def draw(stream: str) -> Words:
        return words(options.seed, stream, day, number)

    minute = np.sort(pick(_HOURS, draw("hour")) * 60 + below(draw("minute"), 60))
    cancelled = below(draw("cancelled"), 1000) < _of_the_day(options, "cancelled", day, _CANCELLED)
    by_guest = below(draw("guest"), 1000) < _of_the_day(options, "guests", day, _BY_GUESTS)
    cancelled &= options.cancellations
    by_guest &= options.missing_customers & ~cancelled
    # A position below a position: the longer somebody has been a customer, the more they buy.
    regular = below(draw("regular"), below(draw("acquaintance"), active.size) + 1)
    buyer = active[below(draw("buyer"), regular + 1)]
    customer = np.where(by_guest, GUEST, buyer)
    country = np.where(
        by_guest,
        pick(COUNTRY_TABLE, draw("guest country")),
        country_positions(options, buyer, day),
    )
    lines = np.where(by_guest, pick(_GUEST_LINES, draw("lines")), pick(_LINES, draw("lines")))
    lines = np.where(cancelled, pick(_CANCELLED_LINES, draw("lines")), lines)
    return Invoices(day, minute, cancelled, customer, country, lines)


def _invoice_count(options: Options, day: int) -> int:
    """Invoices of a day, a fraction of one left to chance, so that small scales are right."""
    date = date_of(day)
    per_cent = (
        _WEEKDAYS[date.weekday()],
        _MONTHS[date.month - 1],
        _of_the_day(options, "bustle", day, _DAY_TO_DAY),
    )
    micro = _INVOICES_A_DAY * options.scale_micro * prod(per_cent) // 100 ** len(per_cent)
    whole, fraction = divmod(micro, MICRO)
    return whole + int(below(words(options.seed, "fraction", day), MICRO)[0] < fraction)


def _of_the_day(options: Options, stream: str, day: int, table: Ints) -> int:
    """A figure of the day as a whole."""
    return int(pick(table, words(options.seed, f"{stream} of the day", day))[0])
