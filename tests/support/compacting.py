"""Other processes beside a test of the warehouse's compaction.

    python -m tests.support.compacting die <warehouse> <call or sql> <point> <turn>
    python -m tests.support.compacting write <warehouse> <worker> <rows>
    python -m tests.support.compacting read <warehouse>

`die` compacts and kills itself (SIGKILL) at the point, as `tests/support/killed_run.py` names them;
`write` commits one row after the other; `read` asks for as long as nobody ends it, and prints the
number of rows whenever it has changed.

What does not belong here: which points, and what must be left (the tests).
"""

from __future__ import annotations

import sys
from pathlib import Path

from customer_pipeline.warehouse.compaction import compact
from customer_pipeline.warehouse.connection import Warehouse
from tests.support.faults import watched
from tests.support.killed_run import die_at, die_in


def die(warehouse: Warehouse, kind: str, point: str, turn: int) -> None:
    if kind == "call":
        die_in(point, turn=turn)
        compact(warehouse, least_gain=0)
    else:
        with watched(die_at(point, turn=turn)):
            compact(warehouse, least_gain=0)


def write(warehouse: Warehouse, worker: str, rows: int) -> None:
    for n in range(rows):
        with warehouse.write() as connection:
            connection.execute("insert into written values (?, ?)", [worker, n])


def read(warehouse: Warehouse) -> None:
    last = None
    while True:
        with warehouse.read() as connection:
            (count,) = connection.execute("select count(*) from written").fetchone() or (0,)
        if count != last:
            sys.stdout.write(f"{count}\n")
            sys.stdout.flush()
        last = count


def main(what: str, path: str, *arguments: str) -> None:
    warehouse = Warehouse(Path(path), lock_timeout=60)
    if what == "die":
        die(warehouse, arguments[0], arguments[1], int(arguments[2]))
    elif what == "write":
        write(warehouse, arguments[0], int(arguments[1]))
    else:
        read(warehouse)


if __name__ == "__main__":
    main(*sys.argv[1:])
