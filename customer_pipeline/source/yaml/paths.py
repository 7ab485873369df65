"""The paths that a source YAML declares, made absolute: environment variables, the starting folder.

What belongs here: what may stand in a declared path, and that it differs from partition to
partition. What does not: the path of one partition (`places.py`).
"""

from __future__ import annotations

import os
import re
from collections.abc import Mapping, Sequence
from functools import partial
from pathlib import Path
from zoneinfo import ZoneInfo

from customer_pipeline.errors import ConfigError
from customer_pipeline.source.feed import Feed
from customer_pipeline.source.partitions import Partitions, Window
from customer_pipeline.source.places import filled, has_version

_VARIABLE = re.compile(r"\$\{([^{}]*)\}")
_DATE_FORMAT = re.compile(r"\{date:([^{}]*)\}")
# The others depend on the host's time zone or language, or mean something else elsewhere.
_DIRECTIVES = {f"%{letter}" for letter in "YymdjHMSGVuaAbBz%"} | {"%-d", "%-m"}
# What of `ready_when` is a path, too.
_BESIDE = ("marker", "manifest")


def with_absolute_paths(
    feed: Feed, folder: Path, environ: Mapping[str, str], zone: ZoneInfo
) -> Feed:
    """`feed` with its paths made absolute: `${NAME}` comes out of `environ`, and a relative path
    starts at `folder`. Each must be another one for each partition in that `zone`.

    Raises:
        ConfigError: with what is wrong and what to do, when a path cannot be used; `where` is the
            key of the feed under which it stands.
    """
    calendar = feed.calendar
    examples = calendar.examples(zone)
    absolute = partial(
        _absolute, folder=folder, environ=environ, calendar=calendar, examples=examples
    )
    path = absolute("path", feed.path or "")
    if "versions" in feed.model_fields_set and not has_version(path):
        raise ConfigError(
            "has no {version}, so there is nothing to choose from",
            where="path",
            todo="write {version} where a file's version stands, or leave 'versions' out",
        )
    rule = feed.ready_when
    beside = {
        name: absolute(f"ready_when.{name}", template)
        for name in _BESIDE
        if rule and (template := getattr(rule, name)) is not None
    }
    for name, template in beside.items():
        if has_version(template) and not has_version(path):
            raise ConfigError(
                "has a {version}, and the feed's path has none",
                where=f"ready_when.{name}",
                todo="write {version} in both, or in neither",
            )
    return feed.model_copy(
        update={"path": path, "ready_when": rule and rule.model_copy(update=beside)}
    )


def _absolute(
    name: str,
    declared: str,
    *,
    folder: Path,
    environ: Mapping[str, str],
    calendar: type[Partitions],
    examples: Sequence[Window],
) -> str:
    try:
        template = _VARIABLE.sub(lambda match: _variable(match[1], environ), declared)
        if "${" in template:
            raise ConfigError("has a '${' that names nothing", todo="write ${NAME}")
        _require_portable(template)
        # A path that is absolute replaces the folder.
        absolute = os.path.join(_plain(str(folder)), template)  # noqa: PTH118
        made = {filled(absolute, window, version="1") for window in examples}
        if len(made) < len(examples):
            raise ConfigError(
                f"is the same for different {calendar.noun}s, which would all read the same file",
                todo=f"name the whole {calendar.noun} in it, with {calendar.in_paths}",
            )
        if absolute.replace("{{", "").count("{version}") > 1:
            raise ConfigError("has {version} more than once", todo="write it once")
    except ConfigError as error:
        raise ConfigError(error.what, where=name, todo=error.todo) from error
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
