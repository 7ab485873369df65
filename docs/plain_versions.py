"""The patterns of `why-idempotent.md` as one writes them at first, each with what goes wrong.

What belongs here: code that is wrong on purpose, in a few lines. What does not: the pipeline's own
versions, and the table of numbers (`why_idempotent.py`).
"""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path

import duckdb
from deltalake import DeltaTable, write_deltalake


@dataclass(frozen=True)
class Plain:
    """Plain versions over the rows of one day.

    Args:
        connection: a database in memory, to which the pipeline's warehouse is attached as
            `warehouse`.
        lake: a folder for Delta tables.
        day: the day that is loaded again and again, such as `2026-03-03`.
    """

    connection: duckdb.DuckDBPyConnection
    lake: Path
    day: str

    def appended(self, table: str, loads: int) -> int:
        """Rows after the day's rows of a table were appended `loads` times."""
        self._table("delivered", of_the_day=table)
        self.connection.execute("create or replace table appended as from delivered limit 0")
        for _ in range(loads):
            self.connection.execute("insert into appended from delivered")
        return self._count("appended")

    def sales(self, loads: int) -> str:
        """The day's sales, as a query finds them after the lines were appended `loads` times."""
        self.appended("raw.orders", loads)
        found = self.connection.execute("select sum(quantity * unit_price) from appended")
        return f"{(found.fetchone() or (0,))[0]:,.2f}"

    def appended_to_lake(self, table: str, loads: int) -> int:
        """Rows of a Delta table after the day's rows were appended `loads` times."""
        folder = self.lake / f"appended_{loads}"
        self._table("delivered", of_the_day=table)
        for _ in range(loads):
            rows = self.connection.execute("from delivered").to_arrow_table()
            write_deltalake(str(folder), rows, mode="append")
        return _rows_in_lake(folder)

    def deleted_by_key(self, corrected: str) -> int:
        """Order lines after a correction: the keys that it holds are deleted, then it is inserted.

        Args:
            corrected: which lines the corrected delivery still holds, as a condition in SQL.
        """
        self._table("orders", of_the_day="raw.orders")
        self.connection.execute(
            f"create or replace table corrected as from orders where {corrected}"
        )
        self.connection.execute(
            "delete from orders where order_id in (select order_id from corrected)"
        )
        self.connection.execute("insert into orders from corrected")
        return self._count("orders")

    def merged(self) -> int:
        """Customers after the merge of a delivery."""
        self._table("delivered", of_the_day="raw.customers")
        self.connection.execute("create or replace table customers as from delivered limit 0")
        self.connection.execute(
            "merge into customers using delivered using (customer_id)"
            " when matched then update when not matched then insert"
        )
        return self._count("customers")

    def overwritten(self, table: str) -> int:
        """Rows of a Delta table with all days, after one day was written over it."""
        self._table("delivered", of_the_day=table)
        folder = self.lake / "overwritten"
        for relation in (f"warehouse.{table}", "delivered"):
            rows = self.connection.execute(f"from {relation}").to_arrow_table()
            write_deltalake(str(folder), rows, partition_by=["_date"], mode="overwrite")
        return _rows_in_lake(folder)

    def processed(self, *, mark_first: bool) -> int:
        """Messages after a run that broke between its two transactions, and another that did not.

        Args:
            mark_first: whether messages are marked as processed before their rows are written.
        """
        self._table("delivered", of_the_day="raw.events")
        self.connection.execute("create or replace table processed (event_id varchar)")
        self.connection.execute("create or replace table events as from delivered limit 0")
        new = "from delivered where event_id not in (from processed)"
        mark = f"insert into processed select distinct event_id {new}"
        effect = f"insert into events select distinct on (event_id) * {new}"
        first, second = (mark, effect) if mark_first else (effect, mark)
        for statement in (first, first, second):  # The first run broke after its first statement.
            self.connection.execute(statement)
        return self._count("events")

    def _table(self, name: str, *, of_the_day: str) -> None:
        rows = f"from warehouse.{of_the_day} where _date = ?"
        self.connection.execute(f"create or replace table {name} as {rows}", [self.day])

    def _count(self, table: str) -> int:
        return (self.connection.execute(f"select count(*) from {table}").fetchone() or (0,))[0]


def _rows_in_lake(folder: Path) -> int:
    return DeltaTable(str(folder)).to_pyarrow_dataset().count_rows()
