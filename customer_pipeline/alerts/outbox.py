"""Alerts on their way: noted once, routed to the channels that want them, told when a channel took
them.

What belongs here: reading and writing `alerts` and `deliveries`. What does not: sending
(`delivery.py`), and what is wrong at the moment (`incidents.py`).
"""

from __future__ import annotations

import sqlite3
from collections.abc import Sequence
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta

from customer_pipeline.alerts.channels import LOG, Channel, wanting
from customer_pipeline.alerts.message import Alert, Message, from_json, to_json
from customer_pipeline.alerts.redaction import redacted, secrets_in
from customer_pipeline.settings import environment

_SHORTEST_PAUSE = timedelta(seconds=30)
_LONGEST_PAUSE = timedelta(hours=1)
_KEPT = timedelta(days=120)


@dataclass(frozen=True)
class Pending:
    """An alert that a channel has not taken yet, and how often that was tried."""

    alert_id: int
    message: Message
    noted_at: datetime
    attempts: int


@dataclass(frozen=True)
class Delivery:
    """What became of an alert on a channel, for people. `told_at` is None while it is pending;
    `answer` is what the channel said last."""

    message: Message
    noted_at: datetime
    channel: str
    attempts: int
    told_at: datetime | None
    next_try: datetime
    answer: str


def note(connection: sqlite3.Connection, alert: Alert, now: datetime) -> bool:
    """Keep an alert to be told, without secrets; whether it is the first of its identity."""
    if is_noted(connection, alert.identity):
        return False
    message = redacted(alert.message, secrets_in(environment()))
    connection.execute(
        "insert into alerts (identity, severity, message, noted_at) values (?, ?, ?, ?)",
        [alert.identity, message.severity, to_json(message), now.timestamp()],
    )
    return True


def is_noted(connection: sqlite3.Connection, identity: str) -> bool:
    """Whether there is such an alert."""
    found = connection.execute("select 1 from alerts where identity = ?", [identity])
    return found.fetchone() is not None


def route(connection: sqlite3.Connection, channels: Sequence[Channel], now: datetime) -> None:
    """Decide who hears of what was noted since: each channel that wants it, else the log.

    What waits for a channel that is no longer there, and was told to nobody, finds another.
    """
    names = [channel.name for channel in (*channels, LOG)]
    marks = ", ".join("?" * len(names))
    gone = f"told_at is null and channel not in ({marks})"
    connection.execute(
        f"update alerts set routed = 0 where id in (select alert_id from deliveries where {gone})"
        f" and not exists (select 1 from deliveries where alert_id = id and not ({gone}))",
        [*names, *names],
    )
    connection.execute(f"delete from deliveries where {gone}", names)
    for row in connection.execute("select * from alerts where not routed order by id").fetchall():
        for channel in list(wanting(channels, from_json(row["message"]))) or [LOG]:
            connection.execute(
                "insert or ignore into deliveries (alert_id, channel, label, next_try)"
                " values (?, ?, ?, ?)",
                [row["id"], channel.name, channel.label, now.timestamp()],
            )
        connection.execute("update alerts set routed = 1 where id = ?", [row["id"]])
    old = (now - _KEPT).timestamp()
    connection.execute(
        "delete from alerts where noted_at < ? and not exists"
        " (select 1 from deliveries where alert_id = id and told_at is null)",
        [old],
    )


def pending(connection: sqlite3.Connection, channel: Channel, now: datetime) -> list[Pending]:
    """What this channel is to be told now, oldest first."""
    rows = connection.execute(
        "select id, message, noted_at, attempts from alerts"
        " join deliveries on alert_id = id"
        " where channel = ? and told_at is null and next_try <= ? order by id",
        [channel.name, now.timestamp()],
    ).fetchall()
    return [
        Pending(row["id"], from_json(row["message"]), _at(row["noted_at"]), row["attempts"])
        for row in rows
    ]


def told_recently(connection: sqlite3.Connection, channel: Channel, since: datetime) -> int:
    """How many alerts this channel was told since then, each by itself or in a digest."""
    (number,) = connection.execute(
        "select count(*) from deliveries where channel = ? and told_at >= ?",
        [channel.name, since.timestamp()],
    ).fetchone()
    return number


def last_told(connection: sqlite3.Connection, channel: Channel) -> datetime | None:
    """When this channel was told something last."""
    (at,) = connection.execute(
        "select max(told_at) from deliveries where channel = ?", [channel.name]
    ).fetchone()
    return _at(at) if at is not None else None


def record_told(
    connection: sqlite3.Connection, channel: Channel, alert_ids: Sequence[int], now: datetime
) -> None:
    """Note that the channel took these, at `now`; it is not offered them again."""
    connection.executemany(
        "update deliveries set told_at = ?, attempts = attempts + 1, answer = 'taken'"
        " where alert_id = ? and channel = ?",
        [(now.timestamp(), one, channel.name) for one in alert_ids],
    )


def record_refused(
    connection: sqlite3.Connection,
    channel: Channel,
    refused: Sequence[Pending],
    answer: str,
    now: datetime,
) -> None:
    """Note that the channel did not take these; they are tried again after a pause that doubles."""
    connection.executemany(
        "update deliveries set attempts = attempts + 1, next_try = ?, answer = ?"
        " where alert_id = ? and channel = ? and told_at is null",
        [
            ((now + _pause(one.attempts)).timestamp(), answer, one.alert_id, channel.name)
            for one in refused
        ],
    )


def deliveries(connection: sqlite3.Connection, *, limit: int) -> list[Delivery]:
    """What became of the newest alerts: first all that are pending, then the newest that were told."""
    rows = connection.execute(
        "select message, noted_at, coalesce(label, 'nobody yet') as label,"
        " coalesce(attempts, 0) as attempts, told_at, coalesce(next_try, noted_at) as next_try,"
        " coalesce(answer, '') as answer"
        " from alerts left join deliveries on alert_id = id"
        " order by told_at is not null, id desc limit ?",
        [limit],
    ).fetchall()
    return [
        Delivery(
            from_json(row["message"]),
            _at(row["noted_at"]),
            row["label"],
            row["attempts"],
            _at(row["told_at"]) if row["told_at"] is not None else None,
            _at(row["next_try"]),
            row["answer"],
        )
        for row in rows
    ]


def _pause(attempts: int) -> timedelta:
    return min(_SHORTEST_PAUSE * 2 ** min(attempts, 10), _LONGEST_PAUSE)


def _at(seconds: float) -> datetime:
    return datetime.fromtimestamp(seconds, UTC)
