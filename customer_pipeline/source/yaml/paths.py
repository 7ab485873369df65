"""The path that a source YAML declares, made absolute: environment variables, the starting folder.

What belongs here: what may stand in a declared path, and that it differs from day to day. What does
not: the path of one day (`reading.py`).
"""

from __future__ import annotations

import os
import re
from collections.abc import Mapping
from datetime import date
from pathlib import Path
from zoneinfo import ZoneInfo

from customer_pipeline.errors import ConfigError
from customer_pipeline.source.feed import Feed
from customer_pipeline.source.partitions import DailyPartitions
from customer_pipeline.source.reading import delivery_path

_VARIABLE = re.compile(r"\$\{([^{}]*)\}")
_DATE_FORMAT = re.compile(r"\{date:([^{}]*)\}")
# The others depend on the host's time zone or language, or mean something else elsewhere.
_DIRECTIVES = {f"%{letter}" for letter in "YymdjHMSGVuaAbB%"} | {"%-d", "%-m"}
# Each differs from the first in its day, its month or its year alone.
_DAYS = ("2026-03-09", "2026-03-10", "2026-04-09", "2027-03-09")


def with_absolute_path(feed: Feed, folder: Path, environ: Mapping[str, str]) -> Feed:
    """`feed` with its `path` made absolute: `${NAME}` comes out of `environ`, and a relative path
    starts at `folder`.

    Raises:
        ConfigError: with what is wrong and what to do, but not where, when the path cannot be used.
    """
    template = _VARIABLE.sub(lambda match: _variable(match[1], environ), feed.path or "")
    if "${" in template:
        raise ConfigError("has a '${' that names nothing", todo="write ${NAME}")
    _require_portable(template)
    # A path that is absolute replaces the folder.
    absolute = feed.model_copy(update={"path": os.path.join(_plain(str(folder)), template)})  # noqa: PTH118
    partitions = DailyPartitions(date(2026, 1, 1), None, ZoneInfo("UTC"))
    try:
        paths = {delivery_path(absolute, partitions.window(day)) for day in _DAYS}
    except ConfigError as error:
        raise ConfigError(error.what, todo=error.todo) from error
    if len(paths) < len(_DAYS):
        raise ConfigError(
            "is the same for different days, which would all read the same file",
            todo="name the whole day in it, with {date} or {date:%Y%m%d}",
        )
    return absolute


def _variable(name: str, environ: Mapping[str, str]) -> str:
    if not re.fullmatch(r"[A-Za-z_][A-Za-z0-9_]*", name):
        raise ConfigError(f"'${{{name}}}' names no environment variable", todo="write ${NAME}")
    if not environ.get(name):
        raise ConfigError(
            f"the environment variable {name} is not set",
            todo=f"set {name} to the folder where the deliveries are",
        )
    return _plain(environ[name])


def _require_portable(template: str) -> None:
    for form in _DATE_FORMAT.findall(template):
        for directive in re.findall(r"%-?.?", form):
            if directive not in _DIRECTIVES:
                raise ConfigError(
                    f"{directive!r} is not supported in a path's date",
                    todo="write the date with %Y, %m and %d",
                )


def _plain(text: str) -> str:
    """`text` with nothing in it taken for a placeholder."""
    return text.replace("{", "{{").replace("}", "}}")
