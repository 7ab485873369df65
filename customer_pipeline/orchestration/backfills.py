"""Launching and cancelling Dagster's own backfills, as its UI does it.

The UI's mutations are the only public way to a backfill, and they need no web server: Dagster's
command `dagster-graphql` runs them on the instance of DAGSTER_HOME. It loads the location anew,
which takes some seconds.

What belongs here: what is sent, and what comes back. What does not: which partitions, in which
pieces (`planning/`), and how it goes on (`backfill_progress.py`).
"""

from __future__ import annotations

import json
import subprocess
import sys
import tempfile
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from customer_pipeline.errors import StageError
from customer_pipeline.orchestration.pipeline import Pipeline
from customer_pipeline.orchestration.run_tags import (
    BACKFILL,
    ORDER,
    REASON,
    limit_tag,
    order,
    time_allowed,
)
from customer_pipeline.orchestration.specs import partitioned_keys
from customer_pipeline.planning.pieces import apart

_WORKSPACE = """\
load_from:
  - python_module: {module_name: customer_pipeline.definitions, location_name: customer_pipeline}
"""
_RUN = "from dagster_graphql.cli import main; main()"
_TIMEOUT = 300


@dataclass(frozen=True)
class Launch:
    """How the runs of one backfill (`backfill_id`, ours) are to be launched.

    Args:
        begin: the partition at which the whole backfill begins, in its order.
        max_active_runs: None for as many as the instance allows.
    """

    backfill_id: str
    reason: str
    newest_first: bool
    begin: str
    max_active_runs: int | None = None

    @property
    def tags(self) -> dict[str, str]:
        """The tags of the Dagster backfills, and of their runs."""
        tags = {
            BACKFILL: self.backfill_id,
            ORDER: order(newest_first=self.newest_first, begin=self.begin),
        }
        if self.reason:
            tags[REASON] = self.reason
        if self.max_active_runs is not None:
            tags[limit_tag(self.max_active_runs)] = self.backfill_id
        return tags


def launch(
    pipeline: Pipeline, how: Launch, keys: Sequence[str], pieces: Sequence[Sequence[str]]
) -> list[str]:
    """Ask Dagster for a run of each piece; returns the ids of its backfills, of which there are two
    when pieces touch each other.

    Args:
        keys: the calendar of the pipeline.

    Raises:
        StageError: Dagster has not accepted them, and why; or it did not answer.
    """
    lots = apart(keys, pieces)
    fields = [
        _launch_field(f"lot{n}", pipeline, how, [key for piece in lot for key in piece])
        for n, lot in enumerate(lots)
    ]
    begun = f"customer-pipeline backfill --resume {how.backfill_id}"
    answers = _mutate(
        "mutation {\n" + "\n".join(fields) + "\n}",
        then=f"{begun}, or --cancel {how.backfill_id}",
    )
    return [answer["backfillId"] for answer in answers.values()]


def cancel(dagster_ids: Sequence[str]) -> None:
    """Cancel backfills of Dagster's: nothing more of them starts, and what runs is stopped.

    Raises:
        StageError: Dagster has not accepted that, and why; or it did not answer.
    """
    fields = [
        f"b{n}: cancelPartitionBackfill(backfillId: {json.dumps(one)}) {{ __typename"
        " ... on CancelBackfillSuccess { backfillId } ... on Error { message } }"
        for n, one in enumerate(dagster_ids)
    ]
    _mutate("mutation {\n" + "\n".join(fields) + "\n}", then="cancel it again if it goes on")


def _launch_field(name: str, pipeline: Pipeline, how: Launch, keys: Sequence[str]) -> str:
    # Lists and texts of JSON are written the same in GraphQL.
    assets = ", ".join(f"{{path: {json.dumps(key.path)}}}" for key in partitioned_keys(pipeline))
    run_tags = how.tags | time_allowed(pipeline.longest_pause)
    tags = ", ".join(
        f"{{key: {json.dumps(key)}, value: {json.dumps(value)}}}" for key, value in run_tags.items()
    )
    return (
        f"{name}: launchPartitionBackfill(backfillParams: {{assetSelection: [{assets}],"
        f" partitionNames: {json.dumps(list(keys))}, tags: [{tags}], fromFailure: false,"
        f" title: {json.dumps(f'backfill {how.backfill_id}')},"
        f" description: {json.dumps(how.reason)}}})"
        " { __typename ... on LaunchBackfillSuccess { backfillId } ... on Error { message } }"
    )


def _mutate(document: str, *, then: str) -> Mapping[str, Mapping[str, Any]]:
    """Run mutations; returns their answers by name, all of which are successes.

    Args:
        then: what a person is to do when there is no answer, and it is known what became of it.
    """
    with tempfile.TemporaryDirectory(prefix="customer-pipeline-") as folder:
        query, workspace, output = (Path(folder) / name for name in ("q", "workspace.yaml", "out"))
        query.write_text(document)
        workspace.write_text(_WORKSPACE)
        try:
            done = subprocess.run(
                [
                    *(sys.executable, "-c", _RUN),
                    *("--workspace", workspace, "--file", query, "--output", output),
                ],
                capture_output=True,
                text=True,
                timeout=_TIMEOUT,
                # A Ctrl-C is for this process, which then says what is to become of the backfill.
                start_new_session=True,
            )
        except subprocess.TimeoutExpired:
            # It may have taken them in all the same.
            raise StageError(
                f"Dagster did not answer within {_TIMEOUT:g} s",
                where="dagster-graphql",
                todo=f"look in the UI under Runs, Backfills what has become of it; then {then}",
            ) from None
        if not output.exists():
            raise StageError(_last_line(done.stderr or done.stdout), where="dagster-graphql")
        answer = json.loads(output.read_text())
    if errors := answer.get("errors"):
        raise StageError(errors[0]["message"], where="dagster-graphql")
    for one in answer["data"].values():
        if not one["__typename"].endswith("Success"):
            raise StageError(
                str(one.get("message", one["__typename"])).splitlines()[0], where="Dagster"
            )
    return answer["data"]


def _last_line(text: str) -> str:
    lines = [line for line in text.splitlines() if line.strip()]
    return lines[-1] if lines else "it ended without a word"
