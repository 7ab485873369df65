"""Parts of Dagster that are used on purpose though they may still change: partitioned checks (preview),
owners of jobs and schedules (beta). The pins in `pyproject.toml` keep them as they are here.

What belongs here: keeping Dagster from telling every user about it. What does not: using them.
"""

from __future__ import annotations

import warnings
from collections.abc import Iterator
from contextlib import contextmanager

import dagster as dg


@contextmanager
def known_to_be_unstable() -> Iterator[None]:
    """Dagster says nothing of preview and beta in this block; nor of anything else less, elsewhere."""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", dg.PreviewWarning)
        warnings.simplefilter("ignore", dg.BetaWarning)
        yield
