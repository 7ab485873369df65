"""The location as it is, except that its models are built without dbt's seconds, and that a run waits
before its transform while there is a gate for one of its partitions.

TEST_GATES names the folder of the gates, which `tests/support/gates.py` opens and closes, and
TEST_MODELS that of the compiled models.
"""

from __future__ import annotations

import os
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import dagster as dg

from customer_pipeline.orchestration import assets
from customer_pipeline.orchestration.location import build_defs
from customer_pipeline.reporting import refresh
from customer_pipeline.settings import load_settings
from customer_pipeline.stages import transform
from customer_pipeline.stages.candidate import Candidate
from tests.conftest import PROJECT
from tests.support.compiled_models import CompiledModels
from tests.support.gates import Gates


def _gated_transform(candidate: Candidate, keys: Sequence[str], **rest: Any) -> transform.Built:
    Gates(Path(os.environ["TEST_GATES"])).pass_by(keys)
    return transform.transform(candidate, keys, **rest)


@dg.definitions
def defs() -> dg.Definitions:
    models = CompiledModels.of(PROJECT / "dbt_project", Path(os.environ["TEST_MODELS"]))
    transform.build = models.build  # pyright: ignore[reportAttributeAccessIssue]
    refresh.build = models.build  # pyright: ignore[reportAttributeAccessIssue]
    assets.transform = _gated_transform
    return build_defs(load_settings())
