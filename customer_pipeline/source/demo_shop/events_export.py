"""The messages of a day as the made-up shop's interface writes them.

What belongs here: ids, times with their offset, JSON. What does not: what happened, and which
messages a day delivers (`happenings.py`).
"""

from __future__ import annotations

from collections.abc import Callable
from datetime import datetime, time, tzinfo

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from customer_pipeline.source.demo_shop import profiles
from customer_pipeline.source.demo_shop.chance import Ints, below, words
from customer_pipeline.source.demo_shop.happenings import (
    TOPICS,
    Messages,
    Topic,
    messages_delivered_on,
)
from customer_pipeline.source.demo_shop.opening_days import date_of
from customer_pipeline.source.demo_shop.options import Options
from customer_pipeline.source.demo_shop.people import ATTRIBUTES

_OPERATIONS: dict[Topic, str] = {"account-opened": "created", "account-closed": "deleted"}


def event_table(options: Options, day: int, zone: tzinfo | None) -> pa.Table:
    """The messages that an open day delivers, with times of the zone."""
    messages = messages_delivered_on(options, day)
    ids = profiles.customer_ids(messages.customer)
    topics = profiles.texts_at(list(TOPICS), messages.topic)
    operations = [_OPERATIONS.get(topic, "changed") for topic in TOPICS]
    clock = profiles.clock_texts(messages.day, messages.second)
    return pa.table(
        {
            "eventId": pc.binary_join_element_wise(
                _by_day(messages, lambda day: f"{date_of(day):%y%m%d}"), ids, topics, "-"
            ),
            "entityId": ids,
            "operation": profiles.texts_at(operations, messages.topic),
            "occurredAt": pc.binary_join_element_wise(
                clock, _by_day(messages, lambda day: _offset(day, zone)), ""
            ),
            "payload": _payloads(options, messages),
        }
    )


def _by_day(messages: Messages, text: Callable[[int], str]) -> pa.Array:
    """A text that only depends on the day on which something happened."""
    days, position = np.unique(messages.day, return_inverse=True)
    return pa.array([text(int(day)) for day in days], pa.string()).take(pa.array(position))


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
    payload = pa.concat_arrays(texts).take(pa.array(back))
    corrected = pc.replace_substring(payload, "}", ', "corrected": true}')
    return pc.if_else(pa.array(messages.conflicting), corrected, payload)


def _payload(options: Options, topic: Topic, customer: Ints, days: Ints) -> pa.Array:
    def choice(*texts: str) -> pa.Array:
        drawn = words(options.seed, "choice", days, customer)
        return profiles.texts_at(list(texts), below(drawn, len(texts)))

    values: dict[Topic, Callable[[], pa.Array]] = {
        "name": lambda: profiles.names(options, customer, days),
        "email": lambda: profiles.emails(options, customer, days),
        "country": lambda: profiles.countries(options, customer, days),
        "newsletter": lambda: choice("subscribed", "ended"),
        "account-closed": lambda: choice("on request", "unused"),
    }
    told: tuple[Topic, ...] = ATTRIBUTES if topic == "account-opened" else (topic,)
    parts = [pc.binary_join_element_wise(f'"{each}": "', values[each](), '"', "") for each in told]
    return pc.binary_join_element_wise("{", pc.binary_join_element_wise(*parts, ", "), "}", "")
