"""What is told: one message, as a value that can be kept and shown in any form.

What belongs here: the parts of a message. What does not: its words (`wording.py` and others), how it
looks on a channel (`rendering.py`), and whether it was told (`outbox.py`).
"""

from __future__ import annotations

import json
from dataclasses import asdict, dataclass
from datetime import datetime
from typing import Literal, get_args

Severity = Literal["info", "warning", "error"]
SEVERITIES: tuple[Severity, ...] = get_args(Severity)


@dataclass(frozen=True)
class Message:
    """Something to tell.

    `title` is short and complete in itself. `severity` decides who hears of it; a message that
    something is well again (`good`) has the severity of what it ends, so that it reaches the same
    people. `reason` is one line, `lines` are more of them; `facts` are short ones such as `attempt 2`.
    `more` is the command that shows more, `mend` the one that mends it, `link` a page of the UI.
    """

    severity: Severity
    title: str
    reason: str = ""
    lines: tuple[str, ...] = ()
    facts: tuple[str, ...] = ()
    since: datetime | None = None
    more: str = ""
    mend: str = ""
    link: str = ""
    owners: tuple[str, ...] = ()
    good: bool = False


@dataclass(frozen=True)
class Alert:
    """A message and its identity: of all who see the same thing, the first is the one who tells it."""

    identity: str
    message: Message


@dataclass(frozen=True)
class Condition:
    """Something that can be wrong for a while: of which kind, and with what.

    `kind` is such as `partition` or `sensor`, `name` such as `daily_customers/2026-03-09`. `shown` is
    how a person calls it, and `scope` what a mute and a recovery are about: a pipeline, a job.
    """

    kind: str
    scope: str
    shown: str

    @property
    def name(self) -> str:
        return f"{self.kind}/{self.scope}/{self.shown}"


def to_json(message: Message) -> str:
    """A message as text that can be kept; `from_json` makes the message of it again."""
    values = asdict(message)
    values["since"] = message.since.isoformat() if message.since else None
    return json.dumps(values)


def from_json(text: str) -> Message:
    """The message that `to_json` was given."""
    values = json.loads(text)
    for name in ("lines", "facts", "owners"):
        values[name] = tuple(values[name])
    values["since"] = datetime.fromisoformat(values["since"]) if values["since"] else None
    return Message(**values)


@dataclass(frozen=True)
class Texts:
    """A message in one form: a title of one line, and a body."""

    title: str
    body: str
    markdown: bool = False
