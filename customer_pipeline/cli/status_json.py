"""`customer-pipeline status --json`: the same for scripts, with keys that stay (see README.md).

Every partition stands under what people call it (`days`, and of each its `day`; `months`, and of each
its `month`), and has its key as `partition` too, for scripts that read any pipeline's.
"""

from __future__ import annotations

import json
from collections import Counter
from dataclasses import asdict
from datetime import datetime
from typing import TYPE_CHECKING, Any

from customer_pipeline.cli.standing import Standing
from customer_pipeline.planning.detail import Detail
from customer_pipeline.planning.state import KINDS, State

if TYPE_CHECKING:
    from customer_pipeline.orchestration.pipeline import Pipeline


def status_json(pipeline: Pipeline, found: Standing, detail: Detail | None) -> str:
    """One JSON object, indented. `detail` is about the one partition that was asked for."""
    totals, noun = Counter(state.kind for state in found.states), pipeline.partitions.noun
    content: dict[str, Any] = {
        "pipeline": pipeline.name,
        "source": pipeline.source.name,
        "code_version": pipeline.code_version,
        "from": found.states[0].partition_key,
        "to": found.states[-1].partition_key,
        "totals": {kind: totals[kind] for kind in KINDS},
        "noun": noun,
        f"{noun}s": [_state(state, noun) for state in found.states],
        "disagreements": (
            None
            if found.record is None
            else [
                _named(one.partition_key, noun) | {"ledger": one.ledger, "dagster": one.dagster}
                for one in found.record.disagreements
            ]
        ),
    }
    if detail is not None:
        content["detail"] = asdict(detail)
    return json.dumps(content, indent=1, ensure_ascii=False, default=_text)


def _state(state: State, noun: str) -> dict[str, Any]:
    fields = asdict(state)
    return _named(fields.pop("partition_key"), noun) | {"state": fields.pop("kind"), **fields}


def _named(key: str, noun: str) -> dict[str, Any]:
    return {noun: key, "partition": key}


def _text(value: object) -> str:
    return value.isoformat() if isinstance(value, datetime) else str(value)
