"""Landing, raw, marts and ledger against each other, counted and hashed again.

Nothing that the pipeline recorded is believed: rows are counted in files and tables, contents are
hashed anew, and only then is the ledger compared with that.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass

import duckdb

from customer_pipeline.partition_column import PartitionColumn
from customer_pipeline.quoting import literal, quoted
from customer_pipeline.source.feed import Feed
from customer_pipeline.stages.landing import Landing
from customer_pipeline.stages.messages import Messages
from customer_pipeline.stages.reconcile import Aggregate, Rule, compare
from customer_pipeline.verification.findings import Finding
from customer_pipeline.warehouse.content_hash import content_hashes
from customer_pipeline.warehouse.deliveries import loaded_fingerprints
from customer_pipeline.warehouse.ledger import Published, source_fingerprint
from customer_pipeline.warehouse.sql import columns_of, rows_by_partition


@dataclass(frozen=True)
class Tables:
    """What to look at: the feeds, the marts and their rules, and the partitions `keys`."""

    feeds: Mapping[str, Feed]
    marts: Sequence[str]
    messages: Sequence[Messages]
    rules: Sequence[Rule]
    landing: Landing
    keys: Sequence[str]

    @property
    def column(self) -> PartitionColumn:
        return self.landing.column


def raw_against_landing(connection: duckdb.DuckDBPyConnection, tables: Tables) -> Iterator[Finding]:
    """Differences between the landed files, the raw tables, and the quarantine."""
    for feed in tables.feeds:
        raw = f"raw.{quoted(feed)}"
        if not columns_of(connection, "raw", feed):
            yield from (Finding(key, "raw", f"{feed}: never loaded") for key in tables.keys)
            continue
        counts = rows_by_partition(connection, raw, tables.column, tables.keys)
        for key in tables.keys:
            yield from _raw_of_partition(connection, tables, feed, key, counts.get(key, 0))


def _raw_of_partition(
    connection: duckdb.DuckDBPyConnection, tables: Tables, feed: str, key: str, rows: int
) -> Iterator[Finding]:
    manifest = tables.landing.read(feed, key)
    if manifest is None or manifest.state == "rejected":
        return
    recorded = connection.execute(
        "select fingerprint, declaration, quarantined_rows from ops.deliveries"
        " where feed = ? and partition_key = ?",
        [feed, key],
    ).fetchone()
    if recorded is None:
        yield Finding(key, "raw", f"{feed}: landed, but never loaded")
        return
    if recorded[:2] != (manifest.fingerprint, manifest.declaration):
        yield Finding(
            key, "raw", f"{feed}: a newer delivery has landed than the one that is loaded"
        )
        return
    path = tables.landing.data_path(manifest)
    landed, same = _compare_files(connection, tables, feed, key, str(path)) if path else (0, True)
    if landed != rows:
        yield Finding(key, "raw", f"{feed}: {landed} rows landed, {rows} in raw")
    elif not same:
        yield Finding(key, "raw", f"{feed}: as many rows as landed, but other values")
    quarantined = connection.execute(
        "select count(*) from ops.quarantine"
        " where feed = ? and partition_key = ? and kind = 'unreadable'",
        [feed, key],
    ).fetchone()
    if quarantined != (recorded[2],):
        yield Finding(
            key,
            "raw",
            f"{feed}: {recorded[2]} rows went to quarantine, {(quarantined or (0,))[0]} are there",
        )


def _compare_files(
    connection: duckdb.DuckDBPyConnection, tables: Tables, feed: str, key: str, path: str
) -> tuple[int, bool]:
    """The rows in a landed file, and whether raw holds the same values."""
    landed = f"(from read_parquet({literal(path)}, hive_partitioning = false))"
    names = [name for name, *_ in connection.execute(f"describe from {landed}").fetchall()]
    raw = f"(select {', '.join(map(quoted, names))} from raw.{quoted(feed)})"
    (rows,) = connection.execute(f"select count(*) from {landed}").fetchone() or (0,)
    one, other = (
        content_hashes(connection, {feed: relation}, tables.column, [key])[key]
        for relation in (landed, raw)
    )
    return rows, one == other


def marts_against_raw(
    connection: duckdb.DuckDBPyConnection, tables: Tables, published: Mapping[str, Published]
) -> Iterator[Finding]:
    """Differences between the raw rows and what is published of them."""
    loaded = loaded_fingerprints(connection, tables.feeds)
    current = []
    for key, row in published.items():
        if source_fingerprint(loaded.get(key, {})) == row.source_fingerprint:
            current.append(key)
        else:
            yield Finding(key, "marts", "raw holds a different delivery from the published one")
    sources = {f"main.{one.mart}": f"ops.{quoted(one.delivered)}" for one in tables.messages}
    rules = [_over_what_is_published(rule, sources) for rule in tables.rules]
    for result in compare(connection, rules, column=tables.column, keys=current):
        if not result.passed:
            yield Finding(result.partition_key, "marts", f"{result.check}: {result.description}")
    for messages in tables.messages:
        yield from _messages(connection, tables, messages, published)


def marts_against_ledger(
    connection: duckdb.DuckDBPyConnection, tables: Tables, published: Mapping[str, Published]
) -> Iterator[Finding]:
    """Differences between the published rows and what the ledger says of them."""
    relations = {mart: f"marts.{quoted(mart)}" for mart in tables.marts}
    hashes = content_hashes(connection, relations, tables.column, tables.keys)
    rows = dict.fromkeys(tables.keys, 0)
    for relation in relations.values():
        for key, count in rows_by_partition(
            connection, relation, tables.column, tables.keys
        ).items():
            rows[key] += count
    for key in tables.keys:
        row = published.get(key)
        if row is None:
            if rows[key]:
                yield Finding(key, "ledger", f"{rows[key]} rows in marts, but never published")
        elif rows[key] != row.mart_rows:
            yield Finding(
                key, "ledger", f"{rows[key]} rows in marts, {row.mart_rows} in the ledger"
            )
        elif hashes[key] != row.content_hash:
            yield Finding(key, "ledger", "as many rows in marts as published, but other values")


def _messages(
    connection: duckdb.DuckDBPyConnection,
    tables: Tables,
    messages: Messages,
    published: Mapping[str, Published],
) -> Iterator[Finding]:
    """Messages that do not count where they were delivered first."""
    names = ", ".join(map(quoted, columns_of(connection, "marts", messages.mart)))
    by = ", ".join(map(quoted, messages.key))
    mart, column = f"marts.{quoted(messages.mart)}", tables.column
    rows = connection.execute(
        f"""
        with first as (
            select distinct on ({by}) {names}
            from ops.{quoted(messages.delivered)}
            order by {by}, {column.quoted}, _line
        ),

        different as (
            (select {names} from first except all select {names} from {mart})
            union all
            (select {names} from {mart} except all select {names} from first)
        )

        select {column.key}, count(*) from different group by 1 order by 1
        """
    ).fetchall()
    for key, count in rows:
        if key in published:
            yield Finding(
                key,
                "marts",
                f"{messages.mart}: {count} messages are not counted where they were first delivered",
            )


def _over_what_is_published(rule: Rule, sources: Mapping[str, str]) -> Rule:
    """The rule with the warehouse's tables in the place of the candidate's."""

    def moved(aggregate: Aggregate) -> Aggregate:
        published = aggregate.relation.replace("main.", "marts.", 1)
        return aggregate.model_copy(update={"relation": sources.get(aggregate.relation, published)})

    return rule.model_copy(update={"expected": moved(rule.expected), "actual": moved(rule.actual)})
