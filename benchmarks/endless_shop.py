"""A shop without beginning or end, to measure long histories with: its source YAML, and its feeds.

Every day delivers 80 customers out of 5,000, 1,600 order lines, and 100 events, of which 3 were
delivered the day before, too. Each delivery is a query over numbers, which takes milliseconds.

What belongs here: what is delivered. What does not: files (`deliveries.py`).
"""

from __future__ import annotations

import threading

import duckdb
import pyarrow as pa

from customer_pipeline.source.partitions import Window

SOURCE = """\
name: endless_shop
start: 2015-01-01
timezone: UTC
feeds:
  customers:
    reader: python
    function: benchmarks.endless_shop:customers
    key: [customer_id]
    columns:
      customer_id: {}
      name: {}
      email: {}
      country: {}
      updated_at: {type: timestamp, required: true}
  orders:
    reader: python
    function: benchmarks.endless_shop:orders
    columns:
      order_id: {required: true}
      stock_code: {}
      description: {}
      quantity: {type: integer, required: true}
      ordered_at: {type: timestamp, required: true}
      unit_price: {type: "decimal(18,4)", required: true}
      customer_id: {}
      country: {}
  events:
    reader: python
    function: benchmarks.endless_shop:events
    key: [event_id]
    columns:
      event_id: {}
      entity_id: {required: true}
      operation: {required: true}
      occurred_at: {type: timestamp, required: true}
      payload: {}
    write: dedupe
"""

_CUSTOMERS = """
select
    'c' || (hash($day) % 5000 + 61 * n) % 5000 as customer_id,
    'Customer ' || hash($day, n) % 9 as name,
    'c' || n || '@example.com' as email,
    ['United Kingdom', 'France', 'Germany', 'Norway'][1 + n % 4] as country,
    $day || 'T' || lpad((n % 24)::varchar, 2, '0') || ':00:00Z' as updated_at,
from range(80) as numbers(n)
"""
_ORDERS = """
select
    if(n % 200 < 20, 'C', '') || replace($day, '-', '') || (n // 20) as order_id,
    's' || hash(n, $day) % 3000 as stock_code,
    'Article ' || hash(n, $day) % 3000 as description,
    if(n % 200 < 20, -1, 1) * (1 + hash(n) % 12)::int as quantity,
    $day || 'T' || lpad((n % 24)::varchar, 2, '0') || ':00:00Z' as ordered_at,
    (hash(n, 7) % 100000 / 100)::decimal(18, 2)::varchar as unit_price,
    if(n % 80 < 20, null, 'c' || hash(n // 20, $day) % 5000) as customer_id,
    ['United Kingdom', 'France', 'Germany', 'Norway'][1 + (n // 20) % 4] as country,
from range(1600) as numbers(n)
"""
_EVENTS = """
select
    first_day || '-' || n as event_id,
    'c' || hash(first_day, n) % 5000 as entity_id,
    'changed' as operation,
    first_day || 'T' || lpad((n % 24)::varchar, 2, '0') || ':30:00Z' as occurred_at,
    '{"number": ' || n || '}' as payload,
from (
    select n, if(n < 3, ($day::date - 1)::varchar, $day) as first_day
    from range(100) as numbers(n)
)
"""
_OF_THREAD = threading.local()


def customers(window: Window) -> pa.Table:
    """The customers seen on a day."""
    return _delivery(_CUSTOMERS, window)


def orders(window: Window) -> pa.Table:
    """The order lines of a day."""
    return _delivery(_ORDERS, window)


def events(window: Window) -> pa.Table:
    """The messages that a day delivers."""
    return _delivery(_EVENTS, window)


def _delivery(query: str, window: Window) -> pa.Table:
    # Feeds are read by several threads, and a connection serves one at a time.
    if not hasattr(_OF_THREAD, "connection"):
        _OF_THREAD.connection = duckdb.connect()
    return _OF_THREAD.connection.execute(query, {"day": window.key}).to_arrow_table()
