"""Feeds whose messages are processed once: which marts hold them, and what came again.

What belongs here: what is declared, and counting. What does not: who owns a message (`dedupe.py`).
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import duckdb

from customer_pipeline.errors import ConfigError
from customer_pipeline.partition_column import PartitionColumn
from customer_pipeline.quoting import quoted
from customer_pipeline.source.feed import Feed


@dataclass(frozen=True)
class Messages:
    """A mart whose rows are the messages of `feed`, each known by its `key` columns."""

    mart: str
    feed: str
    key: tuple[str, ...]

    @property
    def delivered(self) -> str:
        return f"delivered_{self.feed}"

    @property
    def processed(self) -> str:
        return f"processed_{self.feed}"


@dataclass(frozen=True)
class Redelivered:
    """Rows of one partition that do not count: copies, and conflicts (copies that differ)."""

    copies: int
    conflicts: int


def messages_of(
    models: Mapping[str, Mapping[str, Any]], feeds: Mapping[str, Feed]
) -> tuple[Messages, ...]:
    """The marts of messages, as the `meta` of dbt models (model name to its `meta`) states them:
    `dedupe: {feed: events}`. A feed that the source does not offer has no messages.

    Raises:
        ConfigError: a model and its feed disagree about whether messages are processed once.
    """
    named = {model: meta["dedupe"]["feed"] for model, meta in models.items() if "dedupe" in meta}
    for model, feed in named.items():
        if feed in feeds and feeds[feed].write != "dedupe":
            raise ConfigError(
                f"dbt model {model} holds the messages of {feed}, which is not declared to be deduplicated",
                where=f"feed {feed}",
                todo="set write: dedupe in the source YAML",
            )
    for name, feed in feeds.items():
        if feed.write == "dedupe" and name not in named.values():
            raise ConfigError(
                f"no dbt model holds the messages of {name}",
                where=f"feed {name}",
                todo=f"set meta: {{dedupe: {{feed: {name}}}}} in the config of the model that does",
            )
    return tuple(
        Messages(model, feed, feeds[feed].key)
        for model, feed in sorted(named.items())
        if feed in feeds
    )


def redelivered(
    connection: duckdb.DuckDBPyConnection,
    messages: Messages,
    *,
    column: PartitionColumn,
    keys: Sequence[str],
) -> dict[str, Redelivered]:
    """How many published rows of these partitions do not count, by partition."""
    rows = connection.execute(
        f"""
        with delivered as (
            select {column.key} as partition_key, count(*) as rows
            from ops.{quoted(messages.delivered)}
            where {column.among("$keys")}
            group by 1
        ),

        counted as (
            select {column.key} as partition_key, count(*) as rows
            from marts.{quoted(messages.mart)}
            where {column.among("$keys")}
            group by 1
        ),

        conflicts as (
            select partition_key, count(*) as rows
            from ops.quarantine
            where feed = $feed and kind = 'conflict'
            group by 1
        )

        select
            partition_key,
            delivered.rows - coalesce(counted.rows, 0) - coalesce(conflicts.rows, 0),
            coalesce(conflicts.rows, 0)
        from delivered
        left join counted using (partition_key)
        left join conflicts using (partition_key)
        """,
        {"keys": list(keys), "feed": messages.feed},
    ).fetchall()
    found = {key: Redelivered(copies, conflicts) for key, copies, conflicts in rows}
    return {key: found.get(key, Redelivered(0, 0)) for key in keys}
