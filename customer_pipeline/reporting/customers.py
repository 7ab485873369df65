"""What all published states of the customers add up to: the current one of each, and its history.

Both are brought up to date for the customers that the changed partitions touch, and for no others.
Those are the customers that are in such a partition now, and those who were in it when it was taken
in last, and may have vanished since. Whatever came in which order, the rows are the same.

All columns of the mart are carried along, those that somebody adds to the model included.

What belongs here: the two tables. What does not: which partitions changed (`refresh.py`).
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

import duckdb

from customer_pipeline.partition_column import PartitionColumn
from customer_pipeline.quoting import quoted
from customer_pipeline.warehouse.sql import columns_of

MART = "dim_customers"
CURRENT = "customers_current"
HISTORY = "customer_history"
# The tables that are made here, by key, out of that mart.
MERGED = (CURRENT, HISTORY)

# Who was in which partition when that was taken in. The rows of the two tables do not say: a state
# that changed nothing is not in them, and yet another one may count when it is withdrawn.
_TAKEN_IN = "reporting._customers_taken_in"

_KEY = "customer_id"
_SINCE = "updated_at"


@dataclass(frozen=True)
class Updated:
    """What a refresh did to a table: rows that were inserted, updated and deleted, and rows now."""

    inserted: int
    updated: int
    deleted: int
    rows: int


def update_customers(
    connection: duckdb.DuckDBPyConnection,
    column: PartitionColumn,
    keys: Sequence[str],
    *,
    from_nothing: bool,
) -> dict[str, Updated]:
    """Take in the partitions `keys` of the mart. Inside a transaction.

    Args:
        column: the partition column.
        from_nothing: begin with empty tables; `keys` are then all that was published.

    Returns:
        What was done, by table.
    """
    states = columns_of(connection, "marts", MART)
    if from_nothing:
        connection.execute(f"drop table if exists reporting.{CURRENT}")
        connection.execute(f"drop table if exists reporting.{HISTORY}")
        connection.execute(f"drop table if exists {_TAKEN_IN}")
    _ensure_tables(connection, column, states)
    connection.execute(
        f"create or replace temp table _changed as select unnest(?)::{column.type} as {column.quoted}",
        [list(keys)],
    )
    _find_touched(connection, column)
    done = {
        CURRENT: _update_current(connection, column),
        HISTORY: _update_history(connection, column, states),
    }
    _note_taken_in(connection, column)
    connection.execute("drop table _changed; drop table _touched")
    return done


def _ensure_tables(
    connection: duckdb.DuckDBPyConnection, column: PartitionColumn, states: Mapping[str, str]
) -> None:
    attributes = _attributes(states, column)
    for table, names in (
        (_TAKEN_IN, f"{_KEY}, {column.quoted}"),
        (f"reporting.{CURRENT}", f"{_KEY}, {attributes}, {_SINCE}, {column.quoted}"),
        (
            f"reporting.{HISTORY}",
            f"{_KEY}, {attributes}, {_SINCE} as valid_from, {_SINCE} as valid_to,"
            f" true as is_current, {column.quoted}",
        ),
    ):
        connection.execute(
            f"create table if not exists {table} as select {names} from marts.{MART} limit 0"
        )


def _update_current(connection: duckdb.DuckDBPyConnection, column: PartitionColumn) -> Updated:
    by, names = column.quoted, list(columns_of(connection, "reporting", CURRENT))
    listed = ", ".join(quoted(name) for name in names)
    # Only for a customer whose current state may be gone is the rest of the history looked at.
    connection.execute(
        f"""
        create or replace temp table _newest as
        with states as (
            select {listed} from marts.{MART} semi join _changed using ({by})

            union all

            select {listed} from reporting.{CURRENT}
            semi join _touched using ({_KEY})
            anti join _changed using ({by})

            union all

            select {listed} from marts.{MART}
            where
                {_KEY} in (
                    select {_KEY} from reporting.{CURRENT} semi join _changed using ({by})
                )
                and {by} not in (select {by} from _changed)
        )

        select {listed} from states
        qualify row_number() over (
            partition by {_KEY} order by {_SINCE} desc nulls last, {by} desc
        ) = 1
        """
    )
    changed = " or ".join(
        f"target.{quoted(name)} is distinct from newest.{quoted(name)}" for name in names
    )
    new = ", ".join(f"{quoted(name)} = newest.{quoted(name)}" for name in names)
    values = ", ".join(f"newest.{quoted(name)}" for name in names)
    actions = connection.execute(
        f"""
        merge into reporting.{CURRENT} as target
        using (
            select
                touched.{_KEY} as touched_key,
                newest.*
            from _touched as touched
            left join _newest as newest using ({_KEY})
        ) as newest
        on target.{_KEY} = newest.touched_key
        when matched and newest.{_KEY} is null then delete
        when matched and ({changed}) then update set {new}
        when not matched and newest.{_KEY} is not null then insert ({listed}) values ({values})
        returning merge_action
        """
    ).fetchall()
    done = [action for (action,) in actions]
    connection.execute("drop table _newest")
    return Updated(
        done.count("INSERT"),
        done.count("UPDATE"),
        done.count("DELETE"),
        _rows(connection, CURRENT),
    )


def _update_history(
    connection: duckdb.DuckDBPyConnection, column: PartitionColumn, states: Mapping[str, str]
) -> Updated:
    by, attributes = column.quoted, _attributes(states, column)
    deleted = connection.execute(
        f"delete from reporting.{HISTORY} where {_KEY} in (select {_KEY} from _touched)"
    ).fetchone()
    inserted = connection.execute(
        f"""
        insert into reporting.{HISTORY} by name
        with states as (
            select *, row({attributes}) as _state
            from marts.{MART}
            semi join _touched using ({_KEY})
            -- Two days may tell of one instant: what was delivered later is believed.
            qualify row_number() over (partition by {_KEY}, {_SINCE} order by {by} desc) = 1
        ),

        first_states as (
            select *
            from states
            window in_time as (partition by {_KEY} order by {_SINCE})
            qualify
                row_number() over in_time = 1
                or _state is distinct from lag(_state) over in_time
        )

        select
            {_KEY},
            {attributes},
            {_SINCE} as valid_from,
            lead({_SINCE}) over in_time as valid_to,
            valid_to is null as is_current,
            {by},
        from first_states
        window in_time as (partition by {_KEY} order by {_SINCE})
        """
    ).fetchone()
    return Updated((inserted or (0,))[0], 0, (deleted or (0,))[0], _rows(connection, HISTORY))


def _find_touched(connection: duckdb.DuckDBPyConnection, column: PartitionColumn) -> None:
    by = column.quoted
    connection.execute(
        f"""
        create or replace temp table _touched as
        select {_KEY} from marts.{MART} semi join _changed using ({by})

        union

        select {_KEY} from {_TAKEN_IN} semi join _changed using ({by})
        """
    )


def _note_taken_in(connection: duckdb.DuckDBPyConnection, column: PartitionColumn) -> None:
    by = column.quoted
    connection.execute(f"delete from {_TAKEN_IN} where {by} in (select {by} from _changed)")
    connection.execute(
        f"insert into {_TAKEN_IN} by name"
        f" select distinct {_KEY}, {by} from marts.{MART} semi join _changed using ({by})"
    )


def _attributes(states: Mapping[str, str], column: PartitionColumn) -> str:
    return ", ".join(quoted(name) for name in states if name not in (_KEY, _SINCE, column.name))


def _rows(connection: duckdb.DuckDBPyConnection, table: str) -> int:
    return (connection.execute(f"select count(*) from reporting.{table}").fetchone() or (0,))[0]
