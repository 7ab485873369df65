"""The location as it is, except that its schedules tick every minute, so that a test can wait."""

from __future__ import annotations

from typing import Any
from unittest.mock import patch

import dagster as dg

from customer_pipeline.orchestration.location import build_defs
from customer_pipeline.settings import load_settings

_schedule = dg.schedule


def _every_minute(**options: Any) -> Any:
    options["cron_schedule"] = "* * * * *"
    return _schedule(**options)


@dg.definitions
def defs() -> dg.Definitions:
    with patch.object(dg, "schedule", _every_minute):
        return build_defs(load_settings())
