"""Runs of the stages in processes of their own that kill themselves (SIGKILL) at a chosen point.

    python -m tests.support.killed_run <shop's folder> <compiled models> call <function> <turn> <day>...
    python -m tests.support.killed_run <shop's folder> <compiled models> sql <pattern> <turn> <day>...
    python -m tests.support.killed_run serve <compiled models>

The turn 0 never comes. `serve` takes one run after the other from its standard input (see
`RunsThatDie`).

What does not belong here: which points, and what must be left (`tests/stages/test_killed_runs.py`,
`tests/stages/test_histories.py`).
"""

from __future__ import annotations

import importlib
import json
import os
import re
import signal
import subprocess
import sys
import traceback
from collections.abc import Sequence
from itertools import count
from pathlib import Path
from typing import Any

from customer_pipeline.reporting import refresh
from customer_pipeline.stages import transform
from tests.support.compiled_models import CompiledModels
from tests.support.faults import Watch, watched
from tests.support.kept_open import kept_open
from tests.support.shop import Shop
from tests.support.stages import refresh_reporting, run_stages

PROJECT = Path(__file__).resolve().parents[2]


class RunsThatDie:
    """A process that has imported everything and forks for each run, which then takes no time.

    It has opened nothing, neither files nor databases, that a forked process could inherit.
    """

    def __init__(self, models: Path) -> None:
        self._server = subprocess.Popen(
            [sys.executable, "-m", "tests.support.killed_run", "serve", str(models)],
            cwd=PROJECT,
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            text=True,
        )

    def run(self, root: Path, days: Sequence[str], point: tuple[str, int]) -> bool:
        """Run these days of the shop below `root`.

        Args:
            point: a pattern, and at which of the statements that it matches the run dies.

        Returns:
            Whether it died; it ends well when there are fewer such statements.
        """
        assert self._server.stdin and self._server.stdout
        statement, turn = point
        arguments = [str(root), "sql", statement, str(turn), *days]
        self._server.stdin.write(json.dumps(arguments) + "\n")
        self._server.stdin.flush()
        ended = int(self._server.stdout.readline())
        assert ended in (0, -signal.SIGKILL), "the run failed; see its traceback above"
        return ended != 0

    def refresh(self, root: Path, point: tuple[str, int]) -> bool:
        """Refresh the reporting tables of the shop below `root`, and die as in `run`."""
        return self.run(root, [], point)

    def stop(self) -> None:
        assert self._server.stdin and self._server.stdout
        self._server.stdin.close()
        self._server.wait(timeout=60)
        self._server.stdout.close()


def die_at(statement: str, *, turn: int) -> Watch:
    """Dies instead of executing the `turn`th statement that the pattern `statement` matches."""
    seen = count(1)

    def watch(sql: str) -> str:
        if re.search(statement, sql) and next(seen) == turn:
            os.kill(os.getpid(), signal.SIGKILL)
        return sql

    return watch


def die_in(call: str, *, turn: int) -> None:
    """Dies instead of making the `turn`th call of `call` (module:function or module:Class.method)."""
    module, _, path = call.partition(":")
    *owners, name = path.split(".")
    owner: Any = importlib.import_module(module)
    for part in owners:
        owner = getattr(owner, part)
    original, seen = getattr(owner, name), count(1)

    def counted(*args: Any, **kwargs: Any) -> Any:
        if next(seen) == turn:
            os.kill(os.getpid(), signal.SIGKILL)
        return original(*args, **kwargs)

    setattr(owner, name, counted)


def serve(models: str) -> None:
    """Fork for each line of the standard input; answer with how the forked process ended."""
    _without_dbt(models)
    for request in sys.stdin:
        child = os.fork()
        if not child:
            _run_and_exit(json.loads(request))
        _, status = os.waitpid(child, 0)
        print(os.waitstatus_to_exitcode(status), flush=True)  # noqa: T201


def _without_dbt(models: str) -> None:
    transform.build = refresh.build = CompiledModels.read(Path(models)).build


def _run_and_exit(arguments: Sequence[str]) -> None:
    try:
        with kept_open():
            run(*arguments)
    except BaseException:
        traceback.print_exc()
        sys.stderr.flush()
        os._exit(1)
    os._exit(0)


def run(root: str, kind: str, point: str, turn: str, *days: str) -> None:
    """Run these days; without any, refresh the reporting tables."""
    folder = Path(root)
    shop = Shop(folder, source=(folder / "source.yaml").read_text())
    if kind == "call":
        die_in(point, turn=int(turn))
        run_stages(shop.pipeline, days)
        return
    with watched(die_at(point, turn=int(turn))):
        if days:
            run_stages(shop.pipeline, days)
        else:
            refresh_reporting(shop.pipeline)


def main(root: str, models: str, *point_and_days: str) -> None:
    _without_dbt(models)
    run(root, *point_and_days)


if __name__ == "__main__":
    if sys.argv[1] == "serve":
        serve(sys.argv[2])
    else:
        main(*sys.argv[1:])
