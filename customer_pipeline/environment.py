"""The environment that the pipeline runs in: the process's own, and what `.env` adds to it.

What does not belong here: what its variables mean (`settings.py`).
"""

from __future__ import annotations

import os

from dotenv import dotenv_values


def environment() -> dict[str, str]:
    """The process's environment, and what `.env` adds to it."""
    added = {name: value for name, value in dotenv_values(".env").items() if value is not None}
    return added | dict(os.environ)
