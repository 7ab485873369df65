"""Where messages go: the channels that `CUSTOMER_PIPELINE_ALERT_URLS` names.

Each is an Apprise URL, with two parameters of the pipeline's own: `min=` (`info`, `warning` or
`error`: what it wants to hear at least) and `owner=` (it hears only of what that owner owns).

What belongs here: the setting. What does not: sending (`delivery.py`). No error and no label here
shows a URL, since nearly all of it may be secret.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from hashlib import sha256
from typing import cast
from urllib.parse import unquote_plus, urlsplit

from customer_pipeline.alerts.message import SEVERITIES, Message, Severity
from customer_pipeline.errors import ConfigError

_WHERE = "CUSTOMER_PIPELINE_ALERT_URLS"
# Between two URLs; a comma inside of one does not separate.
_BETWEEN = re.compile(r"[\s,;]+(?=[A-Za-z][A-Za-z0-9+.-]{0,30}://)")


@dataclass(frozen=True)
class Channel:
    """A channel: its Apprise URL, and which messages it wants.

    `name` is stable and says nothing of the URL; `label` is for people.
    """

    url: str = field(repr=False)
    name: str
    label: str
    least: Severity = "info"
    owner: str | None = None

    def wants(self, message: Message) -> bool:
        loud_enough = SEVERITIES.index(message.severity) >= SEVERITIES.index(self.least)
        return loud_enough and (self.owner is None or self.owner in message.owners)


# Where messages go when no channel is named, or none took one.
LOG = Channel("", "log", "log")


def parse_channels(text: str) -> tuple[Channel, ...]:
    """The channels that the setting names; none for an empty text.

    Raises:
        ConfigError: naming each URL that is wrong by its place in the list.
    """
    found, mistakes = [], []
    for number, url in enumerate(_BETWEEN.split(text.strip(" \t\r\n,;")), start=1):
        if not url:
            continue
        try:
            found.append(_channel(url))
        except ValueError as error:
            mistakes.append(f"URL {number}: {error}")
    if mistakes:
        raise ConfigError(
            "; ".join(mistakes),
            where=_WHERE,
            todo="URLs of Apprise, separated by spaces, such as"
            " slack://…?min=warning mailto://…?min=error&owner=team:sales",
        )
    return tuple(found)


def _channel(url: str) -> Channel:
    # By hand: a # is part of many of these URLs, and begins no fragment.
    address, _, query = url.partition("?")
    own, kept = _parameters(query)
    if unknown := set(own) - {"min", "owner"}:
        raise ValueError(f"there is no parameter {sorted(unknown)[0]}")
    least = own.get("min", "info").lower()
    if least not in SEVERITIES:
        raise ValueError(f"min must be one of {', '.join(SEVERITIES)}")
    owner = own.get("owner")
    if owner == "":
        raise ValueError("owner is empty")
    plain_url = f"{address}?{kept}" if kept else address
    return Channel(
        plain_url,
        name=sha256(plain_url.encode()).hexdigest()[:12],
        label=_label(plain_url),
        least=cast(Severity, least),
        owner=owner,
    )


def _parameters(query: str) -> tuple[dict[str, str], str]:
    """The pipeline's own parameters, and the others as they stand."""
    own, others = {}, []
    for part in filter(None, query.split("&")):
        name, _, value = part.partition("=")
        if name in ("min", "owner"):
            own[name] = unquote_plus(value)
        else:
            others.append(part)
    return own, "&".join(others)


def _label(url: str) -> str:
    import apprise

    plugin = apprise.Apprise.instantiate(url, suppress_exceptions=True)
    if plugin is None:
        raise ValueError(
            f"Apprise knows no service {urlsplit(url).scheme}://, or the URL lacks a part"
        )
    private = urlsplit(plugin.url(privacy=True))
    return f"{private.scheme}://{private.netloc.rpartition('@')[2]}"


def wanting(channels: Sequence[Channel], message: Message) -> Iterator[Channel]:
    """The channels that want to hear of a message."""
    return (channel for channel in channels if channel.wants(message))
