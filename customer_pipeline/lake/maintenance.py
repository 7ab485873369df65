"""Looking after the lake: its small files, and those that nobody needs any more.

Every run leaves the files that it replaced, for whoever still reads the version before, and so does
a run that was killed while it wrote. The log grows by one entry a commit.

What belongs here: what keeps the tables small and quick. What does not: their rows.
"""

from __future__ import annotations

from pathlib import Path

from deltalake import DeltaTable

from customer_pipeline.lake.table import opened, retention, said_plainly

# A longer log is summed up: reading a table is quick until about there.
_LONG_LOG = 10


def tables(root: Path) -> list[Path]:
    """The folders of the tables in a lake, also of marts that no model makes any more."""
    if not root.is_dir():
        return []
    return sorted(folder for folder in root.iterdir() if (folder / "_delta_log").is_dir())


def tend(folder: Path, *, keep_days: int) -> bool:
    """Merge the small files of each partition, and remove what no younger version needs.

    Call it in turn with whoever writes (`follow.in_turn`): a file that is being written has no
    entry in the log yet. Readers are not disturbed, unless they hold a version that was replaced
    more than `keep_days` days ago.

    Returns:
        Whether there was anything to do.

    Raises:
        StageError: the table is broken, or cannot be written.
    """
    table = opened(folder)
    if table is None:
        return False
    with said_plainly(folder):
        before = table.version()
        _remember(table, keep_days)
        table.optimize.compact()
        # Files that are gone are listed until the log is summed up.
        if any((folder / path).exists() for path in _vacuum(table, keep_days, dry_run=True)):
            _vacuum(table, keep_days, dry_run=False)
        if long := _entries(folder) > _LONG_LOG:
            table.create_checkpoint()
            table.cleanup_metadata()
        return long or DeltaTable(str(folder)).version() != before


def _remember(table: DeltaTable, keep_days: int) -> None:
    """Tell the table itself, since its checkpoints forget replaced files after a time of its own."""
    wanted, found = retention(keep_days), table.metadata().configuration
    if any(found.get(name) != value for name, value in wanted.items()):
        table.alter.set_table_properties(wanted)


def _vacuum(table: DeltaTable, keep_days: int, *, dry_run: bool) -> list[str]:
    return table.vacuum(
        retention_hours=24 * keep_days,
        dry_run=dry_run,
        enforce_retention_duration=False,
        # Also files that no version ever had, left by a run that was killed.
        full=True,
    )


def _entries(folder: Path) -> int:
    """How many entries of the log a reader has to read after the newest checkpoint."""
    names = [path.name for path in (folder / "_delta_log").iterdir()]
    newest = max((name[:20] for name in names if ".checkpoint." in name), default="")
    return sum(name.endswith(".json") and name[:20] > newest for name in names)
