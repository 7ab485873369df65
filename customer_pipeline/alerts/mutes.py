"""Mutes: feeds and partitions of which nobody wants to hear until some moment, and why.

What is still wrong when a mute ends is told then.

What belongs here: reading and writing `mutes`. What does not: the command (`cli/alerts.py`).
"""

from __future__ import annotations

import sqlite3
from dataclasses import dataclass
from datetime import UTC, datetime


@dataclass(frozen=True)
class Mute:
    """`subject` is the name of a feed, or what `partition_subject` calls a partition."""

    subject: str
    until: datetime
    reason: str
    muted_by: str


def partition_subject(key: str, option: str) -> str:
    """What a mute calls a partition: a month has the key of a day.

    Args:
        option: what a command says to mean its pipeline, with a space in front.
    """
    return f"{key}{option}"


def mute(connection: sqlite3.Connection, new: Mute, now: datetime) -> None:
    """Mute a subject; an earlier mute of it is replaced."""
    connection.execute(
        "insert or replace into mutes values (?, ?, ?, ?, ?)",
        [new.subject, new.until.timestamp(), new.reason, new.muted_by, now.timestamp()],
    )


def unmute(connection: sqlite3.Connection, subject: str) -> bool:
    """End a mute; whether there was one."""
    done = connection.execute("delete from mutes where subject = ?", [subject])
    return done.rowcount == 1


def mutes(connection: sqlite3.Connection, now: datetime) -> dict[str, Mute]:
    """The mutes that hold at the moment, by subject."""
    rows = connection.execute(
        "select * from mutes where until > ? order by subject", [now.timestamp()]
    ).fetchall()
    return {
        row["subject"]: Mute(
            row["subject"],
            datetime.fromtimestamp(row["until"], UTC),
            row["reason"],
            row["muted_by"],
        )
        for row in rows
    }
