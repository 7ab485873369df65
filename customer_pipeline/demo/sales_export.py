"""The order lines of a day as the made-up shop's export writes them: text in every column.

What belongs here: how orders are written, and the flaws of writing. What does not: what was sold
(`sales.py`, `sale_lines.py`).
"""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np
import pyarrow as pa

from customer_pipeline.demo.chance import (
    Flags,
    below,
    one_in,
    one_of_each,
    words,
)
from customer_pipeline.demo.opening_days import date_of
from customer_pipeline.demo.options import Options
from customer_pipeline.demo.people import people_until
from customer_pipeline.demo.profiles import customer_ids
from customer_pipeline.demo.sale_lines import Lines, lines_of
from customer_pipeline.demo.sales import GUEST, Invoices, invoices_of
from customer_pipeline.demo.texts import digits, either, joined, plain, texts_at
from customer_pipeline.demo.words import (
    COUNTRIES,
    DESCRIPTION_SPELLINGS,
    DESCRIPTIONS,
    STOCK_CODES,
)

# Some 400,000 lines: large deliveries are made and handed over piece by piece.
_INVOICES_A_PIECE = 20_000

# One line in so many.
_NO_DESCRIPTION, _UNTRIMMED, _UNREADABLE = 250, 5, 500
_BAD_QUANTITIES = ["n/a", "twelve", "1O", "2-4"]
_BAD_DATES = ["31/02/2025 10:15", "00/00/0000 00:00", "not known", "13:45"]
_BAD_PRICES = ["#REF!", "on request", "1.2.5", "?"]


def order_tables(options: Options, day: int) -> Iterator[pa.Table]:
    """The order lines of an open day, in pieces (at least one, which may have no rows)."""
    invoices = invoices_of(options, people_until(options, day), day)
    count = invoices.lines.size
    for first in range(0, max(count, 1), _INVOICES_A_PIECE):
        last = min(first + _INVOICES_A_PIECE, count)
        yield _written(options, invoices, lines_of(options, invoices, first, last))


def _written(options: Options, invoices: Invoices, lines: Lines) -> pa.Table:
    quantity = plain(lines.quantity)
    ordered = texts_at(_times(invoices), lines.invoice)
    price = joined(plain(lines.pence // 100), digits(lines.pence % 100, 2), separator=".")
    if options.unreadable_values:
        unreadable = _unreadable(options, invoices, lines)
        kind = below(words(options.seed, "what is unreadable", invoices.day, lines.number), 3)
        quantity = _spoilt(quantity, unreadable & (kind == 0), _BAD_QUANTITIES, lines)
        ordered = _spoilt(ordered, unreadable & (kind == 1), _BAD_DATES, lines)
        price = _spoilt(price, unreadable & (kind == 2), _BAD_PRICES, lines)
    return pa.table(
        {
            "Order No": texts_at(_order_ids(invoices), lines.invoice),
            "Stock Code": texts_at(STOCK_CODES, lines.product),
            "Description": _descriptions(options, invoices.day, lines),
            "Qty": quantity,
            "Order Date": ordered,
            "Unit Price": price,
            "Customer No": texts_at(_customers(invoices), lines.invoice),
            "Country": texts_at(COUNTRIES, invoices.country[lines.invoice]),
        }
    )


def _order_ids(invoices: Invoices) -> pa.Array:
    """`250310-0042`, cancellations with a C in front."""
    prefix = f"{date_of(invoices.day):%y%m%d}-"
    letter = either(invoices.cancelled, "C", "")
    number = digits(np.arange(1, invoices.minute.size + 1), 4)
    return joined(letter, prefix, number)


def _times(invoices: Invoices) -> pa.Array:
    """`10/03/2025 14:25`, wall-clock time."""
    hour, minute = np.divmod(invoices.minute, 60)
    clock = joined(digits(hour, 2), digits(minute, 2), separator=":")
    return joined(f"{date_of(invoices.day):%d/%m/%Y} ", clock)


def _customers(invoices: Invoices) -> pa.Array:
    return either(invoices.customer == GUEST, None, customer_ids(invoices.customer))


def _descriptions(options: Options, day: int, lines: Lines) -> pa.Array:
    """Descriptions, some of them with spaces too many, few of them missing."""
    spelling = np.zeros_like(lines.number)
    if options.untrimmed_texts:
        drawn = words(options.seed, "spelling", day, lines.number)
        hasty = 1 + drawn.astype(np.int64) % (DESCRIPTION_SPELLINGS - 1)
        spelling = np.where(one_in(drawn, _UNTRIMMED), hasty, 0)
    texts = texts_at(DESCRIPTIONS, spelling * len(STOCK_CODES) + lines.product)
    if not options.missing_descriptions:
        return texts
    missing = one_in(words(options.seed, "no description", day, lines.number), _NO_DESCRIPTION)
    return either(missing, None, texts)


def _unreadable(options: Options, invoices: Invoices, lines: Lines) -> Flags:
    """Exactly one line of each 500 of the day, so that no day's share is ever above that."""
    drawn = words(options.seed, "unreadable", invoices.day, lines.number // _UNREADABLE)
    return one_of_each(drawn, lines.number, _UNREADABLE, int(invoices.lines.sum()))


def _spoilt(texts: pa.Array, which: Flags, bad: list[str], lines: Lines) -> pa.Array:
    return either(which, texts_at(bad, lines.number % len(bad)), texts)
