"""`customer-pipeline status --json`: the same for scripts, with keys that stay (see README.md)."""

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


def status_json(pipeline: Pipeline, found: Standing, day: Detail | None) -> str:
    """One JSON object, indented. `day` adds all about the one day that was asked for."""
    totals = Counter(state.kind for state in found.states)
    content: dict[str, Any] = {
        "pipeline": pipeline.name,
        "source": pipeline.source.name,
        "code_version": pipeline.code_version,
        "from": found.states[0].partition_key,
        "to": found.states[-1].partition_key,
        "totals": {kind: totals[kind] for kind in KINDS},
        "days": [_state(state) for state in found.states],
        "disagreements": (
            None
            if found.record is None
            else [
                {"day": one.partition_key, "ledger": one.ledger, "dagster": one.dagster}
                for one in found.record.disagreements
            ]
        ),
    }
    if day is not None:
        content["detail"] = asdict(day)
    return json.dumps(content, indent=1, ensure_ascii=False, default=_text)


def _state(state: State) -> dict[str, Any]:
    fields = asdict(state)
    return {"day": fields.pop("partition_key"), "state": fields.pop("kind"), **fields}


def _text(value: object) -> str:
    return value.isoformat() if isinstance(value, datetime) else str(value)
