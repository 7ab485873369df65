"""Messages about customers: what happened when, and on which days each message is delivered.

What belongs here: events as numbers, and the flaws of an at-least-once delivery. What does not: the
changes that they tell of (`people.py`), and how they are written (`events_export.py`).
"""

from __future__ import annotations

from dataclasses import dataclass, fields, replace
from typing import Literal, get_args

import numpy as np

from customer_pipeline.demo.chance import Flags, Ints, Words, below, one_in, words
from customer_pipeline.demo.opening_days import is_closed, later_open
from customer_pipeline.demo.options import Options
from customer_pipeline.demo.people import (
    ATTRIBUTES,
    changes_between,
    people_until,
    second_of_day,
)

Topic = Literal["account-opened", "name", "email", "country", "newsletter", "account-closed"]
TOPICS: tuple[Topic, ...] = get_args(Topic)

# One customer in so many subscribes to the newsletter, or ends it, on a day.
_NEWSLETTER = 45
# One message in so many.
_LATE, _TWICE_A_DAY, _AGAIN, _CONFLICTING = 25, 50, 50, 800
# A late message comes at most three days late, and again at most three days after that.
_LONGEST_DELAY = 6


@dataclass(frozen=True)
class Messages:
    """One array element a message: its topic (a position in `TOPICS`), of which customer it tells,
    on which day and second of that day it happened, and whether it is a conflicting copy, which
    carries another payload than the message itself."""

    topic: Ints
    customer: Ints
    day: Ints
    second: Ints
    conflicting: Flags

    def take(self, which: Ints | Flags) -> Messages:
        """The messages at these positions."""
        return Messages(*(getattr(self, field.name)[which] for field in fields(self)))

    def draw(self, options: Options, stream: str) -> Words:
        return words(options.seed, stream, self.topic, self.day, self.customer)


def messages_delivered_on(options: Options, day: int) -> Messages:
    """The messages of an open day's delivery, whenever it happened what they tell."""
    happened = _happened(options, day - _LONGEST_DELAY, day)
    first = happened.day
    if options.late_events:
        later = later_open(options, first, happened.draw(options, "delay"))
        first = np.where(one_in(happened.draw(options, "late"), _LATE), later, first)
    again = later_open(options, first, happened.draw(options, "again on"))

    due = [happened.take(first == day)]
    if options.redelivered_events:
        twice = one_in(happened.draw(options, "twice a day"), _TWICE_A_DAY)
        redelivered = one_in(happened.draw(options, "again"), _AGAIN)
        due += [happened.take(twice & (first == day)), happened.take(redelivered & (again == day))]
    if options.conflicting_events:
        conflicting = one_in(happened.draw(options, "conflict"), _CONFLICTING)
        on = np.where(one_in(happened.draw(options, "conflict on"), 2), first, again)
        copy = replace(happened, conflicting=np.ones_like(happened.conflicting))
        due.append(copy.take(conflicting & (on == day)))
    return _in_order(options, day, _joined(due))


def _happened(options: Options, first: int, last: int) -> Messages:
    """What happened on the days from `first` to `last`, each message once."""
    people = people_until(options, last)
    opened = (first <= people.joined) & (people.joined <= last)
    closed = (first <= people.left) & (people.left <= last)
    told: list[tuple[Topic, Ints, Ints]] = [
        ("account-opened", people.number[opened], people.joined[opened]),
        # New customers are asked at once, so they have two messages on their first day.
        ("newsletter", people.number[opened], people.joined[opened]),
        ("account-closed", people.number[closed], people.left[closed]),
    ]
    told.extend((each, *changes_between(options, people, each, first, last)) for each in ATTRIBUTES)
    for day in range(first, last + 1):
        if not is_closed(options, day):
            active = people.active_on(day)
            readers = active[one_in(words(options.seed, "newsletter", day, active), _NEWSLETTER)]
            told.append(("newsletter", readers, np.full_like(readers, day)))

    topic = np.repeat([TOPICS.index(each) for each, _, _ in told], [len(c) for _, c, _ in told])
    customer = np.concatenate([customers for _, customers, _ in told])
    day = np.concatenate([days for _, _, days in told])
    # The newsletter is asked about some minutes after an account was opened.
    wait = 60 + below(words(options.seed, "wait", day, customer), 1_800)
    wait = np.where(topic == TOPICS.index("newsletter"), wait, 0)
    second = second_of_day(options, customer, day) + wait
    return Messages(topic, customer, day, second, np.zeros(topic.size, dtype=bool))


def _in_order(options: Options, day: int, messages: Messages) -> Messages:
    if options.shuffled_events:
        order = words(options.seed, "order of events", day, np.arange(messages.topic.size))
    else:
        order = messages.day * 86_400 + messages.second
    return messages.take(np.argsort(order, kind="stable"))


def _joined(parts: list[Messages]) -> Messages:
    return Messages(
        *(
            np.concatenate([getattr(part, field.name) for part in parts])
            for field in fields(Messages)
        )
    )
