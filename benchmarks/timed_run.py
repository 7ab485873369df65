"""One range run as `dagster asset materialize` makes it, with a clock around each stage.

Run as a process of its own by `backfill.py`; prints seconds by part as JSON.
"""

from __future__ import annotations

import functools
import json
import sys
import time
from collections import defaultdict
from unittest import mock

import psutil

STAGES = ("extract", "load", "transform", "validate", "publish")


def main(first: str, last: str) -> None:
    started = psutil.Process().create_time()
    from dagster._cli import create_dagster_cli

    from customer_pipeline.orchestration import assets
    from customer_pipeline.stages import transform as transform_stage

    spent: dict[str, float] = defaultdict(float)

    def timed(name, function):
        @functools.wraps(function)
        def call(*args, **kwargs):
            begun = time.time()
            spent.setdefault("first stage", begun - started)
            try:
                return function(*args, **kwargs)
            finally:
                spent[name] += time.time() - begun

        return call

    for stage in STAGES:
        setattr(assets, stage, timed(stage, getattr(assets, stage)))
    transform_stage.build = timed("dbt", transform_stage.build)
    command = ["asset", "materialize", "--select", "*", "-m", "customer_pipeline.definitions"]
    with mock.patch.object(sys, "argv", ["dagster"]):
        create_dagster_cli()(
            [*command, "--partition-range", f"{first}...{last}"], standalone_mode=False
        )
    total = time.time() - started
    stages = {stage: spent[stage] for stage in STAGES}
    print(
        json.dumps(
            {
                "total": total,
                "start-up": spent["first stage"],
                **stages,
                "of transform: dbt": spent["dbt"],
                "Dagster's events": total - spent["first stage"] - sum(stages.values()),
                "peak memory MiB": _peak_mebibytes(),
            }
        )
    )


def _peak_mebibytes() -> float:
    import resource

    return resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1024


if __name__ == "__main__":
    main(*sys.argv[1:])
