"""The demo source: a made-up shop that delivers customers, order lines and events day by day, and the
trips of its taxis month by month.

What belongs here: the functions that `source/demo.yaml` names, one a feed. What does not: how the shop
comes by its people, sales and trips (the modules beside this one).

Every delivery is a function of the options and the window alone: no clock, no network, no random
state, the same on every machine and under every version of the libraries.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import pyarrow as pa

from customer_pipeline.demo.customers_export import customer_table
from customer_pipeline.demo.events_export import event_table
from customer_pipeline.demo.opening_days import day_number, is_closed
from customer_pipeline.demo.options import Options, parse_options
from customer_pipeline.demo.sales_export import order_tables
from customer_pipeline.demo.trips_export import trip_tables
from customer_pipeline.source.partitions import Window


def customers(window: Window, **options: Any) -> pa.Table | None:
    """The customers seen on a day, or None where the shop is closed and delivers nothing.

    Raises:
        ConfigError: for options that the shop does not have (see `Options`).
    """
    shop, day = _shop(window, options)
    return None if is_closed(shop, day) else customer_table(shop, day)


def orders(window: Window, **options: Any) -> Iterator[pa.Table] | None:
    """The order lines of a day in pieces, or None where the shop is closed and delivers nothing.

    Raises:
        ConfigError: for options that the shop does not have (see `Options`).
    """
    shop, day = _shop(window, options)
    return None if is_closed(shop, day) else order_tables(shop, day)


def events(window: Window, **options: Any) -> pa.Table | None:
    """The messages delivered on a day, or None where the shop is closed and delivers nothing.

    Raises:
        ConfigError: for options that the shop does not have (see `Options`).
    """
    shop, day = _shop(window, options)
    return None if is_closed(shop, day) else event_table(shop, day, window.start.tzinfo)


def trips(window: Window, **options: Any) -> Iterator[pa.Table]:
    """The taxi trips of a month in pieces. Taxis go every day.

    Raises:
        ConfigError: for options that the shop does not have (see `Options`).
    """
    return trip_tables(parse_options(options), window)


def _shop(window: Window, options: dict[str, Any]) -> tuple[Options, int]:
    return parse_options(options), day_number(window.start.date())
