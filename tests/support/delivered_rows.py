"""Rows that a shop may deliver, in hypothesis' words: few customers, orders and messages, so that they
come on several days, agree and contradict.

What does not belong here: what happens to a shop (`histories.py`).
"""

from __future__ import annotations

from hypothesis import strategies as st

from tests.support.shop import HEADERS

# The last two are empty by rule.
DAYS = [f"2026-03-{day:02}" for day in range(3, 9)]

days = st.sampled_from(DAYS)
day_sets = st.lists(days, unique=True, min_size=1)
feeds = st.sampled_from(sorted(HEADERS))
# Lines of an order may disagree, and texts may be white space or look like nothing.
customer_ids = st.sampled_from(["1", "007", " 007 ", "", "  "])
countries = st.sampled_from(["France", " France", "NA", "", "Unspecified"])
order_lines = st.fixed_dictionaries(
    {
        "order_id": st.sampled_from(["100", " 100", "101", "C102", "C103"]),
        "quantity": st.sampled_from([1, 2, -3, 0, 1_000_000]),
        "unit_price": st.sampled_from(["2.5", "0.0001", "-1", "99999999999999.9999"]),
        "customer_id": customer_ids,
        "country": countries,
        "description": st.sampled_from(["A thing", 'a "thing", broken\nin two', ""]),
    }
)
# Moments of all days, so that states of several days come in another order than they happened.
customer_states = st.fixed_dictionaries(
    {
        "customer_id": st.sampled_from(["1", "007", " 007", "8"]),
        "name": st.sampled_from(["Ada", " Ada", "NULL", ""]),
        "country": countries,
        "updated_at": st.sampled_from(
            [
                *("2026-03-03T09:00:00Z", "2026-03-03T10:00:00+01:00", "2026-03-03T09:00:00.5Z"),
                *("2026-03-05T23:59:59+01:00", "2026-03-01T00:00:00Z"),
            ]
        ),
    }
)
# Few ids, so that messages come on several days, with the same content or another. Once in a while
# an id or an operation is none, and fails its day.
messages = st.fixed_dictionaries(
    {
        "event_id": st.sampled_from([*("e1", " e1", "e2", "e3 ") * 10, " "]),
        "entity_id": st.sampled_from(["1", " 1", "007"]),
        "operation": st.sampled_from([*("created", "changed", " deleted ") * 12, "renamed", " "]),
        "occurred_at": st.sampled_from(
            ["2026-03-04T10:00:00Z", "2026-03-04T11:00:00+01:00", "2026-03-02T00:00:00.5Z"]
        ),
        "payload": st.sampled_from(['{"n": 1}', ' {"n": 1}', "", 'a "thing", broken\nin two']),
    }
)
# By day, what comes of a feed.
orders = st.dictionaries(days, st.lists(order_lines, min_size=1, max_size=5), max_size=2)
customers = st.dictionaries(days, st.lists(customer_states, min_size=1, max_size=4), max_size=3)
events = st.dictionaries(days, st.lists(messages, max_size=4), min_size=1, max_size=4)
first_events = st.fixed_dictionaries(
    {day: st.lists(messages, min_size=1, max_size=3) for day in DAYS[:-2]}
)
