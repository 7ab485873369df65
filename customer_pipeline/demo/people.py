"""The customers of the made-up shop: who there is on a day, and when each of them changes.

What belongs here: accounts opened, changed and closed, computed for any customer number and day
alone. What does not: what a customer is called (`profiles.py`) or buys (`sales.py`).

A customer is a number from 0. An attribute that ever changes does so once in each span of days, on
a day of that span which a hash picks, so the state on a day needs no history.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal, get_args

import numpy as np

from customer_pipeline.demo.chance import Flags, Ints, below, one_in, words
from customer_pipeline.demo.opening_days import OPENED, next_open
from customer_pipeline.demo.options import MICRO, Options

Attribute = Literal["name", "email", "country"]
ATTRIBUTES: tuple[Attribute, ...] = get_args(Attribute)

_SPAN_DAYS: dict[Attribute, int] = {"name": 1_000, "email": 500, "country": 500}
# Of so many customers one has an attribute that ever changes.
_CHANGES_FOR_ONE_IN: dict[Attribute, int] = {"name": 3, "email": 1, "country": 12}
# 9 new accounts in 4 days: some 4,100 customers when the source starts in 2025.
_NEW, _NEW_DAYS = 9, 4
_SHORTEST_STAY, _LONGEST_STAY = 90, 8_000
_OFFICE_OPENS, _OFFICE_CLOSES = 8 * 3600, 19 * 3600


@dataclass(frozen=True)
class People:
    """Customers, oldest first, with the days on which each opens and closes the account: one array
    element a customer."""

    number: Ints
    joined: Ints
    left: Ints

    def active_on(self, day: int) -> Ints:
        """The numbers of those who had an account before `day` and still have it after it."""
        return self.number[(self.joined < day) & (day < self.left)]


def people_until(options: Options, day: int) -> People:
    """All who opened an account up to `day`, with those who have closed it since."""
    opened = _NEW * options.scale_micro * (day - OPENED + 1) // (_NEW_DAYS * MICRO)
    number = np.arange(max(opened, 0))
    joined = joined_day(options, number)
    stay = below(words(options.seed, "stay", number), _LONGEST_STAY - _SHORTEST_STAY)
    left = next_open(options, joined + _SHORTEST_STAY + stay)
    known = joined <= day
    return People(number[known], joined[known], left[known])


def changes_between(
    options: Options, people: People, attribute: Attribute, first: int, last: int
) -> tuple[Ints, Ints]:
    """The changes of an attribute on the days from `first` to `last` (at most a year, both
    included): numbers of customers and days, one element a change."""
    ever = _ever_changes(options, people.number, attribute)
    number, joined, left = people.number[ever], people.joined[ever], people.left[ever]
    begin = _begin_of_spans(options, number, attribute)
    span = (last + begin) // _SPAN_DAYS[attribute]
    numbers, days = [], []
    for each in (span - 1, span):
        changed = _change_day(options, number, attribute, begin, each)
        counts = (first <= changed) & (changed <= last) & (joined < changed) & (changed < left)
        numbers.append(number[counts])
        days.append(changed[counts])
    return np.concatenate(numbers), np.concatenate(days)


def joined_day(options: Options, numbers: Ints) -> Ints:
    """The day on which each opened the account."""
    accounts_a_day = max(_NEW * options.scale_micro, 1)
    days = -(-(numbers + 1) * _NEW_DAYS * MICRO // accounts_a_day)
    return next_open(options, OPENED - 1 + days)


def changes_until(
    options: Options, numbers: Ints, attribute: Attribute, days: Ints | int
) -> tuple[Ints, Ints]:
    """How often an attribute has changed up to `days`, and the day of its last change.

    Without a change the day is the one on which the account was opened.
    """
    joined = joined_day(options, numbers)
    span_joined, _ = _last_change(options, numbers, attribute, joined)
    span, changed = _last_change(options, numbers, attribute, days)
    count = np.where(_ever_changes(options, numbers, attribute), span - span_joined, 0)
    return count, np.where(count > 0, changed, joined)


def second_of_day(options: Options, numbers: Ints, days: Ints | int) -> Ints:
    """When on a day an account is opened, changed or closed: seconds after midnight."""
    drawn = words(options.seed, "second", numbers, days)
    return _OFFICE_OPENS + below(drawn, _OFFICE_CLOSES - _OFFICE_OPENS)


def _ever_changes(options: Options, numbers: Ints, attribute: Attribute) -> Flags:
    drawn = words(options.seed, f"{attribute} ever changes", numbers)
    return one_in(drawn, _CHANGES_FOR_ONE_IN[attribute])


def _last_change(
    options: Options, numbers: Ints, attribute: Attribute, days: Ints | int
) -> tuple[Ints, Ints]:
    """The span in which the last change up to `days` lies, and the day of the change."""
    begin = _begin_of_spans(options, numbers, attribute)
    span = (days + begin) // _SPAN_DAYS[attribute]
    this = _change_day(options, numbers, attribute, begin, span)
    before = _change_day(options, numbers, attribute, begin, span - 1)
    due = this <= days
    return np.where(due, span, span - 1), np.where(due, this, before)


def _begin_of_spans(options: Options, numbers: Ints, attribute: Attribute) -> Ints:
    """Each customer's spans begin on days of their own, so that changes spread over the year."""
    return below(words(options.seed, f"{attribute} span", numbers), _SPAN_DAYS[attribute])


def _change_day(
    options: Options, numbers: Ints, attribute: Attribute, begin: Ints, span: Ints
) -> Ints:
    """The day of the change in a span. The span's last days stay free for a wait while closed."""
    length = _SPAN_DAYS[attribute]
    drawn = words(options.seed, f"{attribute} change", numbers, span)
    return next_open(options, span * length - begin + below(drawn, length - 3))
