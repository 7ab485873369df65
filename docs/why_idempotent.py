"""The numbers in `why-idempotent.md`: one day loaded once, twice and five times, in several ways.

    python docs/why_idempotent.py [folder]

A day of the demo shop goes through the pipeline's own stages, and through plain versions of the same
patterns. Prints the tables of the document. What was made stays in `folder`, if one is named.

What belongs here: the order of events, and the tables. What does not: what is done to a day
(`demo_days.py`, `plain_versions.py`), and why (`why-idempotent.md`).
"""

from __future__ import annotations

import sys
import tempfile
from collections.abc import Iterable, Mapping
from pathlib import Path

import duckdb
from demo_days import DemoDays
from plain_versions import Plain

THE_DAY_BEFORE, DAY = "2026-03-02", "2026-03-03"
LOADS = {1: "once", 2: "twice", 5: "5 times"}
PATTERNS = {
    "raw.orders": "delete and insert",
    "reporting.customers_current": "merge on a key",
    "lake/fct_orders": "overwrite a partition",
    "marts.fct_events": "process once",
}

Row = tuple[str | int, ...]


def main(folder: Path) -> None:
    """Measure in `folder`, which must be empty, and print."""
    days = DemoDays.of(folder)
    days.load(THE_DAY_BEFORE)
    days.build(THE_DAY_BEFORE)
    days.publish(THE_DAY_BEFORE)
    days.load(DAY)
    days.build(DAY)
    days.publish_half(DAY)
    after: dict[int, Mapping[str, int]] = {}
    for loads in range(1, max(LOADS) + 1):
        days.load(DAY)
        days.publish(DAY)
        after[loads] = days.rows(DAY)

    with (
        duckdb.connect() as connection,
        days.pipeline.warehouse.attached_to(connection, "warehouse"),
    ):
        plain = Plain(connection, folder / "plain", DAY)
        _print(["order lines, appended", *LOADS.values()], _appended(plain))
        _print(
            [
                *("pattern", "table"),
                *(f"appended {times}" for times in LOADS.values()),
                *(f"pattern {times}" for times in LOADS.values()),
            ],
            _patterns(plain, after),
        )
        traps = _traps(plain)
    right = {
        **after[max(LOADS)],
        "raw.orders": days.load_corrected(DAY, "orders", where="\"Order No\" not like 'C%'"),
        "lake/fct_orders": days.rows_in_lake("fct_orders"),
    }
    _print(
        ["pattern", "what happens", "plain version", "pipeline"],
        [(PATTERNS[table], what, rows, right[table]) for table, what, rows in traps],
    )


def _appended(plain: Plain) -> list[Row]:
    rows = [plain.appended("raw.orders", loads) for loads in LOADS]
    return [
        ("rows", *rows),
        ("of them duplicates", *(found - rows[0] for found in rows)),
        ("sales of the day", *(plain.sales(loads) for loads in LOADS)),
    ]


def _patterns(plain: Plain, after: Mapping[int, Mapping[str, int]]) -> list[Row]:
    appended = {
        "raw.orders": [plain.appended("raw.orders", loads) for loads in LOADS],
        "reporting.customers_current": [
            plain.appended("marts.dim_customers", loads) for loads in LOADS
        ],
        "lake/fct_orders": [plain.appended_to_lake("marts.fct_orders", loads) for loads in LOADS],
        "marts.fct_events": [plain.appended("raw.events", loads) for loads in LOADS],
    }
    return [
        (pattern, f"`{table}`", *appended[table], *(after[loads][table] for loads in LOADS))
        for table, pattern in PATTERNS.items()
    ]


def _traps(plain: Plain) -> list[tuple[str, str, int]]:
    return [
        (
            "raw.orders",
            "the day comes again, without its cancellations",
            plain.deleted_by_key("not starts_with(order_id, 'C')"),
        ),
        (
            "reporting.customers_current",
            "a delivery holds two states of some customers",
            plain.merged(),
        ),
        (
            "lake/fct_orders",
            "the table holds another day, too",
            plain.overwritten("marts.fct_orders"),
        ),
        (
            "marts.fct_events",
            "a run breaks after the marks, before the rows",
            plain.processed(mark_first=True),
        ),
        (
            "marts.fct_events",
            "a run breaks after the rows, before the marks",
            plain.processed(mark_first=False),
        ),
    ]


def _print(head: Iterable[str], rows: Iterable[Row]) -> None:
    """A Markdown table whose numbers are on the right."""
    texts = [
        [f"{cell:,}" if isinstance(cell, int) else cell for cell in row] for row in (head, *rows)
    ]
    widths = [max(map(len, column)) for column in zip(*texts, strict=True)]
    is_number = [text[-1].isdigit() for text in texts[1]]
    rules = ["-" * (width - n) + ":" * n for n, width in zip(is_number, widths, strict=True)]
    for line in (texts[0], rules, *texts[1:]):
        cells = [
            text.rjust(width) if number else text.ljust(width)
            for text, width, number in zip(line, widths, is_number, strict=True)
        ]
        sys.stdout.write(f"| {' | '.join(cells)} |\n")
    sys.stdout.write("\n")


if __name__ == "__main__":
    if len(sys.argv) > 1:
        main(Path(sys.argv[1]))
    else:
        with tempfile.TemporaryDirectory() as temporary:
            main(Path(temporary))
