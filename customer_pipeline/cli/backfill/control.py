"""Backfills that are under way: stopping them, and how many of their runs may work at once.

What belongs here: what `--cancel` and `--change` do. What does not: launching (`flow.py`).
"""

from __future__ import annotations

import time
from typing import TYPE_CHECKING

from rich.console import Console

from customer_pipeline.cli.instance import kept_instance
from customer_pipeline.errors import ConfigError
from customer_pipeline.warehouse.backfills import Backfill

if TYPE_CHECKING:
    from dagster import DagsterInstance

    from customer_pipeline.orchestration.pipeline import Pipeline

_PATIENCE = 120.0


def cancel_backfill(console: Console, pipeline: Pipeline, backfill: Backfill) -> None:
    """Cancel what is under way of a backfill.

    Raises:
        ConfigError: nothing is, or Dagster's instance is not known.
        StageError: Dagster does not accept it.
    """
    from customer_pipeline.orchestration.backfill_progress import active_backfills
    from customer_pipeline.orchestration.backfills import cancel

    backfill_id = backfill.backfill_id
    with kept_instance() as instance:
        active = active_backfills(_known(instance), backfill_id)
    if not active:
        raise _nothing_under_way(backfill_id)
    with console.status("asking Dagster"):
        cancel([one.backfill_id for one in active])
    console.print(
        f"backfill {backfill_id} is being cancelled: nothing more of it starts, and what runs is"
        f" stopped within half a minute; {pipeline.partitions.one} is published whole or not at all"
    )


def change_limit(
    console: Console, pipeline: Pipeline, backfill: Backfill, active_runs: int
) -> None:
    """Let that many runs of a backfill work at once from now on, those that wait included.

    Raises:
        ConfigError: as `cancel_backfill`; or the instance cannot keep to that limit.
    """
    from customer_pipeline.orchestration.backfill_progress import active_backfills
    from customer_pipeline.orchestration.instance_view import partitions_without_run
    from customer_pipeline.orchestration.run_limits import checked_limit, limit_runs

    backfill_id = backfill.backfill_id
    with kept_instance() as kept:
        instance = _known(kept)
        limit, until = checked_limit(instance, active_runs), time.monotonic() + _PATIENCE
        with console.status("changing the runs that have not ended"):
            while True:
                # The daemon makes the runs of a backfill in the half minute after it was launched.
                # Asked first: those that are made from here on are changed in the next round.
                to_come = any(
                    key
                    for one in active_backfills(instance, backfill_id)
                    for key in partitions_without_run(instance, pipeline, one)
                )
                changed = limit_runs(instance, backfill_id, limit)
                if not to_come or time.monotonic() > until:
                    break
                time.sleep(1)
    if not changed:
        raise _nothing_under_way(backfill_id)
    console.print(f"at most {active_runs} at once from now on; {changed} runs are left")


def _known(instance: DagsterInstance | None) -> DagsterInstance:
    if instance is None:
        raise ConfigError(
            "DAGSTER_HOME is not set, so it is not known what is under way",
            where="backfill",
            todo="export DAGSTER_HOME=$PWD/.dagster_home",
        )
    return instance


def _nothing_under_way(backfill_id: str) -> ConfigError:
    return ConfigError(
        f"nothing of backfill {backfill_id} is under way", where="backfill", todo="see the UI"
    )
