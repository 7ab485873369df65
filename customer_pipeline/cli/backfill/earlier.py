"""A backfill of earlier: found by the id that it was given, and gone on with.

What does not belong here: backfills that are under way (`control.py`).
"""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING

from customer_pipeline.cli.backfill.asked import Asked
from customer_pipeline.errors import ConfigError
from customer_pipeline.settings import Settings
from customer_pipeline.warehouse.backfills import Backfill, find_backfill
from customer_pipeline.warehouse.connection import Warehouse

if TYPE_CHECKING:
    from customer_pipeline.orchestration.pipeline import Pipeline


def earlier(
    settings: Settings, backfill_id: str, pipeline: str | None
) -> tuple[Pipeline, Backfill]:
    """The backfill of that id, which may be cut short, and the pipeline that it is one of.

    Args:
        pipeline: the one that was typed, if any.

    Raises:
        ConfigError: the ledger does not know it, or it is another pipeline's.
        TransientError: the warehouse is held.
    """
    from customer_pipeline.orchestration.location import build_pipeline

    found = None
    warehouse = Warehouse(settings.warehouse_path, settings.lock_timeout)
    if warehouse.exists:
        with warehouse.read() as connection:
            found = find_backfill(connection, backfill_id)
    if found is None:
        raise ConfigError(
            f"there is no backfill {backfill_id}",
            where="backfill",
            todo="give the id that was printed when it began",
        )
    if pipeline not in (None, found.pipeline):
        raise ConfigError(
            f"backfill {found.backfill_id} belongs to {found.pipeline}, not to {pipeline}",
            where="backfill",
            todo="leave out --pipeline",
        )
    return build_pipeline(settings, found.pipeline), found


def resumed(begun: Backfill, asked: Asked, *, named: bool) -> Asked:
    """What goes on with an earlier backfill: its partitions and its reason, and for the rest what was
    typed now.

    Raises:
        ConfigError: other partitions were `named`.
    """
    if named:
        raise ConfigError(
            "--resume runs what is left of that backfill",
            where="backfill",
            todo="leave out --from and --to",
        )
    return replace(
        asked,
        keys=begun.partition_keys,
        look_at=(),
        resumes=begun.launched_at,
        reason=asked.reason or begun.reason,
    )
