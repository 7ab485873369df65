"""What the doctor says of alerts: who is named, and what nobody has taken."""

from __future__ import annotations

from datetime import UTC, datetime, timedelta
from pathlib import Path

import pytest

from customer_pipeline.alerts import outbox
from customer_pipeline.alerts.channels import parse_channels
from customer_pipeline.alerts.message import Alert, Message
from customer_pipeline.alerts.sending import deliver
from customer_pipeline.alerts.store import Store
from customer_pipeline.errors import ConfigError
from customer_pipeline.health.alerts import look_at_alerts
from customer_pipeline.settings import Settings

NOW = datetime(2026, 3, 9, 8, tzinfo=UTC)
# Nobody listens there.
DEAD = "json://127.0.0.1:9/secret"


def settings(tmp_path: Path, urls: str = DEAD) -> Settings:
    return Settings(data_dir=tmp_path, alert_urls=urls)  # pyright: ignore[reportArgumentType]


def said(settings: Settings, now: datetime = NOW) -> dict[str, tuple[str, str]]:
    return {one.name: (one.level, one.words) for one in look_at_alerts(settings, now)}


def note(settings: Settings) -> Store:
    store = Store(settings.alerts_path)
    with store.transaction() as connection:
        outbox.note(connection, Alert("one", Message("error", "it failed")), NOW)
    return store


def test_all_is_well_where_somebody_is_named_and_nothing_waits(tmp_path: Path) -> None:
    found = said(settings(tmp_path))
    assert {level for level, _ in found.values()} == {"ok"}
    assert "secret" not in str(found)
    assert not (tmp_path / "alerts.db").exists()


def test_that_nobody_is_named_is_a_warning(tmp_path: Path) -> None:
    level, words = said(settings(tmp_path, ""))["channels"]
    assert (level, "log only" in words) == ("warning", True)


def test_a_channel_that_cannot_be_used_is_named_without_its_secrets(tmp_path: Path) -> None:
    with pytest.raises(ConfigError) as raised:
        said(settings(tmp_path, "nosuch://user:secret@host"))
    assert "URL 1" in str(raised.value)
    assert "secret" not in str(raised.value)


def test_what_a_channel_has_not_taken_is_a_problem(tmp_path: Path) -> None:
    dead = settings(tmp_path)
    store = note(dead)
    deliver(store, parse_channels(DEAD), lambda _text: None, now=lambda: NOW)
    level, words = said(dead)["pending"]
    assert level == "problem"
    assert words.startswith("1 rejected by")


def test_what_nobody_has_offered_for_a_while_is_a_problem_and_not_before(tmp_path: Path) -> None:
    unattended = settings(tmp_path)
    note(unattended)
    assert said(unattended)["pending"][0] == "ok"
    level, words = said(unattended, NOW + timedelta(minutes=16))["pending"]
    assert (level, "1 alert has been waiting since 2026-03-09 08:00 UTC" in words) == (
        "problem",
        True,
    )
