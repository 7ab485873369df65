"""A dbt-duckdb plugin for work by hand: makes sure of the folders and attaches the warehouse.

What belongs here: what the `by_hand` profile cannot say by itself, which is a clear hint when there
is no warehouse, and waiting for a warehouse that another process holds (dbt-duckdb's own `retries`
cover the main file, not attached ones). What does not: anything the pipeline itself uses.
"""

from __future__ import annotations

from pathlib import Path
from typing import Any

import duckdb
from dbt.adapters.duckdb.credentials import DuckDBCredentials
from dbt.adapters.duckdb.plugins import BasePlugin
from dbt_common.exceptions import DbtRuntimeError
from tenacity import Retrying, retry_if_exception_message, stop_after_delay, wait_random_exponential

LOCK_TIMEOUT = 30


class Plugin(BasePlugin):
    """Attaches the file of the setting `warehouse` read-only, as the database `warehouse`."""

    def initialize(self, plugin_config: dict[str, Any]) -> None:
        self.warehouse = Path(plugin_config["warehouse"]).resolve()

    def update_connection_config(self, creds: DuckDBCredentials, _config: dict[str, Any]) -> None:
        """Called before DuckDB opens the candidate file.

        Raises:
            DbtRuntimeError: when there is no warehouse yet, or dbt looks in the wrong place.
        """
        if not self.warehouse.is_file():
            raise DbtRuntimeError(
                f"there is no warehouse at {self.warehouse} (load some days first, for instance"
                " with `make run`; or start dbt in the folder dbt_project; or set"
                " CUSTOMER_PIPELINE_WAREHOUSE)"
            )
        Path(creds.path).resolve().parent.mkdir(parents=True, exist_ok=True)

    def configure_connection(self, conn: duckdb.DuckDBPyConnection) -> None:
        """Called once DuckDB has opened the candidate file.

        Raises:
            DbtRuntimeError: when another process holds the warehouse for longer than LOCK_TIMEOUT.
        """
        path = str(self.warehouse).replace("'", "''")
        attempts = Retrying(
            retry=retry_if_exception_message(match=r"(?s).*Could not set lock"),
            stop=stop_after_delay(LOCK_TIMEOUT),
            wait=wait_random_exponential(multiplier=0.2, max=5),
            reraise=True,
        )
        try:
            attempts(conn.execute, f"attach '{path}' as warehouse (read_only)")
        except duckdb.IOException as error:
            raise DbtRuntimeError(
                f"the warehouse {self.warehouse} cannot be opened for reading: {error}"
                " (close what holds it, or try again when the pipeline has finished)"
            ) from error
