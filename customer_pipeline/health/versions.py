"""Versions of Python and of the packages that matter, beside what this distribution asks for."""

from __future__ import annotations

import platform
from collections.abc import Iterator
from importlib.metadata import PackageNotFoundError, distribution, version

from packaging.requirements import Requirement
from packaging.specifiers import SpecifierSet

from customer_pipeline.health.finding import Area, Finding

_AREA = Area("versions")
_DISTRIBUTION = "customer-pipeline"
# Those that people ask for when something is wrong; all are compared.
_TOLD = ("dagster", "dbt-core", "dbt-duckdb", "duckdb", "deltalake")


def look_at_versions() -> Iterator[Finding]:
    """Findings about Python, and about every package outside its range."""
    try:
        found = distribution(_DISTRIBUTION)
    except PackageNotFoundError:
        yield _AREA.warning(
            _DISTRIBUTION, "is not installed, so its requirements are unknown", "run `make install`"
        )
        return
    python = platform.python_version()
    yield _compared("python", python, SpecifierSet(found.metadata["Requires-Python"] or ""))
    needed = [Requirement(text) for text in found.requires or []]
    findings = [
        _compared(one.name, _installed(one.name), one.specifier)
        for one in needed
        if one.marker is None or one.marker.evaluate({"extra": ""})
    ]
    wrong = [finding for finding in findings if finding.level != "ok"]
    yield from wrong
    told = [name for name in _TOLD if name not in {finding.name for finding in wrong}]
    yield _AREA.ok("packages", ", ".join(f"{name} {_installed(name)}" for name in told))


def _installed(name: str) -> str | None:
    try:
        return version(name)
    except PackageNotFoundError:
        return None


def _compared(name: str, found: str | None, wanted: SpecifierSet) -> Finding:
    todo = (
        "run `make install`" if name != "python" else "create the environment with another Python"
    )
    if found is None:
        return _AREA.problem(name, f"is not installed; {name} {wanted} is needed", todo)
    if not wanted.contains(found, prereleases=True):
        return _AREA.problem(name, f"is {found}; {wanted} is needed", todo)
    return _AREA.ok(name, found)
