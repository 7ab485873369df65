"""A dbt-duckdb plugin for work by hand: finds the files where the pipeline has them, and attaches the
warehouse.

What belongs here: what the `by_hand` profile cannot say by itself, which is where the pipeline's
settings put things (relative paths start at the project's root, wherever dbt was started), a clear
hint when there is no warehouse, and waiting for one that another process holds (dbt-duckdb's own
`retries` cover the main file, not attached ones). What does not: anything the pipeline itself uses.
"""

from __future__ import annotations

from pathlib import Path
from typing import Any

import duckdb
from dbt.adapters.duckdb.credentials import DuckDBCredentials
from dbt.adapters.duckdb.plugins import BasePlugin
from dbt_common.exceptions import DbtRuntimeError
from tenacity import Retrying, retry_if_exception, stop_after_delay, wait_random_exponential

from customer_pipeline.errors import ConfigError
from customer_pipeline.quoting import literal
from customer_pipeline.settings import PACKAGE, load_settings
from customer_pipeline.warehouse.connection import is_lock_error

_HERE = Path(__file__).resolve()
# In a wheel the models lie inside the package, and dbt is started where the pipeline is.
_ROOT = None if _HERE.is_relative_to(PACKAGE) else _HERE.parents[2]


class Plugin(BasePlugin):
    """Puts the candidate file below the data folder, and attaches the warehouse read-only, as the
    database `warehouse`."""

    def initialize(self, _plugin_config: dict[str, Any]) -> None:
        """Raises DbtRuntimeError when the settings hold what they should not."""
        try:
            self.settings = load_settings(_ROOT)
        except ConfigError as error:
            raise DbtRuntimeError(str(error)) from error

    def update_connection_config(self, creds: DuckDBCredentials, _config: dict[str, Any]) -> None:
        """Called before DuckDB opens the candidate file.

        Raises:
            DbtRuntimeError: when there is no warehouse yet.
        """
        if not self.settings.warehouse_path.is_file():
            raise DbtRuntimeError(
                f"there is no warehouse at {self.settings.warehouse_path} (load some days first,"
                " for instance with `make run`; or set CUSTOMER_PIPELINE_WAREHOUSE or"
                " CUSTOMER_PIPELINE_DATA_DIR)"
            )
        candidate = self.settings.data_path / creds.path
        candidate.parent.mkdir(parents=True, exist_ok=True)
        creds.path = str(candidate)

    def configure_connection(self, conn: duckdb.DuckDBPyConnection) -> None:
        """Called once DuckDB has opened the candidate file.

        Raises:
            DbtRuntimeError: when another process holds the warehouse for longer than
                CUSTOMER_PIPELINE_LOCK_TIMEOUT says.
        """
        warehouse = self.settings.warehouse_path
        attempts = Retrying(
            retry=retry_if_exception(is_lock_error),
            stop=stop_after_delay(self.settings.lock_timeout),
            wait=wait_random_exponential(multiplier=0.2, max=5),
            reraise=True,
        )
        try:
            attempts(conn.execute, f"attach {literal(str(warehouse))} as warehouse (read_only)")
        except duckdb.IOException as error:
            raise DbtRuntimeError(
                f"the warehouse {warehouse} cannot be opened for reading: {error}"
                " (close what holds it, or try again when the pipeline has finished)"
            ) from error
