"""Loading a source YAML: the file becomes a `Source`, or one error that says all that is wrong.

What belongs here: putting the parts together, and saying in plain words, with line and key, what a
part found. What does not: YAML itself (`yaml_document.py`), the rules of the values (`feed.py`,
`column.py`), and what only DuckDB or Python can tell (`feed_checks.py`, `paths.py`, `functions.py`).
"""

from __future__ import annotations

import difflib
import os
from collections.abc import Mapping
from pathlib import Path
from typing import Any
from zoneinfo import ZoneInfo

from pydantic import BaseModel, ValidationError
from pydantic_core import ErrorDetails

from customer_pipeline.errors import ConfigError
from customer_pipeline.source.column import Column
from customer_pipeline.source.feed import EmptyDays, Feed, Source
from customer_pipeline.source.feed_checks import wrong_with
from customer_pipeline.source.functions import import_function
from customer_pipeline.source.paths import with_absolute_path
from customer_pipeline.source.yaml_document import Document, Place, read_document, shown

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
