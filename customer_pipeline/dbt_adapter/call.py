"""Calling dbt, inside this process: how every call of it is made.

dbt is imported only when it is called, since importing it takes longer than building a day. Its
artefacts and logs go to a folder of the caller's own (the project's may be read-only, and two runs
may build at once), and its connection is closed before the call returns.

What does not belong here: what is asked of dbt (`parsing.py`, `invocation.py`).
"""

from __future__ import annotations

import os
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

# dbt reads the candidate's path from the environment, which the threads of a process share.
_TURN = threading.Lock()
_CANDIDATE = "CUSTOMER_PIPELINE_CANDIDATE"
QUIET = [
    "--quiet",
    "--no-use-colors",
    "--log-level=none",
    "--log-level-file=info",
    "--no-version-check",
    "--no-send-anonymous-usage-stats",
]


def places(project_folder: Path, target: Path) -> list[str]:
    """Options that say where dbt finds the project, and leaves what it writes (`target`)."""
    return [
        f"--project-dir={project_folder}",
        f"--profiles-dir={project_folder}",
        "--target=pipeline",
        f"--target-path={target}",
        f"--log-path={target}",
    ]


@contextmanager
def pointed_at(candidate: Path) -> Iterator[None]:
    """The candidate's path where dbt's profile looks for it, and dbt's connections closed after."""
    from dbt.adapters.duckdb.connections import DuckDBConnectionManager
    from dbt.adapters.factory import reset_adapters

    with _TURN:
        os.environ[_CANDIDATE] = str(candidate)
        try:
            yield
        finally:
            del os.environ[_CANDIDATE]
            reset_adapters()
            DuckDBConnectionManager.close_all_connections()
