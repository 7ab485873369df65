"""A calendar of states for a terminal: a sign a partition, told apart without colour too.

Days stand in rows of a month, weeks and months in rows of a year, hours in rows of a day.

What belongs here: drawing. What does not: states (`planning/state.py`).
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta
from itertools import groupby

from rich.columns import Columns
from rich.text import Text

from customer_pipeline.cli.words import STYLES, SYMBOLS
from customer_pipeline.planning.state import KINDS, State
from customer_pipeline.source.calendars import (
    DailyPartitions,
    HourlyPartitions,
    MonthlyPartitions,
    WeeklyPartitions,
)
from customer_pipeline.source.partitions import Partitions

_AFTER_LABEL = 2


@dataclass(frozen=True)
class _Layout:
    """How partitions lie in rows, by where they start.

    Args:
        row: the label of the row.
        place: the place in the row, from 0.
        numbers: what stands above some of the places.
        width: characters a place.
    """

    row: str
    place: Callable[[datetime], int]
    numbers: Mapping[int, str]
    width: int = 2

    def column(self, start: datetime) -> int:
        return self.place(start) * self.width


def _hours_passed(start: datetime) -> int:
    """Since midnight: a day on which the clocks are put back has one more."""
    midnight = start.replace(hour=0, minute=0, fold=0)
    return (start.astimezone(UTC) - midnight.astimezone(UTC)) // timedelta(hours=1)


def _counted_from_one(*numbers: int) -> dict[int, str]:
    return {number - 1: str(number) for number in numbers}


_LAYOUTS: dict[type[Partitions], _Layout] = {
    HourlyPartitions: _Layout("%Y-%m-%d", _hours_passed, {n: str(n) for n in range(0, 24, 3)}),
    DailyPartitions: _Layout(
        "%Y-%m", lambda start: start.day - 1, _counted_from_one(1, 5, 10, 15, 20, 25, 30)
    ),
    # The year and number of a week as ISO 8601 counts them: there may be 53.
    WeeklyPartitions: _Layout(
        "%G",
        lambda start: start.isocalendar().week - 1,
        _counted_from_one(1, *range(5, 54, 5)),
        width=1,
    ),
    MonthlyPartitions: _Layout("%Y", lambda start: start.month - 1, _counted_from_one(1, 4, 7, 10)),
}


def calendar(partitions: Partitions, states: Sequence[State]) -> Text:
    """The states of `partitions` in rows of at most 71 characters; what was not asked for is blank."""
    layout = _LAYOUTS[type(partitions)]
    placed = [(partitions.window(state.partition_key).start, state) for state in states]
    rows = [
        (label, list(row)) for label, row in groupby(placed, lambda one: f"{one[0]:{layout.row}}")
    ]
    begin = max(len(label) for label, _ in rows) + _AFTER_LABEL
    return Text("\n").join(
        [_header(layout, begin), *(_row(layout, label.ljust(begin), row) for label, row in rows)]
    )


def legend(states: Iterable[State]) -> Columns:
    """Each state that occurs: its sign, its name, and how many partitions are in it."""
    totals = Counter(state.kind for state in states)
    return Columns(
        [
            Text(f"{SYMBOLS[kind]} {kind} {totals[kind]:,}", STYLES[kind])
            for kind in KINDS
            if totals[kind]
        ],
        padding=(0, 3),
    )


def _header(layout: _Layout, begin: int) -> Text:
    text = ""
    for place, number in layout.numbers.items():
        text = text.ljust(begin + place * layout.width) + number
    return Text(text, style="dim")


def _row(layout: _Layout, label: str, row: Iterable[tuple[datetime, State]]) -> Text:
    text = Text(label)
    for start, state in row:
        text.pad_right(len(label) + layout.column(start) - len(text))
        text.append(SYMBOLS[state.kind], STYLES[state.kind])
    return text
