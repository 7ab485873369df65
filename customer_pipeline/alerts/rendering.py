"""How a message looks: as plain text or markdown, whole or cut to what a channel takes.

Texts that come from data and errors are made harmless here: one line, no control characters, no
markup, nobody called by an @.

What does not belong here: what a message says (`wording.py`), and sending it (`sending.py`).
"""

from __future__ import annotations

import re
from collections.abc import Callable, Sequence
from datetime import UTC, datetime

from customer_pipeline.alerts.message import Message, Texts

_CONTROL = re.compile(r"[\x00-\x1f\x7f-\x9f\u200e\u200f\u202a-\u202e\u2066-\u2069]+")
_MARKUP = re.compile(r"([\\`*_{}\[\]<>()#+!|~])")
# Between the @ and the name: it looks the same, and calls nobody.
_NOTHING = "\u200b"
_REASON_LENGTH = 600
_LINE_LENGTH = 240
_TITLE_LENGTH = 120
_SHORT_REASON = 200
_DIGEST_TITLES = 20


def plain(message: Message) -> Texts:
    """The message as text without any markup."""
    return Texts(_title(message), _body(message, _harmless, _as_it_is))


def markdown(message: Message) -> Texts:
    """The message as markdown; what comes from data is escaped."""
    return Texts(_title(message), _body(message, _escaped, _code), markdown=True)


def short(message: Message) -> Texts:
    """The least that is worth saying, for a channel that refused the rest."""
    parts = [cut(_harmless(message.reason), _SHORT_REASON), message.more]
    return Texts(_title(message), "\n".join(part for part in parts if part))


def digest(messages: Sequence[Message]) -> Texts:
    """Many messages as one: what each is about, and where to look."""
    errors = sum(message.severity == "error" and not message.good for message in messages)
    title = f"{len(messages)} messages at once, {errors} of them errors"
    shown = [f"- {_title(message)}" for message in messages[:_DIGEST_TITLES]]
    if more := len(messages) - len(shown):
        shown.append(f"- and {more} more")
    return Texts(title, "\n".join([*shown, "more: customer-pipeline alerts list"]))


def fitted(texts: Texts, *, title: int, body: int) -> Texts:
    """The texts, cut in the middle to the lengths that a channel takes; 0 for a title that it shows
    as part of the body."""
    # No service takes a message without a body.
    whole = texts.body or texts.title
    room = body - (len(texts.title) + 2 if title == 0 else 0)
    cut_title = cut(texts.title, title or _TITLE_LENGTH)
    return Texts(cut_title, cut(whole, max(room, 1)), texts.markdown)


def cut(text: str, length: int) -> str:
    """`text` in at most `length` characters: its beginning and its end, which say most."""
    if len(text) <= length:
        return text
    mark = f" […{len(text) - length:,} more characters…] "
    room = length - len(mark)
    if room < 20:
        return text[:length]
    head = room * 2 // 3
    return text[:head] + mark + text[len(text) - (room - head) :]


def moment(at: datetime) -> str:
    return f"{at.astimezone(UTC):%Y-%m-%d %H:%M} UTC"


def _title(message: Message) -> str:
    word = "resolved" if message.good else message.severity
    return cut(f"{word}: {_harmless(message.title)}", _TITLE_LENGTH)


def _body(message: Message, text: Callable[[str], str], command: Callable[[str], str]) -> str:
    facts = [*message.facts]
    if message.since:
        facts.append(f"since {moment(message.since)}")
    parts = [
        text(cut(message.reason, _REASON_LENGTH)),
        *(f"- {text(cut(line, _LINE_LENGTH))}" for line in message.lines),
        text(", ".join(facts)),
        f"more: {command(message.more)}" if message.more else "",
        f"fix: {command(message.mend)}" if message.mend else "",
        message.link,
    ]
    # Markdown takes a single line break for a space, unless two spaces stand before it.
    return ("  \n" if command is _code else "\n").join(part for part in parts if part)


def _harmless(text: str) -> str:
    return _CONTROL.sub(" ", text).replace("@", f"@{_NOTHING}").strip()


def _escaped(text: str) -> str:
    return _MARKUP.sub(r"\\\1", _harmless(text))


def _as_it_is(command: str) -> str:
    return command


def _code(command: str) -> str:
    return f"`{command}`"
