"""Who types a command, for what is kept with a name."""

from __future__ import annotations

import getpass


def who() -> str:
    """The user's name; `unknown` for a process without one, as in some containers."""
    try:
        return getpass.getuser()
    except (KeyError, OSError):
        return "unknown"
