"""Deliveries to measure with: a source YAML and CSV files of a given size, made by DuckDB."""

from __future__ import annotations

from datetime import date, timedelta
from pathlib import Path

import duckdb

SOURCE = """\
name: benchmark
start: 2025-01-01
timezone: Europe/London
feeds:
  customers:
    reader: csv
    path: customers/{date}.csv
    key: [customer_id]
    columns:
      customer_id: {}
      name: {}
      email: {}
      country: {}
      updated_at: {type: timestamp, required: true}
  orders:
    reader: csv
    path: orders/{date}.csv
    columns:
      order_id: {required: true}
      stock_code: {}
      description: {}
      quantity: {type: integer, required: true}
      ordered_at: {type: timestamp, required: true}
      unit_price: {type: "decimal(18,4)", required: true}
      customer_id: {}
      country: {}
"""
FIRST = date(2025, 1, 1)

_CUSTOMERS = """
select
    'c' || n as customer_id,
    'Customer ' || n as name,
    'c' || n || '@example.com' as email,
    ['United Kingdom', 'France', 'Germany', 'Norway'][1 + n % 4] as country,
    $day || 'T' || lpad((n % 24)::varchar, 2, '0') || ':00:00Z' as updated_at,
from range($customers) as t(n)
"""
_LINES = """
select
    if(n % 100 < 15, 'C', '') || strftime($day::date, '%y%m%d') || (n // 19) as order_id,
    's' || hash(n, $day) % 3000 as stock_code,
    'Article ' || hash(n, $day) % 3000 as description,
    if(n % 100 < 15, -1, 1) * (1 + hash(n) % 12)::int as quantity,
    $day || 'T' || lpad((n % 24)::varchar, 2, '0') || ':00:00Z' as ordered_at,
    (hash(n, 7) % 100000 / 100)::decimal(18, 2) as unit_price,
    if(n % 4 = 0, null, 'c' || (n // 19) % $customers) as customer_id,
    ['United Kingdom', 'France', 'Germany', 'Norway'][1 + (n // 19) % 4] as country,
from range($lines) as t(n)
"""


def make_deliveries(folder: Path, *, days: int, customers: int, lines: int) -> list[str]:
    """Write the source YAML and `days` deliveries below `folder`; returns the partition keys."""
    keys = [(FIRST + timedelta(days=n)).isoformat() for n in range(days)]
    for feed in ("customers", "orders"):
        (folder / feed).mkdir(parents=True)
    (folder / "source.yaml").write_text(SOURCE)
    with duckdb.connect() as connection:
        for key in keys:
            parameters = {"day": key, "customers": customers}
            connection.execute(f"create or replace temp table t as {_CUSTOMERS}", parameters)
            connection.execute(f"copy t to '{folder}/customers/{key}.csv' (header)")
            parameters["lines"] = lines
            connection.execute(f"create or replace temp table t as {_LINES}", parameters)
            connection.execute(f"copy t to '{folder}/orders/{key}.csv' (header)")
    return keys
