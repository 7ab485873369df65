"""Which version of the code made a row: a hash of everything that may shape data.

It covers whole packages and folders of models, since nobody can tell from a line whether it shapes a
row. Comments, docstrings, layout and the words of the errors of `errors.py`, which get into no row,
leave it alone. Any other change in these places makes a new version, and all that is published stale,
even where every row stays the same: another name of a function, other words of a warning.

What belongs here: what is part of a version. What does not: functions that deliver rows (`reader:
python`), those of the demo among them. They are part of the source, and what changes in their rows is
noticed by the fingerprint of the delivery.
"""

from __future__ import annotations

import ast
import json
import re
from collections.abc import Iterable, Mapping
from functools import cache
from hashlib import sha256
from pathlib import Path

import yaml

from customer_pipeline import errors
from customer_pipeline.settings import PACKAGE
from customer_pipeline.source.feed import Feed

# The packages whose code decides which rows come out; the warehouse, the CLI and Dagster's side
# only carry them.
_SHAPES_DATA = ("source", "stages")
_SHAPES_REPORTING = ("reporting",)
# What a feed says about which deliveries are accepted. Another holiday makes no day stale.
_JUDGES = (
    "missing",
    "quarantine_threshold",
    "new_columns",
    "final_newline",
    "versions",
    "ready_when",
    "look_back",
)
# What it says about who hears of failures.
_TELLS = ("owner", "alert_after")
# The pipeline's errors. All that they are given is words.
_ERRORS = {
    name
    for name, value in vars(errors).items()
    if isinstance(value, type) and issubclass(value, errors.PipelineError)
}

# A quoted text, or white space and comments of SQL and Jinja. Texts come first, so that what looks
# like a comment inside a text is not taken for one.
_TEXT_OR_GAP = re.compile(
    r"('(?:[^']|'')*'|\"(?:[^\"]|\"\")*\")|(?:\s|--[^\n]*|/\*.*?\*/|\{#.*?#\})+", re.DOTALL
)


def code_version(feeds: Mapping[str, Feed], zone: str, dbt_project: Path, pipeline: str) -> str:
    """The version of all that shapes a pipeline's published rows: rules, pipeline code, models."""
    parts = [
        zone,
        *(f"{name}: {_rules(feed)}" for name, feed in sorted(feeds.items())),
        _package_version(_SHAPES_DATA),
        *_models(dbt_project, pipeline),
    ]
    return _digest(parts)


def reporting_version(dbt_project: Path, folder: str) -> str:
    """The version of all that shapes the reporting tables whose models are in `folder`, given what is
    published."""
    return _digest([_package_version(_SHAPES_REPORTING), *_models(dbt_project, folder)])


def declaration_version(feed: Feed, zone: str) -> str:
    """The version of the rules, the time zone among them, under which a delivery is landed."""
    return _digest([_rules(feed), feed.path or "", zone])


def _rules(feed: Feed) -> str:
    """The rules that shape a feed's rows: without those that only judge a delivery, and without its
    place, which differs from machine to machine."""
    rules = feed.model_dump(mode="json", exclude={"path", *_JUDGES, *_TELLS})
    # A constant null dumps like no constant at all.
    rules["constants"] = [name for name, column in feed.columns.items() if column.is_constant]
    return json.dumps(rules, sort_keys=True)


@cache
def _package_version(parts: tuple[str, ...]) -> str:
    files = sorted(path for part in parts for path in (PACKAGE / part).rglob("*.py"))
    return _digest(_plain(path) for path in files)


def _plain(path: Path) -> str:
    text = path.read_text()
    return _plain_python(text) if path.suffix == ".py" else _plain_sql(text)


def _plain_python(text: str) -> str:
    """The syntax tree without docstrings and the words of errors: equal for files that differ in
    these, in comments and in layout."""
    tree = ast.parse(text)
    for node in ast.walk(tree):
        if isinstance(node, ast.Module | ast.ClassDef | ast.FunctionDef):
            first = node.body[0] if node.body else None
            if isinstance(first, ast.Expr) and isinstance(first.value, ast.Constant):
                node.body = node.body[1:]
        elif isinstance(node, ast.Call) and getattr(node.func, "id", "") in _ERRORS:
            node.args, node.keywords = [], []
    return ast.dump(tree)


def _plain_sql(text: str) -> str:
    return _TEXT_OR_GAP.sub(lambda match: match[1] or " ", text).strip()


def _models(dbt_project: Path, folder: str) -> list[str]:
    """The models in one folder, the macros, and the project's variables."""
    places = (dbt_project / "models" / folder, dbt_project / "macros")
    files = sorted(
        path for place in places for path in place.rglob("*") if path.suffix in (".sql", ".py")
    )
    variables = yaml.safe_load((dbt_project / "dbt_project.yml").read_text()).get("vars")
    return [
        *(f"{path.stem}: {_plain(path)}" for path in files),
        json.dumps(variables, sort_keys=True, default=str),
    ]


def _digest(parts: Iterable[str]) -> str:
    whole = sha256()
    for part in parts:
        whole.update(len(part).to_bytes(8, "big") + part.encode())
    return whole.hexdigest()[:16]
