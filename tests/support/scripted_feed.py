"""A feed that delivers what a script says: to try what a source may do that files cannot.

The source names `tests.support.scripted_feed:orders` with the option `script`, a folder. A file
`<day>` in it says, a line per call, what the call does; when the lines are used up, or there is no
file, a plain day is delivered. So it works across processes.
"""

from __future__ import annotations

import time
from pathlib import Path

import pyarrow as pa

from customer_pipeline.source.partitions import Window
from tests.support.shop import ORDERS, SOURCE, line

LINES_A_DAY = 3
SCRIPTED = SOURCE.replace(
    "reader: csv\n    path: deliveries/orders/{date}.csv",
    "reader: python\n    function: tests.support.scripted_feed:orders\n"
    "    options: {script: SCRIPT}",
)


def source_with(script: Path) -> str:
    """The shop's source with this feed for its orders."""
    script.mkdir(parents=True)
    return SCRIPTED.replace("SCRIPT", str(script))


def orders(window: Window, script: str) -> pa.Table:
    """A day's order lines, unless its script has something else to do.

    Known are `connection` and `timeout` (raise such an error, the first with a text if there is one),
    `mistake` (raise a KeyError), `nothing` (return no rows), and `wait <seconds>`.
    """
    file = Path(script) / window.key
    todo = file.read_text().splitlines() if file.exists() else []
    if todo:
        file.write_text("\n".join(todo[1:]))
        word, _, value = todo[0].partition(" ")
        match word:
            case "connection":
                raise ConnectionError(value or "the shop hung up")
            case "timeout":
                raise TimeoutError("the shop did not answer")
            case "mistake":
                raise KeyError("no such field")
            case "wait":
                time.sleep(float(value))
            case _:
                raise ValueError(f"the script says {todo[0]!r}")
    rows = [line(window.key, n) for n in range(LINES_A_DAY)]
    return pa.table({name: [str(row[name]) for row in rows] for name in ORDERS})
