"""Incidents: what is wrong at the moment, and whether that was told.

A condition (a partition that failed, a job whose runs fail, a sensor that raises) is one incident
from the first who sees it until it is well again, however often and by however many it is seen.

What belongs here: reading and writing `incidents`. What does not: who looks, and what is said.
"""

from __future__ import annotations

import json
import sqlite3
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta

from customer_pipeline.alerts.message import Alert, Condition, Message, Severity
from customer_pipeline.alerts.outbox import note

_BETWEEN_REMINDERS = timedelta(hours=24)

# An incident of a lower rank becomes one of a higher, which is told too: that a partition is late,
# and then why.
LATE, FAILED = 1, 2


@dataclass(frozen=True)
class Incident:
    """A condition that is open.

    `since` is when it began, `reminded_at` when somebody was told of it last, `severity` and `owners`
    say who. `told` is false for what was wrong before anybody looked: nobody hears of that, nor of
    its end.
    """

    condition: Condition
    rank: int
    since: datetime
    reminded_at: datetime
    severity: Severity
    owners: tuple[str, ...]
    told: bool


def open_incidents(connection: sqlite3.Connection, kind: str, scope: str) -> dict[str, Incident]:
    """The open incidents of a kind, about a pipeline or whatever else the scope is, by what is shown."""
    rows = connection.execute(
        "select * from incidents where kind = ? and scope = ? order by shown", [kind, scope]
    ).fetchall()
    return {row["shown"]: _incident(row) for row in rows}


def fresh(known: Mapping[str, Incident], shown: str, rank: int) -> bool:
    """Whether this is not known yet, or only as something of a lower rank."""
    return shown not in known or known[shown].rank < rank


def tell(
    connection: sqlite3.Connection,
    alert: Alert,
    conditions: Mapping[Condition, datetime],
    *,
    rank: int = FAILED,
    now: datetime,
) -> None:
    """Note an alert, and that it opens these conditions (each with when it began)."""
    note(connection, alert, now)
    _open(connection, conditions, rank, alert.message, told=True, now=now)


def keep_silent(
    connection: sqlite3.Connection,
    conditions: Mapping[Condition, datetime],
    *,
    rank: int = FAILED,
    now: datetime,
) -> None:
    """Note conditions of which nobody is told, nor of their end."""
    _open(connection, conditions, rank, Message("info", ""), told=False, now=now)


def close(connection: sqlite3.Connection, incidents: Iterable[Incident]) -> None:
    """Note that these are over; should one begin again, it is told again."""
    connection.executemany(
        "delete from incidents where condition = ?", [[one.condition.name] for one in incidents]
    )


def to_be_reminded_of(incidents: Iterable[Incident], now: datetime) -> list[Incident]:
    """Those of which the last word is a day old."""
    return [one for one in incidents if one.told and now - one.reminded_at >= _BETWEEN_REMINDERS]


def record_reminder(
    connection: sqlite3.Connection, incidents: Iterable[Incident], now: datetime
) -> None:
    """Note that these have been told again, at `now`."""
    connection.executemany(
        "update incidents set reminded_at = ? where condition = ?",
        [(now.timestamp(), one.condition.name) for one in incidents],
    )


def _open(
    connection: sqlite3.Connection,
    conditions: Mapping[Condition, datetime],
    rank: int,
    message: Message,
    *,
    told: bool,
    now: datetime,
) -> None:
    connection.executemany(
        "insert or replace into incidents values (?, ?, ?, ?, ?, ?, ?, ?, ?, ?)",
        [
            (
                *(condition.name, condition.kind, condition.scope, condition.shown, rank),
                *(since.timestamp(), now.timestamp()),
                *(message.severity, json.dumps(message.owners), told),
            )
            for condition, since in conditions.items()
        ],
    )


def _incident(row: sqlite3.Row) -> Incident:
    since, reminded_at = (
        datetime.fromtimestamp(row[name], UTC) for name in ("since", "reminded_at")
    )
    return Incident(
        Condition(row["kind"], row["scope"], row["shown"]),
        row["rank"],
        since,
        reminded_at,
        severity=row["severity"],
        owners=tuple(json.loads(row["owners"])),
        told=bool(row["told"]),
    )
