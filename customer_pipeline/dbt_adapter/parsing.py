"""Parsing the dbt project, with dbt.

What does not belong here: keeping the result, and what it says (`manifest.py`).
"""

from __future__ import annotations

from pathlib import Path

from customer_pipeline.dbt_adapter.call import QUIET, places, pointed_at
from customer_pipeline.errors import StageError


def parse(project_folder: Path, *, target: Path) -> None:
    """Parse the project; its manifest and dbt's own serialization of it are left in `target`.

    Raises:
        StageError: with dbt's words, when the project does not parse.
    """
    from dbt.cli.main import dbtRunner

    with pointed_at(target / "candidate.duckdb"):
        result = dbtRunner().invoke([*QUIET, "parse", *places(project_folder, target)])
    if not result.success:
        raise StageError(
            f"the dbt project does not parse: {result.exception}",
            where=str(project_folder),
            todo="correct the model or YAML named above",
        )
