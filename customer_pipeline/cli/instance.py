"""The Dagster instance that a command works with: the one of DAGSTER_HOME, if that is set.

What belongs here: opening it, and the mistakes in that. What does not: reading it.
"""

from __future__ import annotations

import os
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING

from customer_pipeline.errors import ConfigError

if TYPE_CHECKING:
    from dagster import DagsterInstance


def dagster_home() -> Path | None:
    """The folder of the kept instance; None when DAGSTER_HOME is not set.

    Raises:
        ConfigError: it names no folder, or not by a whole path, which Dagster insists on.
    """
    home = os.environ.get("DAGSTER_HOME")
    if not home:
        return None
    where = f"DAGSTER_HOME={home}"
    todo = "set it to the folder that `make install` set up, or unset it"
    if not Path(home).is_dir():
        raise ConfigError("there is no such folder", where=where, todo=todo)
    if not Path(home).is_absolute():
        raise ConfigError("the path is not absolute", where=where, todo=todo)
    return Path(home)


@contextmanager
def kept_instance() -> Iterator[DagsterInstance | None]:
    """The instance of DAGSTER_HOME, or None without one.

    Raises:
        ConfigError: as `dagster_home`; or Dagster cannot work with that folder's settings.
    """
    if dagster_home() is None:
        yield None
        return
    # Dagster takes a second to import: only for a command that has an instance.
    import dagster as dg

    try:
        instance = dg.DagsterInstance.get()
    except Exception as error:
        # A mistake in its settings, a class that is not installed, a database that is not there:
        # Dagster has no class of its own for these.
        raise ConfigError(
            f"Dagster cannot use the instance: {_short(error)}",
            where=f"{dagster_home()}/dagster.yaml",
            todo="copy the shipped dagster.yaml there, and run `dagster instance migrate`",
        ) from error
    with instance:
        yield instance


@contextmanager
def working_instance() -> Iterator[DagsterInstance]:
    """The instance of DAGSTER_HOME, or one that is forgotten afterwards; errors as `kept_instance`."""
    import dagster as dg

    with kept_instance() as kept:
        if kept is not None:
            yield kept
            return
        with dg.DagsterInstance.ephemeral() as forgotten:
            yield forgotten


def _short(error: Exception) -> str:
    """Dagster's words on one line, without the pages of all that it would have understood."""
    return " ".join(str(error).partition(" Expected:")[0].split())
