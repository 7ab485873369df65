"""`customer-pipeline alerts`: try the channels, see what was told and what was not, and mute.

What belongs here: the three commands. What does not: noting and telling, which the sensors do
(`orchestration/alerting/sensors.py`).
"""

from __future__ import annotations

from collections.abc import Mapping
from datetime import UTC, datetime, timedelta
from typing import Annotated

import typer
from rich.console import Console
from rich.table import Table
from rich.text import Text

from customer_pipeline.alerts.channels import parse_channels
from customer_pipeline.alerts.message import Message
from customer_pipeline.alerts.mutes import Mute, mute, mutes, partition_subject, unmute
from customer_pipeline.alerts.outbox import Delivery, deliveries
from customer_pipeline.alerts.rendering import moment, plain
from customer_pipeline.alerts.sending import send
from customer_pipeline.alerts.store import Store
from customer_pipeline.cli.keys import PipelineName, keys_between
from customer_pipeline.cli.person import who
from customer_pipeline.cli.standing import unknown_feeds
from customer_pipeline.errors import ConfigError
from customer_pipeline.phrases import counted
from customer_pipeline.settings import Settings, load_settings

app = typer.Typer(help="Test the alert channels, list alerts, and mute them.", no_args_is_help=True)

_SAMPLE = Message(
    "error",
    "customer_pipeline: this is a test, nothing failed",
    reason="when something fails, you get a message like this one",
    more="customer-pipeline alerts list",
)
_SHOWN = 30


@app.command("test")
def test_channels() -> None:
    """Send a test message through every channel, and show what each answered. Exit code 1 if one
    rejected it."""
    console, channels = Console(), parse_channels(load_settings().channel_urls)
    if not channels:
        console.print(
            "No channel is set: alerts go to the log. Set CUSTOMER_PIPELINE_ALERT_URLS in the"
            " environment or in .env, for example to mailto://…, slack://… or ntfy://…"
        )
        raise typer.Exit(0)
    table, failed = Table("channel", "receives", "answer"), False
    for channel in channels:
        owned = f", owned by {channel.owner}" if channel.owner else ""
        answer = send(channel, [_SAMPLE])
        failed |= bool(answer)
        said = Text(answer or "accepted", style="red" if answer else "green")
        table.add_row(Text(channel.label), Text(f"{channel.least} and above{owned}"), said)
    console.print(table)
    raise typer.Exit(1 if failed else 0)


@app.command("list")
def list_alerts(
    count: Annotated[int, typer.Option("--last", help="show at most this many")] = _SHOWN,
) -> None:
    """Show the alerts that are pending, rejected by a channel, or sent, and what is muted. Exit code 1
    if an alert has not been sent."""
    console, store = Console(), Store(load_settings().alerts_path)
    if not store.exists:
        console.print("No alerts yet: the alert sensors run in Dagster's daemon.")
        return
    with store.transaction() as connection:
        found = deliveries(connection, limit=count)
        muted = mutes(connection, datetime.now(UTC))
    console.print(_deliveries_table(found) if found else "no alerts yet")
    if muted:
        console.print(_mutes_table(muted))
    raise typer.Exit(1 if any(one.told_at is None for one in found) else 0)


@app.command("mute")
def mute_subject(
    feed: Annotated[str | None, typer.Option(help="mute failures caused by this feed")] = None,
    key: Annotated[
        str | None,
        typer.Option("--day", "--partition", metavar="YYYY-MM-DD", help="mute it"),
    ] = None,
    name: PipelineName = None,
    until: Annotated[
        str | None,
        typer.Option(metavar="YYYY-MM-DD", help="when the mute ends (default: in a week)"),
    ] = None,
    reason: Annotated[str, typer.Option(help="why it is muted; kept with the mute")] = "",
    undo: Annotated[bool, typer.Option("--undo", help="end a mute instead")] = False,
) -> None:
    """Mute a feed or a day (month, ...) for a while.

    What is still wrong when the mute ends is reported then.
    """
    settings = load_settings()
    subject = _subject(settings, name, feed, key)
    store, now = Store(settings.alerts_path), datetime.now(UTC)
    if undo:
        with store.transaction() as connection:
            ended = unmute(connection, subject)
        Console().print(f"{subject}: {'no longer muted' if ended else 'was not muted'}")
        return
    # One line, so that it stays one wherever it is shown.
    if not (reason := " ".join(reason.split())):
        raise ConfigError(
            "a reason is needed", where="mute", todo='for example --reason "the supplier knows"'
        )
    ends = _end(until, now)
    with store.transaction() as connection:
        mute(connection, Mute(subject, ends, reason, who()), now)
    Console().print(Text(f"{subject}: muted until {moment(ends)}: {reason}"))


def _subject(settings: Settings, name: str | None, feed: str | None, key: str | None) -> str:
    if (feed is None) == (key is None):
        raise ConfigError(
            "what to mute is not said, or said twice",
            where="mute",
            todo="give --feed, or --day with the key of one partition",
        )
    from customer_pipeline.orchestration.location import build_pipeline

    pipeline = build_pipeline(settings, name)
    if key is not None:
        (key,) = keys_between(pipeline.partitions, key, key)
        return partition_subject(key, pipeline.option)
    assert feed is not None
    # A feed is one of the source's, whichever pipeline takes it.
    if error := unknown_feeds(pipeline.source.feeds, [feed], where="mute"):
        raise error
    return feed


def _end(until: str | None, now: datetime) -> datetime:
    if until is None:
        return now + timedelta(days=7)
    try:
        ends = datetime.strptime(until, "%Y-%m-%d").replace(tzinfo=UTC)
    except ValueError:
        ends = None
    if ends is None or ends <= now:
        raise ConfigError(
            f"{until!r} is not a future date", where="mute", todo="write it as YYYY-MM-DD"
        )
    return ends


def _deliveries_table(found: list[Delivery]) -> Table:
    table = Table("raised", "message", "channel", "")
    for one in found:
        table.add_row(
            moment(one.noted_at), Text(plain(one.message).title), Text(one.channel), _how(one)
        )
    return table


def _how(one: Delivery) -> Text:
    if one.told_at is not None:
        return Text(f"sent {moment(one.told_at)}", style="green")
    if not one.attempts:
        return Text("pending", style="yellow")
    return Text(
        f"rejected after {counted(one.attempts, 'attempt')}, next attempt {moment(one.next_try)}:"
        f" {one.answer}",
        style="red",
    )


def _mutes_table(muted: Mapping[str, Mute]) -> Table:
    table = Table("muted", "until", "by", "why")
    for one in muted.values():
        table.add_row(one.subject, moment(one.until), Text(one.muted_by), Text(one.reason))
    return table
