"""Lake against ledger: does every Delta table hold what is published, and nothing else?"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence

import duckdb

from customer_pipeline.errors import StageError
from customer_pipeline.lake.follow import Lake
from customer_pipeline.verification.findings import Finding
from customer_pipeline.warehouse.content_hash import content_hashes
from customer_pipeline.warehouse.ledger import Published


def lake_against_ledger(
    connection: duckdb.DuckDBPyConnection,
    lake: Lake,
    marts: Sequence[str],
    keys: Sequence[str],
    published: Mapping[str, Published],
) -> Iterator[Finding]:
    """Differences between the lake's rows and what the ledger says is published."""
    try:
        with lake.relations(connection, marts, keys) as relations:
            hashes = content_hashes(connection, relations, lake.column, keys)
            empty = content_hashes(connection, {}, lake.column, ["none"])["none"]
    except StageError as error:
        yield from (Finding(key, "lake", str(error)) for key in published)
        return
    for key in keys:
        if key not in published:
            if hashes[key] != empty:
                yield Finding(key, "lake", "holds rows of a partition that was never published")
        elif hashes[key] != published[key].content_hash:
            yield Finding(
                key, "lake", "holds other rows than those published; the next run fixes it"
            )
