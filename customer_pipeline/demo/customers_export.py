"""The customers seen on a day as the made-up shop's export writes them.

What belongs here: which customers a day's export holds, and the flaw of telling one of them twice.
What does not: their states (`profiles.py`).
"""

from __future__ import annotations

import numpy as np
import pyarrow as pa

from customer_pipeline.demo import profiles
from customer_pipeline.demo.chance import Ints, one_in, words
from customer_pipeline.demo.options import Options
from customer_pipeline.demo.people import (
    ATTRIBUTES,
    changes_between,
    people_until,
)
from customer_pipeline.demo.sales import invoices_of

# One changed customer in so many is exported before the change and again after it.
_TWICE = 2


def customer_table(options: Options, day: int) -> pa.Table:
    """Who opened an account, changed or bought on an open day, each in the day's last state."""
    everybody = people_until(options, day)
    changes = [changes_between(options, everybody, each, day, day)[0] for each in ATTRIBUTES]
    changed = np.unique(np.concatenate(changes))
    opened = everybody.number[everybody.joined == day]
    buyers = invoices_of(options, everybody, day).customers
    seen = np.unique(np.concatenate([buyers, opened, changed]))
    table, numbers = _states(options, seen, day), seen
    if options.duplicate_customers:
        drawn = words(options.seed, "exported twice", day, changed)
        twice = changed[one_in(drawn, _TWICE)]
        table = pa.concat_tables([table, _states(options, twice, day - 1)]).combine_chunks()
        numbers = np.concatenate([seen, twice])
    # By customer, the older state as often before as after the newer one.
    order = np.lexsort((words(options.seed, "row", day, np.arange(numbers.size)), numbers))
    return table.take(pa.array(order))


def _states(options: Options, numbers: Ints, day: int) -> pa.Table:
    return pa.table(
        {
            "Customer No": profiles.customer_ids(numbers),
            "Name": profiles.names(options, numbers, day),
            "E-mail": profiles.emails(options, numbers, day),
            "Country": profiles.countries(options, numbers, day),
            "Last Changed": profiles.updated_at(options, numbers, day),
        }
    )
