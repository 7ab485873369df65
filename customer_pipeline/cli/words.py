"""How states and groups of partitions are shown in a terminal.

What does not belong here: what is shown, which each command knows.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence

from rich.console import Console
from rich.table import Table
from rich.text import Text

from customer_pipeline.planning.groups import Group, grouped
from customer_pipeline.planning.state import State

_SPANS_SHOWN = 4

STYLES: dict[str, str] = {
    "published": "green",
    "empty": "cyan",
    "failed": "bold red",
    "stale": "yellow",
    "missing": "magenta",
    "running": "bold blue",
    "waived": "bright_black",
}
# Each can be told from the others without colour, too.
SYMBOLS: dict[str, str] = {
    "published": "■",
    "empty": "□",
    "failed": "✗",
    "stale": "▲",
    "missing": "·",
    "running": "▶",
    "waived": "~",
}


def state_text(state: str) -> Text:
    """A state's name, in its colour."""
    return Text(state, style=STYLES[state])


def groups_table(groups: Iterable[Group], *, noun: str, header: str) -> Table:
    """A row per group: its partitions, how many they are, and what is said of them.

    Args:
        noun: what people call a partition.
        header: above what is said.
    """
    table = Table()
    table.add_column(f"{noun}s", no_wrap=True)
    table.add_column("", justify="right", no_wrap=True)
    table.add_column(header, overflow="fold")
    for group in groups:
        lines = [span.words for span in group.spans[:_SPANS_SHOWN]]
        if more := len(group.spans) - len(lines):
            lines.append(f"… and {more} more")
        table.add_row("\n".join(lines), f"{group.partitions:,}", Text(group.words))
    return table


def show_source(
    console: Console, keys: Sequence[str], states: Iterable[State], *, noun: str
) -> None:
    """What is to be known of the source's deliveries that no run would change; often nothing."""
    words = {state.partition_key: "; ".join(state.source) for state in states if state.source}
    if words:
        console.print("\nat the source")
        console.print(groups_table(grouped(keys, words), noun=noun, header="what to know"))
