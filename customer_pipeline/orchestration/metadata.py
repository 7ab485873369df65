"""What a person sees on a materialization of a partition: counts, windows, sizes, a small preview.

Names stay the same over time, so that the UI can plot them.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import dagster as dg

from customer_pipeline.outcomes import first_reasons
from customer_pipeline.source.partitions import Window
from customer_pipeline.stages.landing import Manifest
from customer_pipeline.stages.load import Loaded
from customer_pipeline.stages.publication import Publication
from customer_pipeline.stages.transform import Built
from customer_pipeline.stages.validate import Validation

ROWS = "dagster/partition_row_count"


def landing_metadata(manifest: Manifest, window: Window) -> dict[str, Any]:
    shown: dict[str, Any] = {
        ROWS: manifest.landed_rows,
        "source_rows": manifest.source_rows,
        "quarantined_rows": manifest.quarantined_rows,
        "bytes": manifest.size,
        "state": manifest.state,
        "window": f"[{window.start.isoformat()}, {window.end.isoformat()})",
        "hours": window.hours,
    }
    if manifest.other_rows:
        shown["rows_of_other_feeds"] = manifest.other_rows
    if manifest.version is not None:
        shown["version"] = manifest.version
    if manifest.reason:
        shown["reason"] = manifest.reason
    if manifest.warnings:
        shown["warnings"] = _listed(manifest.warnings)
    if manifest.drift:
        shown["schema_drift"] = _listed(manifest.drift)
    return shown


def raw_metadata(loaded: Loaded) -> dict[str, dict[str, Any]]:
    shown: dict[str, dict[str, Any]] = {
        m.partition_key: {ROWS: m.landed_rows, "state": m.state} for m in loaded.manifests
    }
    return shown | {
        key: {"state": "kept as it was", "reason": casualty.reason}
        for key, casualty in first_reasons(loaded.casualties).items()
    }


def model_metadata(built: Built, model: str) -> dict[str, dict[str, Any]]:
    shown: dict[str, dict[str, Any]] = {
        key: {ROWS: built.rows.get((model, key), 0)} for key in built.partition_keys
    }
    return shown | {
        key: {"state": "not built", "reason": casualty.reason}
        for key, casualty in first_reasons(built.casualties).items()
    }


def verdict_metadata(result: Validation, keys: Sequence[str]) -> dict[str, dict[str, Any]]:
    lost = first_reasons(result.casualties)
    shown: dict[str, dict[str, Any]] = {
        key: {"verdict": "failed", "stage": lost[key].stage, "reason": lost[key].reason}
        for key in keys
        if key in lost
    }
    for verdict in result.verdicts:
        shown[verdict.partition_key] = shown.get(verdict.partition_key, {"verdict": "passed"}) | {
            "source_rows": verdict.source_rows,
            "quarantined_rows": verdict.quarantined_rows,
            "raw_rows": verdict.raw_rows,
        }
    return shown


def mart_metadata(publication: Publication, mart: str, seconds: float) -> dict[str, dict[str, Any]]:
    """By partition; the preview is of that partition's own rows."""
    shown: dict[str, dict[str, Any]] = {}
    for row in publication.published:
        here = (mart, row.partition_key)
        shown[row.partition_key] = {
            ROWS: publication.mart_rows.get(here, 0),
            "status": row.status,
            "content_hash": row.content_hash,
            "publish_seconds": round(seconds, 3),
        }
        if here in publication.previews:
            shown[row.partition_key]["preview"] = _table(publication.previews[here])
    return shown


def _listed(values: Sequence[object]) -> dg.MarkdownMetadataValue:
    """A list of texts, which hold names that a source has given: none of it is markup."""
    texts = (str(value).replace("`", "'") for value in values)
    return dg.MetadataValue.md("\n".join(f"- `{text}`" for text in texts))


def _table(rows: Sequence[Mapping[str, str | None]]) -> dg.TableMetadataValue:
    return dg.MetadataValue.table(
        [dg.TableRecord({name: value or "" for name, value in row.items()}) for row in rows],
        schema=dg.TableSchema([dg.TableColumn(name) for name in rows[0]]),
    )
