"""The code that all pipelines share speaks of partitions: no name in it says day where a month or an
hour may be meant, and nothing in it asks which of them it is.

What may say so: the calendars (`source/calendars.py`) with what reads a source's own dates and times
beside it (`source/`), the made-up shop, which has opening days (`demo/`), and the pipelines' own words
(`pipelines.py`).
"""

from __future__ import annotations

import ast
import re
from collections.abc import Iterator
from pathlib import Path

import pytest

from customer_pipeline.settings import PACKAGE
from customer_pipeline.source.calendars import CALENDARS

LENGTHS = {"day", "date", "daily", "week", "weekly", "month", "monthly", "hour", "hourly"}
# Spans of time, which are as long for every pipeline, and dates in the path of a file.
SPANS = {"hours", "_hours", "_hours_passed", "keep_days", "due_days", "_any_date"}
CLASSES = {calendar.__name__ for calendar in CALENDARS.values()}
# Where each calendar is given something of its own, by its class: Dagster's definition, and its place
# in a drawing.
TABLES = {"source/calendars.py", "orchestration/partitions.py", "cli/calendar.py"}

NOT_SHARED = ("source", "demo", "pipelines.py")


def _modules() -> dict[str, ast.Module]:
    """All modules of the package, by their paths in it."""
    return {
        path.relative_to(PACKAGE).as_posix(): ast.parse(path.read_text())
        for path in sorted(PACKAGE.rglob("*.py"))
    }


def _names(tree: ast.AST) -> Iterator[str]:
    """The names that a module gives to something."""
    for node in ast.walk(tree):
        if isinstance(node, ast.FunctionDef | ast.ClassDef):
            yield node.name
        elif isinstance(node, ast.arg):
            yield node.arg
        elif isinstance(node, ast.Name) and isinstance(node.ctx, ast.Store):
            yield node.id
        elif isinstance(node, ast.Attribute) and isinstance(node.ctx, ast.Store):
            yield node.attr


def _says_a_length(name: str) -> bool:
    words = re.findall("[a-z]+", re.sub("([A-Z])", r"_\1", name).lower())
    return any(word in LENGTHS or word.removesuffix("s") in LENGTHS for word in words)


def _asks_which(tree: ast.AST) -> Iterator[str]:
    """The calendars that a module names, by class or in a comparison by word."""
    for node in ast.walk(tree):
        if isinstance(node, ast.Name) and node.id in CLASSES:
            yield node.id
        elif isinstance(node, ast.Compare | ast.match_case):
            for part in ast.walk(node):
                if isinstance(part, ast.Constant) and part.value in CALENDARS:
                    yield part.value


def test_a_shared_module_names_no_length_of_partitions() -> None:
    named = [
        f"{module} names {name!r}: say partition or key instead"
        for module, tree in _modules().items()
        if module.split("/")[0] not in NOT_SHARED
        for name in sorted({Path(module).stem, *_names(tree)} - SPANS)
        if _says_a_length(name)
    ]
    assert not named, "\n".join(named)


def test_only_the_partition_modules_know_one_calendar_from_another() -> None:
    asking = {module: sorted({*_asks_which(tree)}) for module, tree in _modules().items()}
    others = [
        f"{module} asks for {', '.join(which)}: let the calendars answer (source/calendars.py)"
        for module, which in asking.items()
        if which and module not in TABLES
    ]
    assert not others, "\n".join(others)
    assert all(asking[module] for module in TABLES)


@pytest.mark.parametrize("name", ["day", "_run_days", "DailyRuns", "by_date", "monthlyJob"])
def test_such_names_are_seen(name: str) -> None:
    assert _says_a_length(name)


@pytest.mark.parametrize("name", ["updated", "validate", "today", "candidate", "partition_key"])
def test_other_names_are_none(name: str) -> None:
    assert not _says_a_length(name)
