"""What is known of a customer on a day: name, e-mail address, country, and since when.

What belongs here: the state of any customer on any day, as the shop's export would write it. What
does not: when customers come, change and go (`people.py`).
"""

from __future__ import annotations

import numpy as np
import pyarrow as pa

from customer_pipeline.demo.chance import Ints, below, pick, words
from customer_pipeline.demo.options import Options
from customer_pipeline.demo.people import ATTRIBUTES, changes_until, second_of_day
from customer_pipeline.demo.texts import clock_texts, digits, joined, texts_at
from customer_pipeline.demo.words import (
    COUNTRIES,
    COUNTRY_TABLE,
    FIRST_NAMES,
    HOME,
    MAIL_PROVIDERS,
    SURNAMES,
    mail_part,
)


def customer_ids(numbers: Ints) -> pa.Array:
    """Ids as text. The leading zeros belong to them."""
    return digits(numbers + 1, 7)


def names(options: Options, numbers: Ints, days: Ints | int) -> pa.Array:
    first = texts_at(FIRST_NAMES, _first_name(options, numbers))
    last = texts_at(SURNAMES, _surname(options, numbers, days))
    return joined(first, last, separator=" ")


def emails(options: Options, numbers: Ints, days: Ints | int) -> pa.Array:
    """Addresses, with the surname that the customer had when the address was last changed."""
    count, changed = changes_until(options, numbers, "email", days)
    first = texts_at(_FIRST_PARTS, _first_name(options, numbers))
    last = texts_at(_LAST_PARTS, _surname(options, numbers, changed))
    number = 100 + below(words(options.seed, "mail number", numbers), 900)
    provider = below(words(options.seed, "provider", numbers), len(MAIL_PROVIDERS)) + count
    domain = texts_at(MAIL_PROVIDERS, provider % len(MAIL_PROVIDERS))
    return joined(first, ".", last, digits(number, 3), "@", domain)


def countries(options: Options, numbers: Ints, days: Ints | int) -> pa.Array:
    return texts_at(COUNTRIES, country_positions(options, numbers, days))


def country_positions(options: Options, numbers: Ints, days: Ints | int) -> Ints:
    """Positions in `COUNTRIES`. Who moves to another country comes back with the next move."""
    began = pick(COUNTRY_TABLE, words(options.seed, "country", numbers))
    count, _ = changes_until(options, numbers, "country", days)
    abroad = len(COUNTRIES) - 1
    away = 1 + (below(words(options.seed, "moves to", numbers), abroad) + count) % abroad
    away = np.where(away == began, HOME, away)
    return np.where(count % 2 == 0, began, away)


def updated_at(options: Options, numbers: Ints, days: Ints | int) -> pa.Array:
    """When the state of each last changed."""
    changed = [changes_until(options, numbers, each, days)[1] for each in ATTRIBUTES]
    last = np.max(changed, axis=0, initial=0)
    return clock_texts(last, second_of_day(options, numbers, last))


_FIRST_PARTS = [mail_part(name) for name in FIRST_NAMES]
_LAST_PARTS = [mail_part(name) for name in SURNAMES]


def _first_name(options: Options, numbers: Ints) -> Ints:
    return below(words(options.seed, "first name", numbers), len(FIRST_NAMES))


def _surname(options: Options, numbers: Ints, days: Ints | int) -> Ints:
    count, _ = changes_until(options, numbers, "name", days)
    return (below(words(options.seed, "surname", numbers), len(SURNAMES)) + count) % len(SURNAMES)
