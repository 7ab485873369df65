"""`customer-pipeline alerts`: trying the channels, seeing what was told, and muting."""

from __future__ import annotations

from collections.abc import Iterator
from datetime import UTC, datetime

import pytest
from typer.testing import CliRunner, Result

from customer_pipeline.alerts import outbox
from customer_pipeline.alerts.channels import parse_channels
from customer_pipeline.alerts.message import Alert, Message
from customer_pipeline.alerts.sending import deliver
from customer_pipeline.alerts.store import Store
from customer_pipeline.cli.main import cli
from customer_pipeline.errors import PipelineError
from tests.support.receiver import Receiver, receiver
from tests.support.shop import Shop

SECRET = "hunter2-and-more"
URLS = "CUSTOMER_PIPELINE_ALERT_URLS"


@pytest.fixture
def inbox() -> Iterator[Receiver]:
    with receiver() as running:
        yield running


@pytest.fixture(autouse=True)
def wide(terminal: Shop, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("COLUMNS", "250")
    monkeypatch.setenv("LOGNAME", "eve")


def typed(*arguments: str) -> Result:
    return CliRunner().invoke(cli, ["alerts", *arguments])


def test_a_sample_goes_through_every_channel_and_each_answer_is_shown(
    inbox: Receiver, monkeypatch: pytest.MonkeyPatch
) -> None:
    good = inbox.url("good", "?min=warning&owner=team:sales").replace("//", f"//u:{SECRET}@")
    monkeypatch.setenv(URLS, good)
    tried = typed("test")
    assert tried.exit_code == 0
    assert "warning and above, owned by team:sales" in tried.output
    assert inbox.titles("good") == ["error: customer_pipeline: this is a test, nothing failed"]
    inbox.always("bad", 403)
    monkeypatch.setenv(URLS, f"{good} {inbox.url('bad')}")
    tried = typed("test")
    assert tried.exit_code == 1
    assert "accepted" in tried.output and "403" in tried.output
    assert SECRET not in tried.output


def test_without_a_channel_it_says_where_alerts_go() -> None:
    tried = typed("test")
    assert tried.exit_code == 0
    assert "alerts go to the log" in tried.output


def test_what_was_told_and_what_was_not_is_listed(terminal: Shop, inbox: Receiver) -> None:
    assert "No alerts yet" in typed("list").output
    store = Store(terminal.settings.alerts_path)
    inbox.always("bad", 500)
    now = datetime.now(UTC)
    with store.transaction() as connection:
        outbox.note(connection, Alert("one", Message("error", "a [bold]day[/bold] failed")), now)
    deliver(store, parse_channels(inbox.url("good")), lambda _: None)
    listed = typed("list")
    assert listed.exit_code == 0
    assert "error: a [bold]day[/bold] failed" in listed.output
    assert "sent 20" in listed.output
    with store.transaction() as connection:
        outbox.note(connection, Alert("two", Message("error", "another failed")), now)
    listed = typed("list")
    assert listed.exit_code == 1
    (row,) = (line for line in listed.output.splitlines() if "another failed" in line)
    assert [cell.strip() for cell in row.strip("│").split("│")][1:] == [
        "error: another failed",
        "no channel yet",
        "pending",
    ]
    deliver(store, parse_channels(inbox.url("bad")), lambda _: None)
    listed = typed("list")
    assert listed.exit_code == 1
    assert "rejected after 1 attempt, next attempt" in listed.output and "500" in listed.output


def test_feeds_and_days_are_muted_with_a_reason_and_an_end() -> None:
    muted = typed("mute", "--feed", "orders", "--until", "2099-01-01", "--reason", "known\nlong")
    assert muted.output == "orders: muted until 2099-01-01 00:00 UTC: known long\n"
    assert typed("mute", "--day", "2026-03-09", "--reason", "known").exit_code == 0
    listed = typed("list").output
    assert "2026-03-09" in listed and "known long" in listed and "eve" in listed
    assert typed("mute", "--feed", "orders", "--undo").output == "orders: no longer muted\n"
    assert typed("mute", "--feed", "orders", "--undo").output == "orders: was not muted\n"


def test_a_month_is_muted_apart_from_the_day_with_its_key(terminal: Shop) -> None:
    text = terminal.source_path.read_text()
    path = "{date:%Y-%m}.csv"
    terminal.source_path.write_text(
        f"{text}  trips: {{partitions: monthly, reader: csv, path: '{path}', columns: {{trip: {{}}}}}}\n"
    )
    month = ("mute", "--partition", "2026-03-01", "--pipeline", "monthly_trips")
    muted = typed(*month, "--until", "2099-01-01", "--reason", "known")
    assert muted.output.startswith("2026-03-01 --pipeline monthly_trips: muted until 2099-01-01")
    assert typed("mute", "--day", "2026-03-01", "--undo").output == "2026-03-01: was not muted\n"
    assert "no longer muted" in typed(*month, "--undo").output


@pytest.mark.parametrize(
    ("arguments", "told"),
    [
        (["--feed", "orders"], "a reason is needed"),
        (["--reason", "x"], "what to mute is not said"),
        (["--feed", "order", "--reason", "x"], "there is no feed 'order'"),
        (["--day", "2026-02-30", "--reason", "x"], "'2026-02-30' is not a day"),
        (["--feed", "orders", "--reason", "x", "--until", "2020-01-01"], "is not a future date"),
    ],
)
def test_what_cannot_be_muted_is_named(arguments: list[str], told: str) -> None:
    refused = typed("mute", *arguments)
    assert isinstance(refused.exception, PipelineError)
    assert told in str(refused.exception)
