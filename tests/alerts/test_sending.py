"""Telling: each channel for itself, marked only after it took the message (cases A5, A6)."""

from __future__ import annotations

import logging
import time
from datetime import UTC, datetime, timedelta
from typing import Any

import pytest
from apprise.decorators import notify

from customer_pipeline.alerts import outbox
from customer_pipeline.alerts.channels import parse_channels
from customer_pipeline.alerts.message import Alert, Message, Severity
from customer_pipeline.alerts.sending import Delivered, deliver
from customer_pipeline.alerts.store import Store
from tests.support.receiver import Receiver

MORE = "customer-pipeline status --day 2026-03-09"


class Desk:
    """An outbox, its channels, a log, and a clock that a test sets forward."""

    def __init__(self, store: Store, urls: str) -> None:
        self.store, self.channels = store, parse_channels(urls)
        self.ahead, self.log = timedelta(), []

    def now(self) -> datetime:
        return datetime.now(UTC) + self.ahead

    def note(self, *titles: str, severity: Severity = "error", **parts) -> None:
        with self.store.transaction() as connection:
            for title in titles:
                message = Message(severity, title, more=MORE, **parts)
                outbox.note(connection, Alert(title, message), self.now())

    def tell(self, *, after: timedelta = timedelta()) -> Delivered:
        self.ahead += after
        return deliver(self.store, self.channels, self.log.append, now=self.now)

    def pending(self) -> list[tuple[str, str]]:
        """Who has not been told of what."""
        with self.store.transaction() as connection:
            found = outbox.deliveries(connection, limit=1000)
        return [(one.channel, one.message.title) for one in found if one.told_at is None]


def test_a_message_is_told_once_to_each_channel(store: Store, receiver: Receiver) -> None:
    desk = Desk(store, f"{receiver.url('a')} {receiver.url('b')}")
    for _ in range(3):
        desk.note("it failed", reason="orders: cut off")
        desk.tell(after=timedelta(hours=2))
    for channel in ("a", "b"):
        (message,) = receiver.received(channel)
        assert message.title == "error: it failed"
        assert message.body == f"orders: cut off\nmore: {MORE}"
    assert desk.log == []
    # Another process, later: what was told is kept.
    assert Desk(Store(store.path), receiver.url("a")).tell().told == 0


def test_a_message_that_is_all_title_is_told(store: Store, receiver: Receiver) -> None:
    desk = Desk(store, receiver.url("a"))
    with store.transaction() as connection:
        outbox.note(connection, Alert("one", Message("error", "it failed")), desk.now())
    desk.tell()
    assert receiver.titles("a") == ["error: it failed"]


def test_a_channel_hears_of_what_is_loud_enough_and_of_its_owner(
    store: Store, receiver: Receiver
) -> None:
    desk = Desk(
        store,
        f"{receiver.url('errors', '?min=error')}, {receiver.url('all')}"
        f" {receiver.url('sales', '?owner=team:sales&min=warning')}",
    )
    desk.note("quiet", severity="info")
    desk.note("odd", severity="warning", owners=("team:sales",))
    desk.note("bad", owners=("team:platform",))
    desk.tell()
    assert receiver.titles("all") == ["info: quiet", "warning: odd", "error: bad"]
    assert receiver.titles("errors") == ["error: bad"]
    assert receiver.titles("sales") == ["warning: odd"]


def test_without_a_channel_the_log_is_told_once(store: Store) -> None:
    desk = Desk(store, "")
    desk.note("it failed", reason="cut off")
    desk.tell()
    desk.tell(after=timedelta(days=1))
    assert desk.log == [f"error: it failed\ncut off\nmore: {MORE}"]


def test_what_no_channel_wants_is_in_the_log(store: Store, receiver: Receiver) -> None:
    desk = Desk(store, receiver.url("a", "?min=error"))
    desk.note("quiet", severity="info")
    desk.tell()
    assert (receiver.received("a"), len(desk.log)) == ([], 1)


def test_a_dead_channel_is_tried_again_and_the_others_are_told_at_once(
    store: Store, receiver: Receiver
) -> None:
    receiver.always("down", 503)
    desk = Desk(store, f"json://127.0.0.1:9/dead {receiver.url('down')} {receiver.url('up')}")
    desk.note("it failed")
    assert desk.tell().told == 1
    assert receiver.titles("up") == ["error: it failed"]
    assert len(desk.pending()) == 2
    assert len(desk.log) == 2, "what was not taken is in the log as well"
    tries = len(receiver.received("down"))
    desk.tell(after=timedelta(seconds=20))
    assert len(receiver.received("down")) == tries, "not before the pause is over"
    for _ in range(8):
        desk.tell(after=timedelta(hours=1))
    assert len(receiver.received("down")) == tries * 9, "an hour is the longest pause"
    receiver.always("down", 200)
    desk.tell(after=timedelta(hours=1))
    desk.tell(after=timedelta(hours=1))
    assert receiver.titles("down") == ["error: it failed"]
    assert receiver.titles("up") == ["error: it failed"]
    assert [channel for channel, _ in desk.pending()] == ["json://127.0.0.1:9"]


def test_a_slow_channel_holds_up_no_other(store: Store, receiver: Receiver) -> None:
    receiver.delay("slow", 6)
    desk = Desk(store, f"{receiver.url('slow')} {receiver.url('quick')}")
    desk.note("it failed")
    began = time.time()
    desk.tell()
    assert receiver.received("quick")[0].at - began < 2
    # It gave up waiting, and does not know whether the message was taken: it will be told again.
    assert [channel for channel, _ in desk.pending()] == [desk.channels[0].label]


def test_a_long_error_is_cut_in_the_middle(store: Store, receiver: Receiver) -> None:
    desk = Desk(store, receiver.url("a"))
    desk.note("it failed", reason="begins " + "x" * 10_000 + " ends")
    desk.tell()
    (message,) = receiver.received("a")
    assert message.body.startswith("begins xxx")
    assert f"xxx ends\nmore: {MORE}" in message.body
    assert "more characters" in message.body
    assert len(message.body) < 1000


def test_what_is_refused_is_tried_in_fewer_words_and_else_stays_pending(
    store: Store, receiver: Receiver
) -> None:
    """Case A5: 400 for the text as it is."""
    desk = Desk(store, receiver.url("a"))
    receiver.answer("a", 400)
    desk.note("it failed", reason="x" * 10_000, lines=("one", "two"))
    desk.tell()
    first, second = receiver.received("a")
    assert (first.status, second.status) == (400, 200)
    assert len(second.body) < len(first.body)
    assert MORE in second.body
    assert desk.pending() == []

    receiver.answer("a", 400, 500)
    desk.note("another")
    refused = desk.tell().refused
    assert list(refused) == [desk.channels[0].label]
    assert "500" in "".join(refused.values())
    assert [title for _, title in desk.pending()] == ["another"]
    desk.tell(after=timedelta(minutes=2))
    assert receiver.titles("a")[-1] == "error: another"


def test_a_storm_is_one_digest(store: Store, receiver: Receiver) -> None:
    desk = Desk(store, receiver.url("a"))
    desk.note(*(f"failure {n}" for n in range(500)))
    began = time.time()
    desk.tell()
    assert time.time() - began < 10
    (message,) = receiver.received("a")
    assert message.title == "500 messages at once, 500 of them errors"
    assert "failure 0\n" in message.body
    assert "customer-pipeline alerts list" in message.body
    assert desk.pending() == []


def test_a_storm_that_goes_on_is_a_digest_every_few_minutes(
    store: Store, receiver: Receiver
) -> None:
    desk = Desk(store, receiver.url("a"))
    for n in range(120):
        desk.note(f"failure {n}")
        desk.tell(after=timedelta(seconds=15))
    desk.tell(after=timedelta(minutes=6))
    assert desk.pending() == []
    # Half an hour of a failure every quarter of a minute.
    assert 5 < len(receiver.received("a")) <= 5 + 7


@pytest.mark.parametrize(
    ("service", "said"), [("telltale", ""), ("longwinded", "x" * 275)], ids=["short", "cut"]
)
def test_a_channel_that_tells_parts_of_its_url_does_not_have_them_told_on(
    store: Store, service: str, said: str
) -> None:
    @notify(on=service)
    def refuse(*_: Any, **__: Any) -> bool:
        # As the libraries for HTTP do.
        logging.getLogger("apprise").warning(f"{said} /services/TokenAA/TokenBB?key=TokenCC")
        return False

    url = f"{service}://me:pass/word@hooks.example.com/services/TokenAA/TokenBB?key=TokenCC"
    desk = Desk(store, url)
    desk.note("it failed")
    (answer,) = desk.tell().refused.values()
    assert answer.startswith(f"{said} /***".strip())
    with store.transaction() as connection:
        (kept,) = outbox.deliveries(connection, limit=10)
    assert answer == kept.answer
    assert "Token" not in f"{answer}{kept}{desk.log}"


def test_what_waits_for_a_channel_that_is_gone_finds_another(
    store: Store, receiver: Receiver
) -> None:
    receiver.always("old", 500)
    desk = Desk(store, receiver.url("old"))
    desk.note("it failed")
    desk.tell()
    moved = Desk(store, receiver.url("new"))
    moved.tell(after=timedelta(hours=1))
    assert receiver.titles("new") == ["error: it failed"]
    assert moved.pending() == []


def test_two_at_once_tell_it_once(store: Store, receiver: Receiver) -> None:
    from concurrent.futures import ThreadPoolExecutor

    receiver.delay("a", 0.5)
    desk = Desk(store, receiver.url("a"))
    desk.note("it failed")
    with ThreadPoolExecutor(4) as threads:
        list(threads.map(lambda _: desk.tell(), range(4)))
    assert len(receiver.received("a")) == 1


@pytest.mark.parametrize("parameters", ["?format=markdown", ""])
def test_texts_from_data_are_harmless(store: Store, receiver: Receiver, parameters: str) -> None:
    desk = Desk(store, receiver.url("a", parameters))
    desk.note("it failed", reason="a\n\x1b[31m @channel <script> [x](http://evil) `rm`")
    desk.tell()
    (message,) = receiver.received("a")
    assert "@channel" not in message.body
    assert "\x1b" not in message.body
    assert message.body.count("\n") == 1
