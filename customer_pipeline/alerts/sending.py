"""Sending what is pending: each channel for itself, through Apprise, marked as told only after the
channel took it.

All channels are served at the same time, so that a slow or dead one holds up no other. What one does
not take stays pending and is tried again after a pause. A storm becomes one digest. A process that is
killed between sending and marking repeats that one message.

What does not belong here: what is pending (`outbox.py`), and how it looks (`rendering.py`).
"""

from __future__ import annotations

import time
from collections.abc import Callable, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta
from typing import Any

from filelock import FileLock, Timeout

from customer_pipeline.alerts import outbox
from customer_pipeline.alerts.channels import LOG, Channel
from customer_pipeline.alerts.message import Message, Texts
from customer_pipeline.alerts.outbox import Pending
from customer_pipeline.alerts.rendering import digest, fitted, markdown, plain, short
from customer_pipeline.alerts.store import Store
from customer_pipeline.redaction import secrets_of, without_secrets

# More than that at once, or in that time, become one message.
_BURST = 5
_BURST_TIME = timedelta(minutes=10)
_BETWEEN_DIGESTS = timedelta(minutes=5)
# Seconds: a channel gets no new message after that, so that a tick ends in time.
_LONGEST_VISIT = 15
# Seconds: a channel that needed longer did not refuse the text.
_QUICK = 3
_ANSWER_LENGTH = 300


@dataclass(frozen=True)
class Delivered:
    """How many messages channels took, and what those that did not take one answered, by label."""

    told: int
    refused: dict[str, str]


def deliver(
    store: Store,
    channels: Sequence[Channel],
    log: Callable[[str], Any],
    *,
    now: Callable[[], datetime] = lambda: datetime.now(UTC),
) -> Delivered:
    """Tell what is pending. One process does so at a time; another one has nothing to do then.

    Args:
        log: where messages go that no channel is named for, and those that none took.
    """
    lock = FileLock(f"{store.path}.delivery.lock", timeout=0)
    try:
        with lock:
            with store.transaction() as connection:
                outbox.route(connection, channels, now())
            served = [*channels, LOG]
            with ThreadPoolExecutor(len(served)) as threads:
                results = list(
                    threads.map(lambda channel: _Visit(store, channel, log, now).pay(), served)
                )
    except Timeout:
        return Delivered(0, {})
    return Delivered(
        sum(told for told, _ in results),
        {
            channel.label: answer
            for channel, (_, answer) in zip(served, results, strict=True)
            if answer
        },
    )


@dataclass(frozen=True)
class _Visit:
    """One look at what a channel is to be told."""

    store: Store
    channel: Channel
    log: Callable[[str], Any]
    now: Callable[[], datetime]

    def pay(self) -> tuple[int, str]:
        """Send what is due; how many messages were taken, and what the channel said to others."""
        begun, told, answer = time.monotonic(), 0, ""
        for batch in self._batches():
            if time.monotonic() - begun > _LONGEST_VISIT:
                break
            if refused := self._send(batch):
                answer = refused
            else:
                told += 1
        return told, answer

    def _batches(self) -> list[list[Pending]]:
        with self.store.transaction() as connection:
            now = self.now()
            due = outbox.pending(connection, self.channel, now)
            busy = outbox.told_recently(connection, self.channel, now - _BURST_TIME) >= _BURST
            last = outbox.last_told(connection, self.channel)
        if not due or self.channel is LOG:
            return [[one] for one in due]
        if busy and last and now - last < _BETWEEN_DIGESTS:
            return []
        return [due] if busy or len(due) > _BURST else [[one] for one in due]

    def _send(self, batch: list[Pending]) -> str:
        """Send one message, and record how that went; what the channel answered to no avail."""
        messages = [one.message for one in batch]
        answer = "" if self.channel is LOG else send(self.channel, messages)
        if self.channel is LOG or (answer and not any(one.attempts for one in batch)):
            for message in messages:
                self._to_log(message, answer)
        with self.store.transaction() as connection:
            if answer:
                outbox.record_refused(connection, self.channel, batch, answer, self.now())
            else:
                ids = [one.alert_id for one in batch]
                outbox.record_told(connection, self.channel, ids, self.now())
        return answer

    def _to_log(self, message: Message, answer: str) -> None:
        texts = plain(message)
        failed = f" (rejected by {self.channel.label}: {answer})" if answer else ""
        self.log(f"{texts.title}{failed}\n{texts.body}")


def send(channel: Channel, messages: Sequence[Message]) -> str:
    """Send a message, or many as one; empty when the channel took it, else what it answered."""
    begun = time.monotonic()
    answer = _notify(channel, messages, _texts(channel, messages))
    if answer and time.monotonic() - begun < _QUICK:
        # It may be the text that it refuses.
        least = short(messages[0]) if len(messages) == 1 else digest(messages[:_BURST])
        answer = _notify(channel, messages, least)
    return answer


def _texts(channel: Channel, messages: Sequence[Message]) -> Texts:
    if len(messages) > 1:
        return digest(messages)
    return (markdown if _speaks_markdown(channel) else plain)(messages[0])


def _speaks_markdown(channel: Channel) -> bool:
    formats = _plugin(channel).notify_format
    # Where a service knows several, its first is the one that it is sent.
    first = formats[0] if isinstance(formats, tuple | list) else formats
    return str(getattr(first, "value", first)) == "markdown"


def _plugin(channel: Channel) -> Any:
    import apprise

    plugin = apprise.Apprise.instantiate(channel.url, suppress_exceptions=True)
    if plugin is None:
        raise ValueError(f"Apprise cannot use the channel {channel.label}")
    return plugin


def _notify(channel: Channel, messages: Sequence[Message], texts: Texts) -> str:
    import apprise

    try:
        plugin = _plugin(channel)
        cut = fitted(texts, title=plugin.title_maxlen, body=plugin.body_maxlen)
        sender = apprise.Apprise()
        sender.add(plugin)
        result = sender.notify(
            title=cut.title,
            body=cut.body,
            notify_type=_type(messages),
            body_format=apprise.NotifyFormat.MARKDOWN
            if texts.markdown
            else apprise.NotifyFormat.TEXT,
            interpret_escapes=False,
        )
        answer = "" if result else _said(result)
    except Exception as error:
        # Whatever a service's plugin raises: the others are told all the same.
        answer = f"{type(error).__name__}: {error}"
    secrets = secrets_of(channel.url, shown=channel.label)
    # Before it is cut: half a secret is not found any more.
    return without_secrets(answer, secrets)[:_ANSWER_LENGTH]


def _type(messages: Sequence[Message]) -> Any:
    import apprise

    if all(message.good for message in messages):
        return apprise.NotifyType.SUCCESS
    severities = {message.severity for message in messages if not message.good}
    if "error" in severities:
        return apprise.NotifyType.FAILURE
    return apprise.NotifyType.WARNING if "warning" in severities else apprise.NotifyType.INFO


def _said(result: Any) -> str:
    """What Apprise, and the service through it, said of a message that was not taken."""
    lines = [entry.message for entry in result.logs() if entry.level in ("WARNING", "ERROR")]
    said = " ".join(" ".join(lines).split())
    return said or "no reason given"
