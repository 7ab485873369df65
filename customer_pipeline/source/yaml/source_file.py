"""Loading a source YAML: the file becomes a `Source`, or one error that says all that is wrong.

What belongs here: putting the parts together, and saying of all mistakes on which line they are.
What does not: YAML itself (`document.py`), the rules of values (`feed.py`, `column.py`), and
what only DuckDB, Python or the environment can tell (`feed_checks.py`, `functions.py`, `paths.py`).
"""

from __future__ import annotations

import os
from collections.abc import Mapping
from pathlib import Path
from typing import Any
from zoneinfo import ZoneInfo

from pydantic import ValidationError

from customer_pipeline.errors import ConfigError
from customer_pipeline.source.feed import Feed, Source
from customer_pipeline.source.functions import import_function
from customer_pipeline.source.yaml.document import Document, Mistake, Place, read_document
from customer_pipeline.source.yaml.feed_checks import wrong_with
from customer_pipeline.source.yaml.paths import with_absolute_paths
from customer_pipeline.source.yaml.words import place_of, words_of

_MISTAKES_SHOWN = 10


def load_source(path: Path, environ: Mapping[str, str] | None = None) -> Source:
    """The source that the YAML file `path` declares, its paths absolute.

    Top-level keys that begin with `x-` are free, for parts that are used by anchor elsewhere.

    Args:
        environ: what `${NAME}` in a path stands for; by default the process's environment.

    Raises:
        ConfigError: once for all mistakes in the file, each with its line, key and remedy.
    """
    document = read_document(path)
    data = {key: value for key, value in document.data.items() if not key.startswith("x-")}
    source = _validated(data, document)
    feeds = source.feeds if source else _sound_feeds(data)
    checked = {
        name: _checked(
            feed,
            document,
            ("feeds", name),
            zone=_zone(data),
            folder=path.absolute().parent,
            environ=os.environ if environ is None else environ,
        )
        for name, feed in feeds.items()
    }
    if document.mistakes or source is None:
        raise _error(path, document)
    return source.model_copy(update={"feeds": checked})


def _validated(data: dict[str, Any], document: Document) -> Source | None:
    try:
        return Source.model_validate(data)
    except ValidationError as invalid:
        for error in invalid.errors(include_url=False):
            place = place_of(error, data)
            document.mistake(place, words_of(error, place, document.written.get(place)))
        return None


def _sound_feeds(data: dict[str, Any]) -> dict[str, Feed]:
    """The feeds without a mistake of form in a source that has some, so that the rest of theirs can
    be told at the same time."""
    sound: dict[str, Feed] = {}
    feeds = data.get("feeds")
    for name, feed in feeds.items() if isinstance(feeds, dict) else ():
        try:
            sound[name] = Feed.model_validate(feed)
        except ValidationError:
            continue
    return sound


def _zone(data: dict[str, Any]) -> str:
    try:
        return ZoneInfo(data["timezone"]).key
    except (KeyError, ValueError, OSError, TypeError):
        return "UTC"


def _checked(
    feed: Feed,
    document: Document,
    place: Place,
    *,
    zone: str,
    folder: Path,
    environ: Mapping[str, str],
) -> Feed:
    if what := feed.calendar.unfit_for(ZoneInfo(zone)):
        document.mistake((*place, "partitions"), what, "take other partitions, or another timezone")
        return feed
    for inner, what in wrong_with(feed, zone):
        document.mistake((*place, *inner), what)
    try:
        if feed.function is not None:
            import_function(feed.function, feed.options)
        if feed.path is not None:
            return with_absolute_paths(feed, folder, environ, ZoneInfo(zone))
    except ConfigError as error:
        inner = error.where.split(".") if feed.function is None else ["function"]
        document.mistake((*place, *inner), error.what, error.todo)
    return feed


def _error(path: Path, document: Document) -> ConfigError:
    mistakes = sorted(document.mistakes)
    if len(mistakes) == 1:
        (mistake,) = mistakes
        return ConfigError(_said(mistake), where=f"{path}:{mistake.line}", todo=mistake.todo)
    lines = [
        f"{path}:{mistake.line}: {_said(mistake)}" + (f" ({mistake.todo})" if mistake.todo else "")
        for mistake in mistakes[:_MISTAKES_SHOWN]
    ]
    if len(mistakes) > _MISTAKES_SHOWN:
        lines.append(f"and {len(mistakes) - _MISTAKES_SHOWN} more")
    return ConfigError("\n  ".join([f"{len(mistakes)} mistakes:", *lines]), where=str(path))


def _said(mistake: Mistake) -> str:
    return f"{mistake.key}: {mistake.what}" if mistake.key else mistake.what
