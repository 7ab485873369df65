"""The lines of the made-up shop's invoices: what was bought, how many of it, at what price.

What belongs here: lines as numbers. What does not: the invoices (`sales.py`), and how the export
writes lines (`sales_export.py`).
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from customer_pipeline.demo.chance import (
    Flags,
    Ints,
    Words,
    below,
    curve,
    one_in,
    pick,
    weighted,
    words,
)
from customer_pipeline.demo.options import Options
from customer_pipeline.demo.sales import GUEST, Invoices
from customer_pipeline.demo.words import (
    BEST_SELLERS,
    CARRIAGE,
    HAND_KEYED,
    HOME,
    PRODUCTS,
)

# Prices in pence by product: many cheap things, few dear ones.
_PRICES = curve(
    (0, 19), (60, 42), (200, 85), (350, 125), (500, 195), (650, 295), (780, 425), (880, 695),
    (950, 995), (985, 1695), (995, 2995), (1000, 12_500)
)  # fmt: skip
_CARRIAGE_PRICES = np.array([1_500, 1_800, 2_800, 4_000])
_HAND_KEYED_PRICES = curve((0, 50), (500, 1_500), (800, 6_000), (950, 35_000), (1000, 420_000))

# Quantities by price (in pence: below 2 pounds, below 5, above), of guests, and sent back.
_CHEAP, _MIDDLE = 200, 500
_OF_CHEAP = weighted(
    {1: 9, 2: 9, 3: 4, 4: 6, 6: 11, 8: 3, 10: 10, 12: 26, 24: 13, 25: 3, 48: 4, 100: 1}
)
_OF_MIDDLE = weighted({1: 20, 2: 20, 3: 8, 4: 10, 5: 2, 6: 20, 8: 5, 10: 4, 12: 9, 24: 2, 36: 1})
_OF_DEAR = weighted({1: 44, 2: 26, 3: 9, 4: 9, 6: 7, 8: 3, 12: 1})
_OF_GUEST = weighted({1: 62, 2: 17, 3: 7, 4: 4, 5: 2, 6: 3, 8: 1, 10: 2, 12: 1, 20: 1})
_RETURNED = weighted({1: 42, 2: 16, 3: 7, 4: 7, 6: 9, 8: 2, 12: 10, 24: 3, 48: 2, 144: 2})
_BULK_FACTORS = np.array([4, 6, 8, 12, 24])

# One line in so many.
_BULK, _FREE, _TWICE = 45, 250, 120
# One invoice in so many begins with such a line (carriage: of those that go abroad).
_HAS_CARRIAGE, _HAS_HAND_KEYED = 2, 45


@dataclass(frozen=True)
class Lines:
    """Lines of invoices, in their order: one array element a line.

    `number` counts the lines of the day from 0 (a line that was written twice has its number
    twice), `invoice` is a position among the invoices, `product` one in the catalogue.
    """

    number: Ints
    invoice: Ints
    product: Ints
    quantity: Ints
    pence: Ints


def lines_of(options: Options, invoices: Invoices, first: int, last: int) -> Lines:
    """The lines of the invoices from position `first` up to (not including) `last`."""
    ends = np.cumsum(invoices.lines)
    starts = ends - invoices.lines
    invoice = np.repeat(np.arange(first, last), invoices.lines[first:last])
    number = np.arange(invoice.size) + (starts[first] if invoice.size else 0)
    position = number - starts[invoice]

    def draw(stream: str) -> Words:
        return words(options.seed, stream, invoices.day, number)

    product = _different_products(draw("product"), draw("best-seller"), invoice - first, position)
    begins = position == 0
    abroad = invoices.country[invoice] != HOME
    product[begins & abroad & one_in(draw("carriage"), _HAS_CARRIAGE)] = CARRIAGE
    product[begins & one_in(draw("hand-keyed"), _HAS_HAND_KEYED)] = HAND_KEYED

    by_guest = invoices.customer[invoice] == GUEST
    cancelled = invoices.cancelled[invoice]
    pence = _prices(options.seed, product, draw("price"), by_guest)
    quantity = _quantities(pence, draw("quantity"), by_guest, cancelled)
    bulk = one_in(draw("bulk"), _BULK) & ~by_guest & ~cancelled
    quantity = np.where(bulk, quantity * pick(_BULK_FACTORS, draw("bulk factor")), quantity)
    pence = np.where(bulk, pence * 17 // 20, pence)
    quantity = np.where(product >= PRODUCTS, np.sign(quantity), quantity)
    if options.zero_prices:
        pence = np.where(one_in(draw("free"), _FREE), 0, pence)

    written = np.ones_like(number)
    if options.duplicate_lines:
        written += one_in(draw("twice"), _TWICE)
    return Lines(
        *(np.repeat(each, written) for each in (number, invoice, product, quantity, pence))
    )


def _different_products(drawn: Words, favoured: Words, invoice: Ints, position: Ints) -> Ints:
    """Products, best-sellers more often, none twice on an invoice (but see `duplicate_lines`).

    Each invoice's products are put in order; where one does not exceed its neighbour, it becomes
    the next one after it.
    """
    rank = below(drawn, below(favoured, BEST_SELLERS) + 1)
    # Far enough apart for a running maximum to begin anew with each invoice.
    floor = invoice * (4 * PRODUCTS)
    rank = np.sort(floor + rank) - position
    return np.maximum.accumulate(rank) + position - floor


def _prices(seed: int, product: Ints, drawn: Words, by_guest: Flags) -> Ints:
    """Prices in pence. Guests pay retail prices, two thirds more."""
    listed = pick(_PRICES, words(seed, "list price", np.arange(PRODUCTS)))
    pence = np.append(listed // 10 * 10 + 5, [0, 0])[product]
    pence = np.where(product == CARRIAGE, pick(_CARRIAGE_PRICES, drawn), pence)
    pence = np.where(product == HAND_KEYED, pick(_HAND_KEYED_PRICES, drawn), pence)
    return np.where(by_guest, pence * 5 // 3, pence)


def _quantities(pence: Ints, drawn: Words, by_guest: Flags, cancelled: Flags) -> Ints:
    """How many of it: the dearer, the fewer. Negative on cancellations."""
    return np.select(
        [cancelled, by_guest, pence < _CHEAP, pence < _MIDDLE],
        [
            -pick(_RETURNED, drawn),
            pick(_OF_GUEST, drawn),
            pick(_OF_CHEAP, drawn),
            pick(_OF_MIDDLE, drawn),
        ],
        pick(_OF_DEAR, drawn),
    )
