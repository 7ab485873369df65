"""What all tests share: where the real data is, and what is made once per test session."""

from __future__ import annotations

import os
from pathlib import Path

import pytest
from filelock import FileLock
from hypothesis import settings

from customer_pipeline.dbt_adapter.manifest import DbtProject
from tests.support.months import ride_models

# In CI every run tries the same examples: what is red there is red on the next try too. At a
# developer's desk each run looks further.
settings.register_profile("ci", derandomize=True, deadline=None)
if os.environ.get("CI"):
    settings.load_profile("ci")

PROJECT = Path(__file__).resolve().parents[1]


@pytest.fixture(scope="session")
def test_data() -> Path:
    """The folder with the real data sets (see README). Tests that need it skip without it."""
    default = PROJECT.parent / "shared" / "data"
    folder = Path(os.environ.get("CUSTOMER_PIPELINE_TEST_DATA", default))
    if not folder.is_dir():
        pytest.skip(f"no real data at {folder} (set CUSTOMER_PIPELINE_TEST_DATA)")
    return folder


@pytest.fixture(scope="session")
def session_folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """One folder for the whole test session, whichever worker asks."""
    base = tmp_path_factory.getbasetemp()
    folder = (base.parent if "PYTEST_XDIST_WORKER" in os.environ else base) / "session"
    folder.mkdir(exist_ok=True)
    return folder


@pytest.fixture(scope="session")
def dbt_cache(session_folder: Path) -> Path:
    """A cache folder (for `Shop`) in which the project's models are parsed already."""
    with FileLock(session_folder / ".dbt_cache.lock"):
        _ = DbtProject(PROJECT / "dbt_project", session_folder / "dbt_cache").parsed
    return session_folder / "dbt_cache"


@pytest.fixture(scope="session")
def rides(session_folder: Path) -> DbtProject:
    """The models of pipelines over months, weeks and hours (for `RideShop`)."""
    return ride_models(session_folder)
