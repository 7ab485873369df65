"""Where a feed's delivery for a window is: the path that its template makes, and of a file that came
in several versions the one that counts.

What belongs here: templates, and looking for versions. What does not: whether the file is complete
(`readiness.py`), and reading it (`readers/`).
"""

from __future__ import annotations

import os
import re
import string
from dataclasses import dataclass
from pathlib import Path

from customer_pipeline.errors import ConfigError, DeliveryError, MissingDeliveryError
from customer_pipeline.source.feed import Feed
from customer_pipeline.source.file_versions import highest
from customer_pipeline.source.partitions import Window
from customer_pipeline.source.readers.delivered_file import getting_at

# Stands where a version is to be found: no file name can hold it.
_ANY = "\0"


@dataclass(frozen=True)
class Place:
    """A delivery's file, and which version of it that is (None where the feed names no versions)."""

    path: Path
    version: str | None = None


def place_of(feed: Feed, window: Window) -> Place:
    """Where the feed's delivery for `window` is. Only a feed with versions is looked for.

    Raises:
        ConfigError: for a template that cannot be used.
        MissingDeliveryError: when there is no version of it.
        DeliveryError: when there are several and the feed refuses that, or nobody can say which is
            the highest; when the folder may not be read.
        TransientError: when the system fails to read the folder.
    """
    if not has_version(feed.path or ""):
        return Place(delivery_path(feed, window))
    before, _, after = str(delivery_path(feed, window, version=_ANY)).partition(_ANY)
    sign = _sign(feed, window, f"{before}{_ANY}{after}")
    found = [one for one in _versions(before, after) if not sign.fullmatch(f"{before}{one}{after}")]
    where = f"{before}*{after}"
    if not found:
        raise MissingDeliveryError(
            "there is no such file, in any version",
            where=where,
            todo="have it delivered, or correct the feed's path",
        )
    if len(found) > 1 and feed.versions == "refuse":
        raise DeliveryError(
            f"there are {len(found)} versions of the delivery: {', '.join(map(repr, found))}",
            where=where,
            todo="keep one, or let the feed take the highest with 'versions: highest'",
        )
    try:
        version = highest(found)
    except ValueError as error:
        raise DeliveryError(
            f"the delivery's versions cannot be ordered: {error}",
            where=where,
            todo="keep those that count up, such as v1, v2, ... v10",
        ) from error
    return Place(Path(f"{before}{version}{after}"), version)


def _sign(feed: Feed, window: Window, delivery: str) -> re.Pattern[str]:
    """What matches the path of a file that only says of a version that it is complete, or what it
    should be; nothing, where the feed has no such files. `delivery` is the path of any version."""
    rule = feed.ready_when
    template = rule and (rule.marker or rule.manifest)
    if template:
        path = str(filled(template, window, version=_ANY, name="ready_when"))
    else:
        path = f"{delivery}{rule.suffix}" if rule and rule.suffix else ""
    return re.compile(".*".join(map(re.escape, path.split(_ANY))), re.DOTALL)


def delivery_path(feed: Feed, window: Window, *, version: str = "") -> Path:
    """The feed's path for `window` and a `version`; see `filled`.

    Raises:
        ConfigError: when the feed's path names anything else, or has a stray brace.
    """
    return filled(feed.path or "", window, version=version)


def filled(template: str, window: Window, *, version: str = "", name: str = "path") -> Path:
    """The path that `template` makes: `{date}` is the window's first day as YYYY-MM-DD, what follows
    a colon, as in `{date:%Y%m%d}`, is a strftime format for its start, and `{version}` is `version`.
    `{{` and `}}` stand for braces.

    Args:
        name: what the template is called in the YAML.

    Raises:
        ConfigError: when it names anything else, or has a stray brace.
    """
    parts: list[str] = []
    try:
        for literal, field, form, conversion in string.Formatter().parse(template):
            parts.append(literal)
            if field is None:
                continue
            if conversion or "{" in (form or ""):
                raise ValueError(f"it names {{{field}}}")
            if field == "date":
                parts.append(format(window.start, form or "%Y-%m-%d"))
            elif field == "version" and not form:
                parts.append(version)
            else:
                raise ValueError(f"it names {{{field}}}")
    except ValueError as error:
        raise ConfigError(
            f"the path cannot be used: {error}",
            where=f"{name} {template!r}",
            todo="write {date} or {date:%Y%m%d} in it, and double any other brace",
        ) from error
    return Path("".join(parts))


def has_version(template: str) -> bool:
    """Whether `{version}` stands in a template; false for one that cannot be used."""
    try:
        return any(field == "version" for _, field, _, _ in string.Formatter().parse(template))
    except ValueError:
        return False


def _versions(before: str, after: str) -> list[str]:
    """What stands between `before` and `after` in the paths of files that there are, sorted."""
    folder, start = os.path.split(before)
    end, slash, below = after.partition("/")
    # Beside the day's last digit another one would make another day.
    first = "(?![0-9])" if start[-1:].isdigit() else ""
    last = "(?<![0-9])" if end[:1].isdigit() else ""
    named = re.compile(f"{re.escape(start)}{first}(.*){last}{re.escape(end)}", re.DOTALL)
    try:
        with getting_at(Path(folder)), os.scandir(folder) as entries:
            names = [match[1] for entry in entries if (match := named.fullmatch(entry.name))]
    except MissingDeliveryError:
        return []
    return sorted(name for name in names if Path(f"{before}{name}{end}{slash}{below}").is_file())
