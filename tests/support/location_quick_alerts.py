"""The location as it is, except that the sensors of alerts and of late data tick every few seconds, that
nothing is told as a digest, and that a test can interfere by putting files into the folder that
TEST_SWITCHES names:

- `wait`: a load leaves its process's id in `waiting`, and waits until the file is gone.
- `watch_fails`: each look raises, for as long as the file is there.
- `impatient`: a run is slow, and hangs, after seconds; only then, or on a busy machine any run might.
"""

from __future__ import annotations

import functools
import os
import time
from collections.abc import Callable
from datetime import timedelta
from pathlib import Path
from typing import Any
from unittest.mock import patch

import dagster as dg

from customer_pipeline.alerts import sending
from customer_pipeline.orchestration import assets, late_data, location
from customer_pipeline.orchestration.alerting import sensors
from customer_pipeline.orchestration.alerting.watch import Watch
from customer_pipeline.settings import load_settings

_SWITCHES = Path(os.environ["TEST_SWITCHES"])


def _waiting(load: Callable[..., Any]) -> Callable[..., Any]:
    @functools.wraps(load)
    def wait_and_load(*args: Any, **kwargs: Any) -> Any:
        if (_SWITCHES / "wait").exists():
            beside = _SWITCHES / "waiting.tmp"
            beside.write_text(str(os.getpid()))
            beside.rename(_SWITCHES / "waiting")
        while (_SWITCHES / "wait").exists():
            time.sleep(0.2)
        return load(*args, **kwargs)

    return wait_and_load


class _SwitchedWatch(Watch):
    def look(self, *args: Any) -> None:
        if (_SWITCHES / "watch_fails").exists():
            raise RuntimeError("the look fails, as the test wants it")
        if (_SWITCHES / "impatient").exists():
            Watch(self.pipelines, timedelta(seconds=5), timedelta(seconds=45)).look(*args)
        else:
            super().look(*args)


@dg.definitions
def defs() -> dg.Definitions:
    assets.load = _waiting(assets.load)
    # The tests fail more in a minute than a day does elsewhere, and want to see each message.
    sending._BURST = 1000
    quick = functools.partial(sensors.alert_sensors, watch_interval=1, deliver_interval=1)
    soon = functools.partial(late_data.late_data_sensor, interval=1)
    with (
        patch.object(location, "alert_sensors", quick),
        patch.object(location, "late_data_sensor", soon),
        patch.object(sensors, "Watch", _SwitchedWatch),
    ):
        return location.build_defs(load_settings())
