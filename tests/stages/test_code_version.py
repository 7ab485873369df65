"""Which changes make a new version of the code, and which do not (case B12)."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest

from customer_pipeline import code_version as module
from customer_pipeline.code_version import code_version, declaration_version
from customer_pipeline.source.feed import Source

FILES = {
    "package/source/casts.py": '"""Casts."""\n\n\ndef cast(value):\n    """To a number."""\n'
    "    # Why.\n    return value + 1\n",
    "package/stages/load.py": "LIMIT = 5\n\n\ndef check(n):\n    if n > LIMIT:\n"
    "        raise StageError(f'{n} is too many', todo='ask for less')\n"
    "    raise ValueError('a reason')\n",
    "package/cli/main.py": "print('hello')\n",
    "dbt/models/daily/fct.sql": "-- The facts.\nselect\n    a, -- first\n    '--b  c' as b\nfrom t\n",
    "dbt/models/daily/fct.yml": "models:\n  - name: fct\n    description: Facts.\n",
    "dbt/macros/clean.sql": "{# Clean. #}\n{% macro clean(c) %}trim({{ c }}){% endmacro %}\n",
    "dbt/dbt_project.yml": "name: shop\nvars:\n  rate: 0.19\n",
}
FEED: dict[str, Any] = {
    "reader": "csv",
    "path": "/data/{date}.csv",
    "columns": {"id": {"required": True}, "n": {"type": "integer"}},
}
SOURCE: dict[str, Any] = {
    "name": "shop",
    "start": "2026-03-01",
    "timezone": "UTC",
    "feeds": {"things": FEED},
}


@pytest.fixture
def root(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Path]:
    """A small package and dbt project."""
    for name, text in FILES.items():
        (tmp_path / name).parent.mkdir(parents=True, exist_ok=True)
        (tmp_path / name).write_text(text)
    monkeypatch.setattr(module, "PACKAGE", tmp_path / "package")
    yield tmp_path
    module._package_version.cache_clear()


def version(root: Path, **changes: Any) -> str:
    module._package_version.cache_clear()
    source = Source.model_validate(SOURCE | changes)
    return code_version(source.feeds, source.timezone, root / "dbt", "daily")


SAME = {
    "a comment": ("package/source/casts.py", "# Why.", "# Because."),
    "a docstring": ("package/source/casts.py", '"""To a number."""', '"""To one more."""'),
    "a module's docstring": ("package/source/casts.py", '"""Casts."""', '"""The casts."""'),
    "layout": ("package/source/casts.py", "value + 1", "(\n        value + 1\n    )"),
    "the words of an error": ("package/stages/load.py", "is too many", "is more than enough"),
    "what an error advises": ("package/stages/load.py", ", todo='ask for less'", ""),
    "another package": ("package/cli/main.py", "hello", "goodbye"),
    "a comment in a model": ("dbt/models/daily/fct.sql", "-- The facts.\n", "/* Facts,\n new */"),
    "a comment at a line's end": ("dbt/models/daily/fct.sql", "-- first", "-- the first"),
    "a model's layout": ("dbt/models/daily/fct.sql", "\n    ", "  "),
    "a comment in a macro": ("dbt/macros/clean.sql", "{# Clean. #}", "{# Trim\n it. #}"),
    "a description": ("dbt/models/daily/fct.yml", "Facts.", "All facts."),
}
NEW = {
    "a changed expression": ("package/source/casts.py", "value + 1", "value + 2"),
    "a changed constant": ("package/stages/load.py", "5", "6"),
    "another error": ("package/stages/load.py", "StageError", "TransientError"),
    "when there is an error": ("package/stages/load.py", "n > LIMIT", "n >= LIMIT"),
    # Such words become the reason why a row is in the quarantine.
    "the words of an error that is none of the pipeline's": (
        *("package/stages/load.py", "a reason", "another"),
    ),
    "a changed name": ("package/source/casts.py", "def cast", "def recast"),
    "a changed model": ("dbt/models/daily/fct.sql", "a,", "b,"),
    "a text that looks like a comment": ("dbt/models/daily/fct.sql", "'--b  c'", "'--d  c'"),
    "white space in a text": ("dbt/models/daily/fct.sql", "'--b  c'", "'--b c'"),
    "a changed macro": ("dbt/macros/clean.sql", "trim", "ltrim"),
    "a changed variable": ("dbt/dbt_project.yml", "0.19", "0.2"),
}


@pytest.mark.parametrize(("name", "old", "new"), SAME.values(), ids=SAME.keys())
def test_what_does_not_shape_data_leaves_the_version_alone(
    root: Path, name: str, old: str, new: str
) -> None:
    before = version(root)
    replace(root / name, old, new)
    assert version(root) == before


@pytest.mark.parametrize(("name", "old", "new"), NEW.values(), ids=NEW.keys())
def test_what_shapes_data_makes_a_new_version(root: Path, name: str, old: str, new: str) -> None:
    before = version(root)
    replace(root / name, old, new)
    assert version(root) != before


def replace(file: Path, old: str, new: str) -> None:
    text = file.read_text()
    assert old in text
    file.write_text(text.replace(old, new, 1))


@pytest.mark.parametrize(
    "change",
    [
        lambda root: (root / "package/stages/new.py").write_text("x = 1\n"),
        lambda root: (root / "dbt/models/daily/new.sql").write_text("select 1"),
        lambda root: (root / "dbt/models/daily/new.py").write_text("def model(dbt, session): ..."),
        lambda root: (root / "dbt/models/daily/fct.sql").rename(root / "dbt/models/daily/new.sql"),
        lambda root: (root / "dbt/models/daily/fct.sql").unlink(),
    ],
    ids=[
        "a new module",
        "a new model",
        "a model in Python",
        "a renamed model",
        "a model that is gone",
    ],
)
def test_files_that_come_or_go_make_a_new_version(
    root: Path, change: Callable[[Path], object]
) -> None:
    before = version(root)
    change(root)
    assert version(root) != before


@pytest.mark.parametrize(
    "change",
    [
        {"columns": FEED["columns"] | {"n": {"type": "decimal(18,4)"}}},
        {"columns": FEED["columns"] | {"n": {"type": "integer", "expression": "value"}}},
        {"columns": FEED["columns"] | {"n": {"type": "integer", "from": "number"}}},
        {"columns": FEED["columns"] | {"n": {"type": "integer", "constant": None}}},
        {"columns": {"id": {}, "n": {"type": "integer"}}},
        {"encoding": "cp1252"},
        {"where": "id is not null"},
    ],
    ids=lambda change: next(iter(change)),
)
def test_a_changed_rule_of_a_feed_makes_a_new_version(root: Path, change: dict[str, Any]) -> None:
    feed = FEED | change
    assert version(root, feeds={"things": feed}) != version(root)
    changed, before = (
        Source.model_validate(SOURCE | {"feeds": {"things": one}}) for one in (feed, FEED)
    )
    assert declaration_version(changed.feeds["things"], "UTC") != declaration_version(
        before.feeds["things"], "UTC"
    )


@pytest.mark.parametrize(
    "change",
    [
        {"missing": {"weekdays": ["sunday"], "dates": ["2026-12-25"]}},
        {"quarantine_threshold": 0.5},
        {"new_columns": "ignore"},
        {"final_newline": "optional"},
        {"versions": "highest"},
        {"ready_when": {"suffix": ".done"}},
    ],
    ids=lambda change: next(iter(change)),
)
def test_a_rule_that_only_judges_deliveries_makes_no_day_stale(
    root: Path, change: dict[str, Any]
) -> None:
    feed = FEED | change
    assert version(root, feeds={"things": feed}) == version(root)
    judged, before = (
        Source.model_validate(SOURCE | {"feeds": {"things": one}}) for one in (feed, FEED)
    )
    assert declaration_version(judged.feeds["things"], "UTC") == declaration_version(
        before.feeds["things"], "UTC"
    )


def test_a_list_of_one_delivered_name_is_that_name(root: Path) -> None:
    one, listed, several = (
        FEED | {"columns": {"id": {"from": names}}} for names in ("ID", ["ID"], ["ID", "No"])
    )
    assert version(root, feeds={"things": one}) == version(root, feeds={"things": listed})
    assert version(root, feeds={"things": one}) != version(root, feeds={"things": several})


def test_another_time_zone_makes_a_new_version(root: Path) -> None:
    feed = Source.model_validate(SOURCE).feeds["things"]
    assert version(root, timezone="Europe/London") != version(root)
    assert declaration_version(feed, "Europe/London") != declaration_version(feed, "UTC")


def test_where_the_feeds_files_lie_is_no_part_of_the_version_of_the_code(root: Path) -> None:
    elsewhere = {"things": FEED | {"path": "/mnt/{date}.csv"}}
    assert version(root, feeds=elsewhere) == version(root)


def test_days_landed_from_another_place_are_landed_again() -> None:
    here, there = (
        Source.model_validate(SOURCE | {"feeds": {"things": FEED | {"path": path}}})
        for path in ("/data/{date}.csv", "/mnt/{date}.csv")
    )
    assert declaration_version(here.feeds["things"], "UTC") != declaration_version(
        there.feeds["things"], "UTC"
    )


def test_a_longer_range_of_days_or_another_name_is_the_same_version(root: Path) -> None:
    assert version(root, name="other", start="2020-01-01", end="2026-12-31") == version(root)
