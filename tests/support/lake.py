"""Looking into a lake with Delta's own library: whole tables as comparable values.

What does not belong here: what must be in them (`expected.py`).
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

from deltalake import DeltaTable


def lake_rows_of(
    lake: Path, columns: Mapping[str, Sequence[str]]
) -> dict[str, Counter[tuple[Any, ...]]]:
    """These columns of these tables (by mart), each row with how often it is there.

    A table that does not exist has no rows.
    """
    return {mart: Counter(_rows(lake / mart, listed)) for mart, listed in columns.items()}


def _rows(folder: Path, columns: Sequence[str]) -> list[tuple[Any, ...]]:
    if not DeltaTable.is_deltatable(str(folder)):
        return []
    rows = DeltaTable(str(folder)).to_pyarrow_table(columns=list(columns)).to_pylist()
    return [tuple(row.values()) for row in rows]
