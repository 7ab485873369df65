"""A warehouse whose marts are published by hand, and a lake that follows it.

    python -m tests.support.published <root> <worker> <day>...

publishes each day in turn and follows, as another process beside the test.

What does not belong here: how a run publishes (`tests/support/stages.py`).
"""

from __future__ import annotations

import sys
from collections.abc import Sequence
from dataclasses import dataclass
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

from customer_pipeline.lake.follow import Lake
from customer_pipeline.quoting import quoted
from customer_pipeline.source.calendars import DailyPartitions
from customer_pipeline.warehouse.connection import Warehouse
from customer_pipeline.warehouse.content_hash import content_hashes
from customer_pipeline.warehouse.ledger import Run
from customer_pipeline.warehouse.publications import record_publication
from customer_pipeline.warehouse.schema import ensure_ledger
from customer_pipeline.warehouse.sql import columns_of, transaction

PIPELINE = "daily_customers"
MARTS = ("orders", "summary")
_TABLES = """
create table if not exists marts.orders (
    _date date, order_id varchar, customer varchar, quantity bigint, amount decimal(18, 4),
    ordered_at timestamptz,
);
create table if not exists marts.summary (_date date, orders bigint, amount decimal(38, 4));
"""


@dataclass(frozen=True)
class Published:
    """The warehouse below `root`, and the lake beside it."""

    root: Path

    @property
    def warehouse(self) -> Warehouse:
        return Warehouse(self.root / "warehouse.duckdb", lock_timeout=30)

    @property
    def lake(self) -> Lake:
        return Lake(self.root / "lake", DailyPartitions.column)

    def make(self) -> None:
        """The tables, still empty."""
        with self.warehouse.write() as connection:
            ensure_ledger(connection)
            connection.execute(_TABLES)

    def publish(self, *days: str, orders: int = 3, customer: str = "Ada") -> None:
        """Each day with so many orders of that customer; 0 empties a day."""
        with self.warehouse.write() as connection, transaction(connection):
            for mart in MARTS:
                connection.execute(
                    f"delete from marts.{mart} where _date in (select unnest(?)::date)", [days]
                )
            connection.execute(
                "insert into marts.orders by name select day::date as _date, 'O' || n as order_id,"
                " if(n % 5 = 4, null, ?) as customer, n as quantity, n / 7 as amount,"
                " day::timestamptz + to_microseconds(n * 1234567) as ordered_at"
                " from unnest(?) as d(day), range(?) as r(n)",
                [customer, days, orders],
            )
            connection.execute(
                "insert into marts.summary by name select _date, count(*) as orders,"
                " sum(amount) as amount from marts.orders where _date in (select unnest(?)::date)"
                " group by _date",
                [days],
            )
            tables = {mart: f"marts.{mart}" for mart in MARTS}
            hashes = content_hashes(connection, tables, DailyPartitions.column, days)
            run = Run("run", PIPELINE, datetime.now(UTC), "version")
            record_publication(connection, run, hashes)

    def follow(self) -> dict[str, int | None]:
        return self.lake.follow(self.warehouse, PIPELINE, MARTS)

    def in_warehouse(self, mart: str) -> list[tuple[Any, ...]]:
        with self.warehouse.read() as connection:
            return connection.execute(f"select * from marts.{mart} order by all").fetchall()

    def in_lake(self, mart: str) -> list[tuple[Any, ...]]:
        """The lake's rows, in the order of the warehouse's columns."""
        with self.warehouse.read() as connection, self.lake.relations(connection, [mart]) as names:
            listed = ", ".join(map(quoted, columns_of(connection, "marts", mart)))
            found = connection.execute(f"select {listed} from {names[mart]} order by all")
            return found.fetchall()


def main(root: str, worker: str, days: Sequence[str]) -> None:
    published = Published(Path(root))
    for turn, day in enumerate(days):
        published.publish(day, orders=turn % 4, customer=f"{worker} {turn}")
        published.follow()


if __name__ == "__main__":
    main(sys.argv[1], sys.argv[2], sys.argv[3:])
