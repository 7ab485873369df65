"""A run of the stages in a process of its own that kills itself (SIGKILL) at a chosen point.

    python -m tests.support.killed_run <shop's folder> <compiled models> call <function> <turn> <day>...
    python -m tests.support.killed_run <shop's folder> <compiled models> sql <pattern> <turn> <day>...

The turn 0 never comes.

What does not belong here: which points, and what must be left (`tests/stages/test_killed_runs.py`).
"""

from __future__ import annotations

import importlib
import os
import re
import signal
import sys
from itertools import count
from pathlib import Path
from typing import Any

from customer_pipeline.stages import transform
from tests.support.compiled_models import CompiledModels
from tests.support.faults import Watch, watched
from tests.support.shop import Shop
from tests.support.stages import run_stages


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


def main(root: str, models: str, kind: str, point: str, turn: str, *days: str) -> None:
    transform.build = CompiledModels.read(Path(models)).build
    folder = Path(root)
    shop = Shop(folder, source=(folder / "source.yaml").read_text())
    if kind == "call":
        die_in(point, turn=int(turn))
        run_stages(shop.pipeline, days)
    else:
        with watched(die_at(point, turn=int(turn))):
            run_stages(shop.pipeline, days)


if __name__ == "__main__":
    main(*sys.argv[1:])
