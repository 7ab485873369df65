"""Findings as a page for a terminal, and as JSON.

What does not belong here: the findings (`doctor_looks.py`).
"""

from __future__ import annotations

import json
from collections import Counter
from collections.abc import Iterator, Sequence
from dataclasses import asdict
from itertools import groupby

from rich.console import Console
from rich.table import Table
from rich.text import Text

from customer_pipeline.health.finding import LEVELS, Finding, Level
from customer_pipeline.phrases import counted

_STYLES: dict[Level, str] = {"ok": "green", "warning": "yellow", "problem": "bold red"}


def show_findings(console: Console, findings: Sequence[Finding]) -> None:
    """A row per finding, by area; below each that is not well, what to do; at the end, a sum."""
    table = Table.grid(padding=(0, 2))
    table.add_column(no_wrap=True)
    table.add_column()
    table.add_column(overflow="fold")
    for number, (area, of_area) in enumerate(groupby(findings, lambda finding: finding.area)):
        table.add_row(Text("\n" * bool(number) + area, style="bold"))
        for finding in of_area:
            style = _STYLES[finding.level]
            said = Text(finding.words)
            if finding.todo:
                said.append(f"\n→ {finding.todo}", style="cyan")
            table.add_row(Text(finding.level, style=style), Text(finding.name), said)
    console.print(table)
    console.print()
    console.print(_sum(findings))


def findings_json(findings: Sequence[Finding]) -> str:
    """One JSON object, indented: how many of each level, and every finding."""
    levels = Counter(finding.level for finding in findings)
    content = {
        "levels": {level: levels[level] for level in LEVELS},
        "findings": [asdict(finding) for finding in findings],
    }
    return json.dumps(content, indent=1, ensure_ascii=False)


def _sum(findings: Sequence[Finding]) -> Text:
    text = Text(", ").join(_counts(findings))
    return text if text else Text("all is well", style="green")


def _counts(findings: Sequence[Finding]) -> Iterator[Text]:
    levels = Counter(finding.level for finding in findings)
    for level in ("problem", "warning"):
        if count := levels[level]:
            yield Text(counted(count, level), style=_STYLES[level])
