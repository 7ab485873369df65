"""Settings that the environment and `.env` hold: those that mean nothing are misspelt ones."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from difflib import get_close_matches
from pathlib import Path

from dotenv import dotenv_values

from customer_pipeline.health.finding import Area, Finding
from customer_pipeline.settings import Settings

_AREA = Area("settings")
_PREFIX = "CUSTOMER_PIPELINE_"
# Set by the pipeline for processes that it starts, and by whoever runs its tests.
_NOT_SETTINGS = {f"{_PREFIX}{name}" for name in ("CANDIDATE", "TEMPORARY_EVENT_LOG", "TEST_DATA")}


def look_at_environment(environ: Mapping[str, str]) -> Iterator[Finding]:
    """Which settings are set, and which variables are no settings.

    Args:
        environ: the process's environment; `.env` in the current folder is read beside it.
    """
    in_file = {name.upper() for name in dotenv_values(".env")}
    in_environment = {name.upper() for name in environ}
    known = {f"{_PREFIX}{name}".upper() for name in Settings.model_fields}
    for name in sorted(in_file | in_environment):
        if name.startswith(_PREFIX) and name not in known | _NOT_SETTINGS:
            yield _unknown(name, known, in_file=name not in in_environment)
    yield _AREA.ok("environment", _words(known & in_environment, known & in_file))


def _unknown(name: str, known: set[str], *, in_file: bool) -> Finding:
    names = sorted(one.removeprefix(_PREFIX) for one in known)
    # The prefix, which all have in common, would make any two alike.
    meant = get_close_matches(name.removeprefix(_PREFIX), names, n=1, cutoff=0.7)
    words = f"{name} in {'.env' if in_file else 'the environment'} is not a setting"
    if meant:
        return _AREA.problem("variable", words, f"write {_PREFIX}{meant[0]}")
    return _AREA.warning(
        "variable", words, f"remove it; known names after {_PREFIX}: {', '.join(names)}"
    )


def _words(in_environment: set[str], in_file: set[str]) -> str:
    if not Path(".env").exists():
        file = "there is no .env in this folder"
    else:
        file = f"{len(in_file - in_environment)} from .env"
    return f"{len(in_environment)} from the environment, {file}"
