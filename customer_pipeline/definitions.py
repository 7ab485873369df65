"""The entry that Dagster loads: `dagster` and `dg` find `defs` here."""

from __future__ import annotations

import dagster as dg

from customer_pipeline.orchestration.location import build_defs
from customer_pipeline.settings import load_settings


@dg.definitions
def defs() -> dg.Definitions:
    return build_defs(load_settings())
