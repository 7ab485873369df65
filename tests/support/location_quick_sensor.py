"""The location as it is, except that its sensor ticks every few seconds, and that a test can stop it
or a refresh by putting files into the folder that TEST_SWITCHES names:

- `sensor_fails`: each tick raises, for as long as the file is there.
- `wait_before`, `wait_after`: a refresh leaves its process's id in `waiting`, and waits before it
  does anything, or with everything done, until the file is gone.
"""

from __future__ import annotations

import functools
import os
import time
from collections.abc import Callable
from functools import partial
from pathlib import Path
from typing import Any
from unittest.mock import patch

import dagster as dg

from customer_pipeline.orchestration import location, reporting_sensor
from customer_pipeline.reporting.refresh import Reporting
from customer_pipeline.settings import load_settings

_SWITCHES = Path(os.environ["TEST_SWITCHES"])


def _with_switches(look: Callable[..., Any], refresh: Callable[..., Any]) -> None:
    @functools.wraps(look)
    def look_or_fail(*args: Any) -> Any:
        if (_SWITCHES / "sensor_fails").exists():
            raise RuntimeError("the sensor fails, as the test wants it")
        return look(*args)

    @functools.wraps(refresh)
    def refresh_and_wait(*args: Any, **kwargs: Any) -> Any:
        _wait("wait_before")
        refreshed = refresh(*args, **kwargs)
        _wait("wait_after")
        return refreshed

    reporting_sensor._look = look_or_fail
    Reporting.refresh = refresh_and_wait  # pyright: ignore[reportAttributeAccessIssue]


def _wait(switch: str) -> None:
    if not (_SWITCHES / switch).exists():
        return
    beside = _SWITCHES / "waiting.tmp"
    beside.write_text(str(os.getpid()))
    beside.rename(_SWITCHES / "waiting")
    while (_SWITCHES / switch).exists():
        time.sleep(0.2)


@dg.definitions
def defs() -> dg.Definitions:
    _with_switches(reporting_sensor._look, Reporting.refresh)
    with patch.object(
        location, "reporting_sensor", partial(reporting_sensor.reporting_sensor, interval=1)
    ):
        return location.build_defs(load_settings())
