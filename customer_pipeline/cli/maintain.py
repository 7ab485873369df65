"""`customer-pipeline maintain`: small files merged, old ones removed, the warehouse compacted."""

from __future__ import annotations

from typing import Annotated

import typer
from rich.console import Console
from rich.filesize import decimal
from rich.table import Table

from customer_pipeline.health.sizes import bytes_below
from customer_pipeline.lake.follow import in_turn
from customer_pipeline.lake.maintenance import tables, tend
from customer_pipeline.lake.table import KEEP_DAYS
from customer_pipeline.settings import load_settings
from customer_pipeline.warehouse.compaction import compact
from customer_pipeline.warehouse.connection import Warehouse


def maintain(
    keep_days: Annotated[
        int, typer.Option(min=0, help="how long replaced files of the lake can still be read")
    ] = KEEP_DAYS,
) -> None:
    """Make the lake and the warehouse small and quick again; runs may go on meanwhile."""
    settings, console = load_settings(), Console()
    warehouse = Warehouse(settings.warehouse_path, settings.lock_timeout)
    done = Table("what", "", title_justify="left")
    done.add_column("before", justify="right")
    done.add_column("after", justify="right")
    with console.status("") as status:
        for folder in tables(settings.lake_path):
            status.update(f"lake: {folder.name}")
            before = bytes_below(folder)
            with in_turn(settings.lake_path, timeout=settings.lock_timeout):
                outcome = "tidied" if tend(folder, keep_days=keep_days) else "nothing to do"
            done.add_row(
                f"lake/{folder.name}", outcome, decimal(before), decimal(bytes_below(folder))
            )
        status.update("warehouse: runs wait until it is copied")
        try:
            result = compact(warehouse)
            done.add_row(
                warehouse.path.name, result.outcome, decimal(result.before), decimal(result.after)
            )
        finally:
            # Also when the warehouse stays as it was: what was done to the lake is done.
            if done.rows:
                console.print(done)
