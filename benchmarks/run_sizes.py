"""The same days as one run, as runs of ten days, and as runs of one day.

    python -m benchmarks.run_sizes --days 90 --customers 200 --lines 1000

Each run is a process of its own, one after the other, as with a limit of one run at once. Of many
equal runs only a sample is made, spread over the whole, and the rest is taken to cost the same; the
table says how many were. Compare ratios of one call, never times of two: the machine is noisy.
"""

from __future__ import annotations

import argparse
import tempfile
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

from rich.console import Console
from rich.table import Table

from benchmarks.backfill import prepared_environment, timed_run
from benchmarks.deliveries import make_deliveries

_PARTS = ("total", "start-up", "Dagster's events")


@dataclass(frozen=True)
class Cost:
    """Seconds of all runs together, by part, and the most memory (MiB) that one of them took."""

    runs: int
    made: int
    total: float
    start_up: float
    events: float
    memory: float


def main() -> None:
    parser = argparse.ArgumentParser(description="What the size of runs costs.")
    for name, default in (("days", 90), ("customers", 200), ("lines", 1000), ("sample", 8)):
        parser.add_argument(f"--{name}", type=int, default=default)
    asked = parser.parse_args()
    table = Table(
        title=f"{asked.days} days, {asked.customers} customers, {asked.lines} lines a day"
    )
    for name in ("days a run", "runs", "made", "total (s)", "times one run", "start-up", "events"):
        table.add_column(name, justify="right")
    table.add_column("peak memory (MiB)", justify="right")
    costs: list[Cost] = []
    for size in (asked.days, 10, 1):
        costs.append(_cost(asked, size))
        cost = costs[-1]
        table.add_row(
            *(f"{number:,}" for number in (size, cost.runs, cost.made)),
            f"{cost.total:.1f}",
            f"{cost.total / costs[0].total:.1f}",
            f"{cost.start_up / cost.total:.0%}",
            f"{cost.events / cost.total:.0%}",
            f"{cost.memory:.0f}",
        )
    Console().print(table)


def _cost(asked: argparse.Namespace, size: int) -> Cost:
    with tempfile.TemporaryDirectory() as folder:
        work = Path(folder)
        days = make_deliveries(
            work / "source", days=asked.days, customers=asked.customers, lines=asked.lines
        )
        environment = prepared_environment(work)
        # The first run of all parses the dbt project; nobody pays for that twice.
        timed_run(environment, days[0], days[0])
        runs = [days[at : at + size] for at in range(0, len(days), size)]
        parts = [timed_run(environment, run[0], run[-1]) for run in _spread(runs, asked.sample)]
    times = len(runs) / len(parts)
    total, start_up, events = (times * sum(part[name] for part in parts) for name in _PARTS)
    memory = max(part["peak memory MiB"] for part in parts)
    return Cost(len(runs), len(parts), total, start_up, events, memory)


def _spread(runs: Sequence[Sequence[str]], most: int) -> list[Sequence[str]]:
    """At most so many of the runs, from the first to the last at equal distances."""
    if len(runs) <= most:
        return list(runs)
    return [runs[round(n * (len(runs) - 1) / (most - 1))] for n in range(most)]


if __name__ == "__main__":
    main()
