"""Sizes on disk, measured and in words."""

from __future__ import annotations

from contextlib import suppress
from pathlib import Path

from rich.filesize import decimal


def bytes_below(folder: Path) -> int:
    """The bytes of all files below a folder; a file that is gone meanwhile counts nothing."""
    sizes = []
    for path in folder.rglob("*"):
        with suppress(FileNotFoundError):
            sizes.append(path.stat().st_size if path.is_file() else 0)
    return sum(sizes)


def size_text(size: int) -> str:
    """Such as `1.2 MB`."""
    return decimal(size)
