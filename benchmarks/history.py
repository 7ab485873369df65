"""What one more day costs after a long history, and one refresh of the reporting tables.

    python -m benchmarks.history --days 30 300 3000

The history goes through the stages themselves, in big ranges and without Dagster. The models of a
day are built without dbt (see `tests/support/compiled_models.py`), those of the reporting tables by
dbt. What they leave is what single days would have left, but for a shorter log in the lake, and rows
that lie closer together in the warehouse. Filling 3,000 days takes some minutes.

Compare the columns of one call, never the numbers of two: the machine is noisy.
"""

from __future__ import annotations

import argparse
import tempfile
import time
from collections import defaultdict
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from itertools import islice
from pathlib import Path
from unittest import mock

from rich.console import Console
from rich.filesize import decimal
from rich.progress import track
from rich.table import Table

from benchmarks.clock import Clock, Seconds
from benchmarks.endless_shop import SOURCE
from customer_pipeline.orchestration.location import build_pipeline
from customer_pipeline.orchestration.pipeline import Pipeline
from customer_pipeline.reporting import customers, refresh
from customer_pipeline.settings import Settings
from customer_pipeline.stages import publication, publish, transform
from tests.support.compiled_models import CompiledModels
from tests.support.stages import (
    extract_and_load,
    new_run,
    publish_candidate,
    refresh_reporting,
    run_stages,
    transform_keys,
    validate_candidate,
)

PROJECT = Path(__file__).resolve().parents[1]
_AT_ONCE = 250
_REST = "open, commit, close"

# Functions inside of a publication and of a refresh, and the part of the work that they are.
_INSIDE = {
    publish: {
        "_superseded": "ledger",
        "_replace_partitions": "marts",
        "replace_messages": "messages",
        "redelivered": "messages",
        "rows_in_marts": "counts and previews",
        "previews": "counts and previews",
        "record_published": "ledger",
        "record_publication": "ledger",
    },
    publication: {
        "content_hashes": "content hash",
        "rows_in_marts": "counts and previews",
        "record_moved": "ledger",
    },
    refresh: {"build": "dbt", "_replace_whole": "swap"},
    customers: {"_update_current": "customers: merge", "_update_history": "customers: history"},
}


@dataclass(frozen=True)
class Costs:
    """What was measured after some history: seconds by work and part of it, and bytes on disk."""

    seconds: Mapping[str, Seconds]
    sizes: Mapping[str, int]


def main() -> None:
    parser = argparse.ArgumentParser(description="What one more day costs after a long history.")
    parser.add_argument("--days", type=int, nargs="+", default=[30, 300, 3000])
    parser.add_argument("--repeats", type=int, default=3)
    parser.add_argument(
        "--cpu", action="store_true", help="processor time: steadier when others use the machine"
    )
    asked = parser.parse_args()
    clock = Clock(_INSIDE, time.process_time if asked.cpu else time.perf_counter)
    with tempfile.TemporaryDirectory() as folder:
        pipeline, models = _set_up(Path(folder))
        days = iter(pipeline.partitions.keys_between("2015-01-01", "2025-12-31"))
        history: list[str] = []
        costs: dict[int, Costs] = {}
        with mock.patch.object(transform, "build", models.build):
            for length in sorted(asked.days):
                _fill(pipeline, history, list(islice(days, max(0, length - len(history)))))
                costs[length] = _measure(pipeline, clock, history, islice(days, asked.repeats + 1))
    _show("processor milliseconds" if asked.cpu else "milliseconds", costs)


def _set_up(folder: Path) -> tuple[Pipeline, CompiledModels]:
    source = folder / "source.yaml"
    source.write_text(SOURCE)
    settings = Settings(source=source, data_dir=folder / "data", warehouse=None)
    return build_pipeline(settings), CompiledModels.of(PROJECT / "dbt_project", folder / "compiled")


def _fill(pipeline: Pipeline, history: list[str], days: list[str]) -> None:
    for begin in track(range(0, len(days), _AT_ONCE), "filling the history", transient=True):
        keys = days[begin : begin + _AT_ONCE]
        run_stages(pipeline, keys)
        history += keys


def _measure(pipeline: Pipeline, clock: Clock, history: list[str], days: Iterable[str]) -> Costs:
    """Add `days` to the history one by one, each with a refresh, and repeat an old one each time."""
    old = history[len(history) // 2]
    found: dict[str, list[Seconds]] = defaultdict(list)
    for day in days:
        found["one more day"].append(_run(pipeline, day, clock.at_zero()))
        history.append(day)
        found["the sensor's look"].append(_look(pipeline, clock.at_zero()))
        found["a refresh after it"].append(_refresh(pipeline, clock.at_zero()))
        found["an old day again"].append(_run(pipeline, old, clock.at_zero()))
    # The first of each warms up; the first refresh has all of the history to take in.
    best = {work: min(times[1:], key=_total) for work, times in found.items()}
    settings = pipeline.settings
    sizes = {"warehouse": settings.warehouse_path, "lake": settings.lake_path}
    return Costs(best, {name: _size(path) for name, path in sizes.items()})


def _run(pipeline: Pipeline, day: str, clock: Clock) -> Seconds:
    run = new_run(pipeline)
    candidate = pipeline.candidate(run.run_id)
    with clock.part("extract and load"):
        extract_and_load(pipeline, [day], run_id=run.run_id)
    with clock.part("build"):
        transform_keys(pipeline, [day], candidate)
    with clock.part("validate"):
        validate_candidate(pipeline, candidate)
    with clock.part(_REST):
        publish_candidate(pipeline, candidate, run)
    with clock.part("lake"):
        pipeline.lake.follow(pipeline.warehouse, pipeline.name, pipeline.marts)
    return clock.spent


def _refresh(pipeline: Pipeline, clock: Clock) -> Seconds:
    with clock.part(_REST):
        refresh_reporting(pipeline)
    return clock.spent


def _look(pipeline: Pipeline, clock: Clock) -> Seconds:
    with clock.part("look"), pipeline.warehouse.read() as connection:
        pipeline.reporting.standing(connection)
    return clock.spent


def _size(path: Path) -> int:
    files = [path] if path.is_file() else path.rglob("*")
    return sum(file.stat().st_size for file in files if file.is_file())


def _total(seconds: Seconds) -> float:
    return sum(seconds.values())


def _show(unit: str, costs: Mapping[int, Costs]) -> None:
    first, last = min(costs), max(costs)
    table = Table(title=f"{unit}, after so many days of history")
    table.add_column("")
    for name in (*(f"{days:,} days" for days in costs), f"{last:,} : {first:,}"):
        table.add_column(name, justify="right")
    for work, parts in costs[last].seconds.items():
        table.add_row(work, *_compared([_total(one.seconds[work]) for one in costs.values()]))
        for part in parts if len(parts) > 1 else ():
            times = [one.seconds[work].get(part, 0.0) for one in costs.values()]
            table.add_row(f"  {part}", *_compared(times), style="dim")
        table.add_section()
    for name in costs[last].sizes:
        sizes = [one.sizes[name] for one in costs.values()]
        table.add_row(f"{name} on disk", *map(decimal, sizes), f"{sizes[-1] / sizes[0]:.1f}")
    Console().print(table)


def _compared(seconds: list[float]) -> list[str]:
    ratio = f"{seconds[-1] / seconds[0]:.1f}" if seconds[0] else ""
    return [*(f"{1000 * one:.0f}" for one in seconds), ratio]


if __name__ == "__main__":
    main()
