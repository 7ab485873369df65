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
from customer_pipeline.alerts.delivery import send
from customer_pipeline.alerts.message import Message
from customer_pipeline.alerts.mutes import Mute, mute, mutes, partition_subject, unmute
from customer_pipeline.alerts.outbox import Delivery, deliveries
from customer_pipeline.alerts.rendering import moment, plain
from customer_pipeline.alerts.store import Store
from customer_pipeline.cli.keys import PipelineName, keys_between
from customer_pipeline.cli.person import who
from customer_pipeline.cli.standing import unknown_feeds
from customer_pipeline.errors import ConfigError
from customer_pipeline.settings import Settings, load_settings

app = typer.Typer(help="Who is told when something fails.", no_args_is_help=True)

_SAMPLE = Message(
    "error",
    "customer_pipeline: this is a test, nothing failed",
    reason="a message such as this one comes when something fails",
    more="customer-pipeline alerts list",
)
_SHOWN = 30


@app.command("test")
def test_channels() -> None:
    """Send a sample through every channel, and show what each answered. Exit code 1 when one did not
    take it."""
    console, channels = Console(), parse_channels(load_settings().channel_urls)
    if not channels:
        console.print(
            "No channel is set: alerts go to the log. Set CUSTOMER_PIPELINE_ALERT_URLS in the"
            " environment or in .env, such as mailto://…, slack://… or ntfy://…"
        )
        raise typer.Exit(0)
    table, failed = Table("channel", "hears of", "answer"), False
    for channel in channels:
        owned = f", owned by {channel.owner}" if channel.owner else ""
        answer = send(channel, [_SAMPLE])
        failed |= bool(answer)
        said = Text(answer or "taken", style="red" if answer else "green")
        table.add_row(Text(channel.label), Text(f"{channel.least} and above{owned}"), said)
    console.print(table)
    raise typer.Exit(1 if failed else 0)


@app.command("list")
def list_alerts(
    count: Annotated[int, typer.Option("--last", help="how many at most")] = _SHOWN,
) -> None:
    """Show what is pending or not taken by a channel, what was told, and what is muted. Exit code 1
    when something is pending."""
    console, store = Console(), Store(load_settings().alerts_path)
    if not store.exists:
        console.print("Nothing was noted yet: the sensors of alerts run with Dagster's daemon.")
        return
    with store.transaction() as connection:
        found = deliveries(connection, limit=count)
        muted = mutes(connection, datetime.now(UTC))
    console.print(_deliveries_table(found) if found else "nothing was noted yet")
    if muted:
        console.print(_mutes_table(muted))
    raise typer.Exit(1 if any(one.told_at is None for one in found) else 0)


@app.command("mute")
def mute_subject(
    feed: Annotated[str | None, typer.Option(help="all that fails because of this feed")] = None,
    key: Annotated[
        str | None,
        typer.Option("--day", "--partition", metavar="YYYY-MM-DD", help="all that fails of it"),
    ] = None,
    name: PipelineName = None,
    until: Annotated[
        str | None,
        typer.Option(metavar="YYYY-MM-DD", help="the day on which it ends (default: in a week)"),
    ] = None,
    reason: Annotated[str, typer.Option(help="why nobody need hear of it; it is kept")] = "",
    undo: Annotated[bool, typer.Option("--undo", help="instead: end a mute")] = False,
) -> None:
    """Say that nobody wants to hear of a feed or a day (month, ...) for a while.

    What is still wrong after that is told.
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
            "a reason is needed", where="mute", todo='such as --reason "the supplier knows"'
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
            f"{until!r} is no day to come", where="mute", todo="write it as YYYY-MM-DD"
        )
    return ends


def _deliveries_table(found: list[Delivery]) -> Table:
    table = Table("noted", "message", "channel", "")
    for one in found:
        table.add_row(
            moment(one.noted_at), Text(plain(one.message).title), Text(one.channel), _how(one)
        )
    return table


def _how(one: Delivery) -> Text:
    if one.told_at is not None:
        return Text(f"told {moment(one.told_at)}", style="green")
    if not one.attempts:
        return Text("pending", style="yellow")
    return Text(
        f"not taken, tries so far: {one.attempts}, the next try {moment(one.next_try)}: {one.answer}",
        style="red",
    )


def _mutes_table(muted: Mapping[str, Mute]) -> Table:
    table = Table("muted", "until", "by", "why")
    for one in muted.values():
        table.add_row(one.subject, moment(one.until), Text(one.muted_by), Text(one.reason))
    return table
