"""What the tables must hold for some raw rows, read off the rows one by one.

The rules are those of `tests/support/reference_marts.py` and `reference_reporting.py`; only what a
candidate holds of messages, which is every row delivered, is told here.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import asdict
from datetime import date

from made_tables import MARTS, REPORTING
from shop_days import Event, Rows

from tests.support import reference_marts, reference_reporting
from tests.support.reference_marts import Table, clean


def expected_candidate(rows: Rows) -> dict[str, Table]:
    """All rows of all marts, sorted, as a run over all these days builds them."""
    return _in_order(
        MARTS,
        reference_marts.COLUMNS,
        _of_each_day(rows) | {"fct_events": [_as_delivered(row) for row in rows.events]},
    )


def expected_marts(rows: Rows) -> dict[str, Table]:
    """All rows of all marts, sorted, when all these days are published."""
    messages = reference_marts.messages_of(asdict(row) for row in rows.events)
    return _in_order(
        MARTS,
        reference_marts.COLUMNS,
        _of_each_day(rows) | {"fct_events": reference_marts.fct_events(messages)},
    )


def expected_reporting(marts: Mapping[str, Table], last_day: date) -> dict[str, Table]:
    """All rows of the reporting tables that are dbt models, sorted."""
    return _in_order(
        REPORTING,
        reference_reporting.COLUMNS,
        reference_reporting.reporting_of(
            _in_order(reference_marts.COLUMNS, MARTS, marts), last_day
        ),
    )


def _of_each_day(rows: Rows) -> dict[str, Table]:
    tables: dict[str, Table] = {name: [] for name in MARTS}
    for day in sorted({row._date for row in [*rows.customers, *rows.orders]}):
        of_day = rows.of_day(day)
        customers = [asdict(row) for row in of_day.customers]
        orders = [asdict(row) for row in sorted(of_day.orders, key=lambda row: row._line)]
        for name, made in reference_marts.marts_of(str(day), customers, orders).items():
            tables[name] += made
    return tables


def _as_delivered(row: Event) -> tuple:
    """Every row delivered counts until it is published; its ids lose their white space."""
    return (
        row._date,
        row._line,
        clean(row.event_id),
        clean(row.entity_id),
        clean(row.operation),
        row.occurred_at,
        row.payload,
    )


def _in_order(
    wanted: Mapping[str, Iterable[str]],
    given: Mapping[str, Iterable[str]],
    tables: Mapping[str, Table],
) -> dict[str, Table]:
    """The wanted tables, sorted, with their columns in the wanted order."""
    return {
        name: sorted(
            (
                tuple(dict(zip(given[name], row, strict=True))[column] for column in columns)
                for row in tables[name]
            ),
            key=repr,
        )
        for name, columns in wanted.items()
    }
