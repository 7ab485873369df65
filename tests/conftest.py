"""What all tests share: where the real data is."""

from __future__ import annotations

import os
from pathlib import Path

import pytest

PROJECT = Path(__file__).resolve().parents[1]


@pytest.fixture(scope="session")
def test_data() -> Path:
    """The folder with the real data sets (see README). Tests that need it skip without it."""
    default = PROJECT.parent / "shared" / "data"
    folder = Path(os.environ.get("CUSTOMER_PIPELINE_TEST_DATA", default))
    if not folder.is_dir():
        pytest.skip(f"no real data at {folder} (set CUSTOMER_PIPELINE_TEST_DATA)")
    return folder
