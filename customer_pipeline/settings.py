"""What the environment (and `.env`) says, typed. The one place that reads it.

What belongs here: names, defaults and meanings of `CUSTOMER_PIPELINE_*`. What does not: the source
YAML (see `source/`), and Dagster's own settings (see `dagster.yaml`).
"""

from __future__ import annotations

import os
from datetime import time
from pathlib import Path
from typing import Annotated

from dotenv import dotenv_values
from pydantic import Field, SecretStr, ValidationError
from pydantic_settings import BaseSettings, SettingsConfigDict

from customer_pipeline.errors import ConfigError

PACKAGE = Path(__file__).parent
DEMO_SOURCE = PACKAGE / "source" / "demo.yaml"


def _absolute(path: Path) -> Path:
    return path.expanduser().absolute()


class Settings(BaseSettings):
    """All settings are optional. Relative paths start at the current folder (see `load_settings`)."""

    model_config = SettingsConfigDict(
        env_prefix="CUSTOMER_PIPELINE_",
        env_file=".env",
        env_ignore_empty=True,
        extra="ignore",
        frozen=True,
    )

    source: Path = DEMO_SOURCE
    data_dir: Path = Path("data")
    warehouse: Path | None = None
    max_retries: Annotated[int, Field(ge=0)] = 3
    # None: what the pipeline says (see pipelines.py).
    retry_delay: Annotated[float, Field(ge=0, description="seconds")] | None = None
    lock_timeout: Annotated[float, Field(ge=0, description="seconds")] = 60
    # Nearly all of such a URL may be secret.
    alert_urls: SecretStr = SecretStr("")
    due_by: Annotated[time, Field(description="time of day, in the source's zone")] = time(7)
    ui_url: str = "http://localhost:3000"

    @property
    def source_path(self) -> Path:
        return _absolute(self.source)

    @property
    def data_path(self) -> Path:
        return _absolute(self.data_dir)

    @property
    def warehouse_path(self) -> Path:
        return _absolute(self.warehouse or self.data_dir / "warehouse.duckdb")

    @property
    def landing_path(self) -> Path:
        return self.data_path / "landing"

    @property
    def lake_path(self) -> Path:
        return self.data_path / "lake"

    @property
    def alerts_path(self) -> Path:
        """Where alerts are kept until they are told, and what was told after that."""
        return self.data_path / "alerts.db"

    @property
    def channel_urls(self) -> str:
        return self.alert_urls.get_secret_value()

    @property
    def runs_path(self) -> Path:
        return self.data_path / "runs"

    @property
    def dbt_project_path(self) -> Path:
        """The dbt project: inside the package when installed from a wheel, beside it in a clone."""
        packaged = PACKAGE / "dbt_project"
        return packaged if packaged.is_dir() else PACKAGE.parent / "dbt_project"

    @property
    def dbt_cache_path(self) -> Path:
        """Where parsed dbt manifests are kept; the project's own folder may be read-only."""
        return self.data_path / ".dbt"


def environment() -> dict[str, str]:
    """The process's environment, and what `.env` adds to it."""
    added = {name: value for name, value in dotenv_values(".env").items() if value is not None}
    return added | dict(os.environ)


def load_settings(folder: Path | None = None) -> Settings:
    """Read the environment.

    Args:
        folder: where `.env` is, and relative paths start, when that is not the current folder.

    Raises:
        ConfigError: naming each variable that does not hold what it should.
    """
    try:
        if folder is None:
            return Settings()
        settings = Settings(_env_file=folder / ".env")  # pyright: ignore[reportCallIssue]
        paths = {name: getattr(settings, name) for name in ("source", "data_dir", "warehouse")}
        return settings.model_copy(
            update={name: folder / path.expanduser() for name, path in paths.items() if path}
        )
    except ValidationError as error:
        mistakes = [
            f"CUSTOMER_PIPELINE_{'_'.join(map(str, e['loc'])).upper()}={e['input']!r}: {e['msg']}"
            for e in error.errors()
        ]
        raise ConfigError(
            "; ".join(mistakes), where="settings", todo="correct it in the environment or in .env"
        ) from None
