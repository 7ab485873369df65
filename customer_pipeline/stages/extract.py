"""Extract: exactly one partition's delivery becomes typed rows in the landing area.

What cannot be read as a record goes to quarantine beside the rows. A delivery that as a whole is
not what it should be leaves a *rejected* landing: no rows, and the reason. So the landing area
always tells what the source looked like when it was last read, and no later stage can take old rows
for new ones.

What does not belong here: reading formats (`source/readers`), casts (`source/mapping`).
"""

from __future__ import annotations

import json
import os
from collections.abc import Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass, replace
from functools import partial
from pathlib import Path

import duckdb
import pyarrow as pa
import pyarrow.compute as pc
import pyarrow.parquet as pq

from customer_pipeline.code_version import declaration_version
from customer_pipeline.errors import DeliveryError, MissingDeliveryError, TransientError
from customer_pipeline.partition_column import PartitionColumn
from customer_pipeline.source.delivery import LINE, Delivery, RejectedRow
from customer_pipeline.source.drift import ColumnsError, Drift
from customer_pipeline.source.feed import Feed
from customer_pipeline.source.mapping.query import REASON, exact_rows, mapping_query
from customer_pipeline.source.offers import file_of, unchanged_content
from customer_pipeline.source.partitions import Window
from customer_pipeline.source.readiness import telling_time
from customer_pipeline.source.reading import read_delivery
from customer_pipeline.stages.landing import Landing, Manifest, State
from customer_pipeline.warehouse.connection import prepare

# Of partition columns.
_ARROW_TYPES = {"DATE": pa.date32(), "VARCHAR": pa.string()}


def extract(
    feed_name: str,
    feed: Feed,
    windows: Sequence[Window],
    *,
    zone: str,
    landing: Landing,
    give_up: bool,
    as_it_lies: bool = False,
) -> list[Manifest]:
    """Land `windows` of a feed, each on its own, a few at a time; manifests in the same order.

    Args:
        zone: the source's time zone, for times that name none.
        give_up: whether a source that cannot be reached now, or a delivery that is not complete yet,
            makes a rejected delivery. Otherwise the other partitions are landed, and then the error
            is raised, for another attempt: both may pass by themselves.
        as_it_lies: take deliveries whatever the feed's `ready_when` says about their being complete.

    Raises:
        TransientError: such a source or delivery, and `give_up` is false.
        ConfigError: the feed's declaration cannot work, or the folder is another source's.
    """
    landing.claim()
    with (
        duckdb.connect() as database,
        ThreadPoolExecutor(max_workers=os.cpu_count()) as pool,
    ):
        extraction = _Extraction(
            feed_name, feed, zone, landing, declaration_version(feed, zone), database, as_it_lies
        )
        found = list(pool.map(partial(extraction.land, give_up=give_up), windows))
    unreachable = [outcome for outcome in found if isinstance(outcome, TransientError)]
    if unreachable:
        raise unreachable[0]
    return [outcome for outcome in found if isinstance(outcome, Manifest)]


@dataclass(frozen=True)
class _Rows:
    """A delivery as loaded columns: what lands, and what goes to quarantine."""

    landed: pa.Table
    quarantined: list[RejectedRow]
    others: int

    @property
    def source_rows(self) -> int:
        return self.landed.num_rows + len(self.quarantined)


@dataclass(frozen=True)
class _Extraction:
    feed_name: str
    feed: Feed
    zone: str
    landing: Landing
    declaration: str
    database: duckdb.DuckDBPyConnection
    as_it_lies: bool

    def land(self, window: Window, *, give_up: bool) -> Manifest | TransientError:
        """Read and land one partition. An unreachable source is returned, so that others go on."""
        with self.landing.turn(self.feed_name, window.key):
            file = file_of(self.feed, window)
            try:
                delivery = read_delivery(
                    self.feed, window, known=self._known(window), as_it_lies=self.as_it_lies
                )
                rows = self._mapped(delivery, window)
            except MissingDeliveryError as error:
                return self._missing(window, str(error))
            except ColumnsError as error:
                refused = self._rejected(window, str(error), error.drift)
            except DeliveryError as error:
                refused = self._rejected(window, str(error))
            except TransientError as error:
                return self.landing.commit(self._rejected(window, str(error))) if give_up else error
            else:
                return self._landed(window, delivery, rows)
            # Which content was refused, so that it is known when another one comes.
            content = unchanged_content(file) if file else None
            return self.landing.commit(replace(refused, fingerprint=content or refused.fingerprint))

    def _mapped(self, delivery: Delivery, window: Window) -> _Rows:
        # Threads must not share a connection; all connections share the cores.
        rows = exact_rows(delivery.rows, window)
        query = mapping_query(self.feed, rows.schema, window, self.zone)
        with self.database.cursor() as connection:
            prepare(connection)
            connection.register("delivered", rows)
            mapped = connection.execute(query).to_arrow_table()
        good = mapped[REASON].is_null()
        landed = mapped if mapped[REASON].null_count == mapped.num_rows else mapped.filter(good)
        refused = (
            []
            if landed is mapped
            else _refused(mapped.filter(mapped[REASON].is_valid()), delivery.rows)
        )
        return _Rows(
            landed=_placed(landed.drop_columns(REASON), self.landing.column, window),
            quarantined=sorted([*delivery.rejected, *refused], key=lambda row: row.line),
            others=delivery.rows.num_rows - mapped.num_rows,
        )

    def _landed(self, window: Window, delivery: Delivery, rows: _Rows) -> Manifest:
        manifest = Manifest(
            feed=self.feed_name,
            partition_key=window.key,
            state="landed",
            declaration=self.declaration,
            fingerprint=delivery.fingerprint,
            source_rows=rows.source_rows,
            landed_rows=rows.landed.num_rows,
            quarantined_rows=len(rows.quarantined),
            other_rows=rows.others,
            size=delivery.size,
            warnings=delivery.warnings,
            modified_ns=telling_time(delivery.file) if delivery.file else None,
            version=delivery.version,
            drift=delivery.drift,
            complete_fingerprint=delivery.fingerprint,
            columns_seen=delivery.columns_seen,
        )
        if rows.quarantined:
            quarantine = _quarantine_table(rows.quarantined, self.landing.column, window)
            manifest = replace(
                manifest, quarantine_file=self._store(window, "quarantine", quarantine)
            )
        share = len(rows.quarantined) / rows.source_rows if rows.source_rows else 0.0
        if share > self.feed.quarantine_threshold:
            first = rows.quarantined[0]
            reason = (
                f"{len(rows.quarantined)} of {rows.source_rows} rows cannot be loaded ({share:.1%},"
                f" {self.feed.quarantine_threshold:.1%} allowed); the first: line {first.line}:"
                f" {first.reason}"
            )
            return self.landing.commit(
                replace(manifest, state="rejected", reason=reason, landed_rows=0)
            )
        data_file = self._store(window, "rows", rows.landed)
        return self.landing.commit(replace(manifest, data_file=data_file))

    def _missing(self, window: Window, reason: str) -> Manifest:
        if not self.feed.may_be_empty(window):
            return self.landing.commit(self._rejected(window, reason))
        return self.landing.commit(self._without_rows(window, "absent", "empty by rule"))

    def _rejected(self, window: Window, reason: str, drift: tuple[Drift, ...] = ()) -> Manifest:
        return replace(self._without_rows(window, "rejected", reason), drift=drift)

    def _without_rows(self, window: Window, state: State, reason: str) -> Manifest:
        return Manifest(
            feed=self.feed_name,
            partition_key=window.key,
            state=state,
            declaration=self.declaration,
            fingerprint=state,
            reason=" ".join(reason.split()),
            complete_fingerprint=self._known(window),
        )

    def _known(self, window: Window) -> str | None:
        """The content that was complete when the partition was extracted before."""
        try:
            before = self.landing.read(self.feed_name, window.key)
        except ValueError:
            # Damaged on the disk: this extract replaces it.
            return None
        return before.complete_fingerprint if before else None

    def _store(self, window: Window, name: str, table: pa.Table) -> str:
        def write(path: Path) -> None:
            pq.write_table(table, path, compression="snappy")

        return self.landing.store(self.feed_name, window.key, name, write)


def _placed(rows: pa.Table, column: PartitionColumn, window: Window) -> pa.Table:
    """`rows` with the partition column in front."""
    key = pa.scalar(window.key).cast(_ARROW_TYPES[column.type])
    return rows.add_column(0, column.name, pa.repeat(key, rows.num_rows))


def _refused(mapped: pa.Table, delivered: pa.Table) -> list[RejectedRow]:
    """The rows that the mapping refused, with what was delivered as JSON."""
    lines = mapped[LINE].to_pylist()
    raw = {
        row.pop(LINE): json.dumps(row, ensure_ascii=False, default=str)
        for row in delivered.filter(pc.field(LINE).isin(lines)).to_pylist()
    }
    reasons = mapped[REASON].to_pylist()
    return [
        RejectedRow(line, reason, raw[line]) for line, reason in zip(lines, reasons, strict=True)
    ]


def _quarantine_table(
    rows: Sequence[RejectedRow], column: PartitionColumn, window: Window
) -> pa.Table:
    table = pa.table(
        {
            LINE: pa.array([row.line for row in rows], pa.int64()),
            "reason": pa.array([row.reason for row in rows], pa.string()),
            "raw": pa.array([row.raw for row in rows], pa.string()),
        }
    )
    return _placed(table.rename_columns(["line", "reason", "raw"]), column, window)
