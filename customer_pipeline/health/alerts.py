"""Alerts: does everybody hear who should? By the file of alerts alone, without Dagster."""

from __future__ import annotations

from collections.abc import Iterator
from datetime import datetime, timedelta

from customer_pipeline.alerts.channels import parse_channels
from customer_pipeline.alerts.health import health
from customer_pipeline.alerts.store import Store
from customer_pipeline.health.finding import Area, Finding
from customer_pipeline.settings import Settings

_AREA = Area("alerts")
# What was noted that long ago should have been offered to somebody.
_LONGEST_WAIT = timedelta(minutes=15)


def look_at_alerts(settings: Settings, now: datetime) -> Iterator[Finding]:
    """Findings about the channels, and about what they have not taken.

    Raises:
        ConfigError: the channels are not written as they should be, or the file of alerts cannot be
            used.
    """
    channels = parse_channels(settings.channel_urls)
    if channels:
        yield _AREA.ok("channels", ", ".join(channel.label for channel in channels))
    else:
        yield _AREA.warning(
            "channels",
            "none is set: failures are reported in the daemon's log only",
            "set some in CUSTOMER_PIPELINE_ALERT_URLS",
        )
    yield _pending(Store(settings.alerts_path), now)


def _pending(store: Store, now: datetime) -> Finding:
    found = health(store)
    if refused := found.refused:
        labels = ", ".join(dict.fromkeys(one.channel for one in refused))
        return _AREA.problem(
            "pending",
            f"{len(refused)} rejected by {labels}: {refused[0].answer}",
            "fix the channel; `customer-pipeline alerts test` shows what each answers",
        )
    waiting = [one for one in found.pending if now - one.noted_at > _LONGEST_WAIT]
    if waiting:
        them = "1 alert has" if len(waiting) == 1 else f"{len(waiting)} alerts have"
        return _AREA.problem(
            "pending",
            f"{them} been waiting since {waiting[-1].noted_at:%Y-%m-%d %H:%M} UTC without being sent",
            "check that the daemon is running and the sensor alerts_deliver is on",
        )
    return _AREA.ok("pending", "no alert is pending")
