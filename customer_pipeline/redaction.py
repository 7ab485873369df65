"""What must not leave the house: secrets, taken out of texts that others wrote.

What belongs here: what a secret is, and texts and errors without them. What does not: what single
rows hold (`alerts/redaction.py`), and where it is done: `errors.py` does it for the pipeline's own
errors, whoever lets a foreign one pass does it there.
"""

from __future__ import annotations

import re
import sysconfig
import traceback
from collections.abc import Iterable, Mapping
from functools import cache
from pathlib import Path
from typing import Any
from urllib.parse import quote, unquote

from customer_pipeline.environment import environment

_HIDDEN = "***"
_SECRET_NAME = re.compile(
    r"(?i)(pass(word|wd|phrase)?|_pwd|token|secret|credential|webhook|alert_urls"
    r"|(api|access|account|private)_?key|connection_?string)"
)
_URL = re.compile(r"[\w+.-]+://\S+")
# A password may have a slash or an @ in it; what stands before the last @ is not the host.
_USERINFO = re.compile(r"(?<=://)(?:[^/\s@:]*:\S*|[^/\s@]+)@")
_ASSIGNED = re.compile(
    r"(?i)\b([\w-]*(?:password|passwd|pwd|token|secret|credential|signature"
    r"|(?:api|access|account)[_-]?key))"
    r"""(["']?\s*[=:]\s*)("[^"]*"|'[^']*'|[^\s&,;]+)"""
)
_HEADER = re.compile(r"(?i)\b(bearer|basic)\s+[\w.~+/=-]{8,}")
# Shorter ones would take words apart.
_SHORTEST_SECRET = 6
_PACKAGE = str(Path(__file__).parent)
_LIBRARIES = tuple(sysconfig.get_path(name) for name in ("stdlib", "purelib", "platlib"))


class HidingError(Exception):
    """Stands for an error whose text, trace or causes hold secrets, and tells it without them."""


def secrets_in(named: Mapping[str, Any]) -> tuple[str, ...]:
    """The secret ones among values with names, such as an environment, longest first: those whose
    names say so (and each URL in them), and the passwords of URLs of any name."""
    found: set[str] = set()
    for name, value in named.items():
        if not isinstance(value, str):
            continue
        urls = _URL.findall(value) if "://" in value else []
        found |= {_password(url) for url in urls}
        if _is_secret(name):
            found |= {value, *urls, *(url.partition("?")[0] for url in urls)}
    return _longest_first(found)


def secrets_of(url: str, *, shown: str = "") -> tuple[str, ...]:
    """The parts of a URL of which nearly all may be secret, longest first: the whole of it, user,
    password, segments of the path, values of the query. The host is one, too, unless it stands in
    `shown`: where some services have a host, others have a token."""
    user, place, query = _split(url)
    host, _, path = place.partition("/")
    values = [pair.rpartition("=")[2] for pair in query.split("&")]
    hosts = [part for part in (host, *host.split(":")) if part.lower() not in shown.lower()]
    return _longest_first(
        [url, _password(url), *user.split(":"), *hosts]
        + [part for text in (user, path, *values) for part in (text, *re.split("[/,:@]", text))]
    )


def without_secrets(text: str, secrets: Iterable[str]) -> str:
    """`text` without these secrets, without the passwords of URLs, and without what is assigned to
    a name such as `token` or `password`."""
    for secret in secrets:
        text = text.replace(secret, _HIDDEN)
    text = _USERINFO.sub(f"{_HIDDEN}@", text)
    text = _HEADER.sub(rf"\1 {_HIDDEN}", text)
    return _ASSIGNED.sub(rf"\1\2{_HIDDEN}", text)


def known_secrets() -> tuple[str, ...]:
    """The secrets of the environment, as it is now."""
    return secrets_in(environment())


def discreet(text: str) -> str:
    """`text` without the secrets of the environment, and without what looks like one."""
    return without_secrets(text, known_secrets())


def discreet_words(error: BaseException, also: Iterable[str] = ()) -> str:
    """What a foreign error is, where it was raised, and its text: `OperationalError in shop_feeds.py
    line 17: cannot connect to ***@db`.

    Args:
        also: secrets that are not in the environment.
    """
    text = f"{type(error).__name__}{_raised_in(error)}: {error}"
    return without_secrets(text, (*known_secrets(), *also))


def discreet_error(error: BaseException, also: Iterable[str] = ()) -> BaseException:
    """`error`, if neither its text nor its trace nor its causes hold a secret; otherwise one that
    tells all of that without them. It is for what shows traces and causes, such as Dagster's UI.

    Args:
        also: secrets that are not in the environment.
    """
    secrets = (*known_secrets(), *also)
    trace = "".join(traceback.format_exception(error))
    told = without_secrets(trace, secrets)
    if told == trace:
        return error
    # Readers of errors take the first line.
    text = without_secrets(f"{type(error).__name__}: {error}", secrets)
    return HidingError(f"{text}\n{told}")


def _raised_in(error: BaseException) -> str:
    """The innermost line that the user wrote; else, of what is installed."""
    frames = [
        frame
        for frame in traceback.extract_tb(error.__traceback__)
        if not frame.filename.startswith(("<", _PACKAGE))
    ]
    own = [frame for frame in frames if not frame.filename.startswith(_LIBRARIES)]
    own = own or [frame for frame in frames if "-packages" in frame.filename]
    return f" in {Path(own[-1].filename).name} line {own[-1].lineno}" if own else ""


@cache
def _is_secret(name: str) -> bool:
    return _SECRET_NAME.search(name) is not None


def _split(url: str) -> tuple[str, str, str]:
    """Its user with the password, host with the path, and query; by hand, since a # begins no
    fragment in many of these URLs, and a slash may be part of a password."""
    address, _, query = url.partition("://")[2].partition("?")
    user, _, place = address.rpartition("@")
    return user, place, query


def _password(url: str) -> str:
    return _split(url)[0].partition(":")[2]


def _longest_first(parts: Iterable[str]) -> tuple[str, ...]:
    """The parts, as they stand, encoded and decoded, that are long enough."""
    forms = {form for part in parts for form in (part, unquote(part), quote(part, safe=""))}
    long_enough = [form for form in forms if len(form) >= _SHORTEST_SECRET]
    return tuple(sorted(long_enough, key=lambda form: (-len(form), form)))
