"""The messages of a day as the made-up shop's interface writes them.

What belongs here: ids, times with their offset, JSON. What does not: what happened, and which
messages a day delivers (`happenings.py`).
"""

from __future__ import annotations

from collections.abc import Callable
from datetime import datetime, time, tzinfo

import numpy as np
import pyarrow as pa

from customer_pipeline.demo import profiles
from customer_pipeline.demo.chance import Ints, below, words
from customer_pipeline.demo.happenings import (
    TOPICS,
    Messages,
    Topic,
    messages_delivered_on,
)
from customer_pipeline.demo.opening_days import date_of
from customer_pipeline.demo.options import Options
from customer_pipeline.demo.people import ATTRIBUTES
from customer_pipeline.demo.texts import (
    clock_texts,
    either,
    joined,
    replaced,
    texts_at,
)

_OPERATIONS: dict[Topic, str] = {"account-opened": "created", "account-closed": "deleted"}


def event_table(options: Options, day: int, zone: tzinfo | None) -> pa.Table:
    """The messages that an open day delivers, with times of the zone."""
    messages = messages_delivered_on(options, day)
    ids = profiles.customer_ids(messages.customer)
    topics = texts_at(list(TOPICS), messages.topic)
    operations = [_OPERATIONS.get(topic, "changed") for topic in TOPICS]
    dates = _by_day(messages, lambda day: f"{date_of(day):%y%m%d}")
    clock = clock_texts(messages.day, messages.second)
    offsets = _by_day(messages, lambda day: _offset(day, zone))
    return pa.table(
        {
            "eventId": joined(dates, ids, topics, separator="-"),
            "entityId": ids,
            "operation": texts_at(operations, messages.topic),
            "occurredAt": joined(clock, offsets),
            "payload": _payloads(options, messages),
        }
    )


def _by_day(messages: Messages, text: Callable[[int], str]) -> pa.Array:
    """A text that only depends on the day on which something happened."""
    days, position = np.unique(messages.day, return_inverse=True)
    return texts_at([text(int(day)) for day in days], position)


def _offset(day: int, zone: tzinfo | None) -> str:
    """`+01:00`, at the shop's opening hours: clocks change while it is closed."""
    noon = datetime.combine(date_of(day), time(12), tzinfo=zone)
    return noon.isoformat()[len("YYYY-MM-DDTHH:MM:SS") :]


def _payloads(options: Options, messages: Messages) -> pa.Array:
    """JSON texts of what is new. Nothing that customers have needs escaping in them."""
    positions = [np.flatnonzero(messages.topic == n) for n in range(len(TOPICS))]
    texts = [
        _payload(options, topic, messages.customer[where], messages.day[where])
        for topic, where in zip(TOPICS, positions, strict=True)
    ]
    back = np.argsort(np.concatenate(positions), kind="stable")
    payload = texts_at(pa.concat_arrays(texts), back)
    corrected = replaced(payload, "}", ', "corrected": true}')
    return either(messages.conflicting, corrected, payload)


def _payload(options: Options, topic: Topic, customer: Ints, days: Ints) -> pa.Array:
    def choice(*texts: str) -> pa.Array:
        drawn = words(options.seed, "choice", days, customer)
        return texts_at(list(texts), below(drawn, len(texts)))

    values: dict[Topic, Callable[[], pa.Array]] = {
        "name": lambda: profiles.names(options, customer, days),
        "email": lambda: profiles.emails(options, customer, days),
        "country": lambda: profiles.countries(options, customer, days),
        "newsletter": lambda: choice("subscribed", "ended"),
        "account-closed": lambda: choice("on request", "unused"),
    }
    told: tuple[Topic, ...] = ATTRIBUTES if topic == "account-opened" else (topic,)
    fields = [joined(f'"{each}": "', values[each](), '"') for each in told]
    return joined("{", joined(*fields, separator=", "), "}")
