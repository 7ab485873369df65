"""What the disk promises."""

from __future__ import annotations

import os
from pathlib import Path


def sync(path: Path) -> None:
    """Have the disk keep a file (or a folder's entries) before the next step relies on it."""
    descriptor = os.open(path, os.O_RDONLY)
    try:
        os.fsync(descriptor)
    finally:
        os.close(descriptor)
