"""The location as it is, except that one function, the first time that it is called, leaves its
process's id in a file and waits to be killed.

PAUSE_AT names the function (module:function or module:Class.method), PAUSE_MARK the file.
"""

from __future__ import annotations

import functools
import importlib
import os
import time
from pathlib import Path
from typing import Any

import dagster as dg

from customer_pipeline.orchestration.location import build_defs
from customer_pipeline.settings import load_settings


def _pause_once(target: str, mark: Path) -> None:
    module, _, path = target.partition(":")
    *owners, name = path.split(".")
    owner: Any = importlib.import_module(module)
    for part in owners:
        owner = getattr(owner, part)
    original = getattr(owner, name)

    @functools.wraps(original)
    def paused(*args: Any, **kwargs: Any) -> Any:
        if not mark.exists():
            beside = mark.with_suffix(".tmp")
            beside.write_text(str(os.getpid()))
            beside.rename(mark)
            time.sleep(600)
        return original(*args, **kwargs)

    setattr(owner, name, paused)


@dg.definitions
def defs() -> dg.Definitions:
    _pause_once(os.environ["PAUSE_AT"], Path(os.environ["PAUSE_MARK"]))
    return build_defs(load_settings())
