"""The services as users run them over a shop, with a receiver of messages, and sensors that do not make
a test wait.
"""

from __future__ import annotations

import sys
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path

import yaml

from tests.support.dagster_processes import Api, Home, home_template, wait_for
from tests.support.receiver import Received, Receiver, receiver
from tests.support.shop import Shop

LOCATION = "tests.support.location_quick_alerts"
QUICK_DAEMON = (sys.executable, "-m", "tests.support.quick_daemon")


@dataclass(frozen=True)
class ToldServices:
    """The services over a shop, and who is told."""

    shop: Shop
    home: Home
    api: Api
    receiver: Receiver
    switches: Path

    def told(self, about: str, *, seconds: float = 150, count: int = 1) -> list[Received]:
        """Wait until so many messages about something were taken; returns all about it."""
        return wait_for(
            lambda: len(found := self.about(about)) >= count and found,
            seconds=seconds,
            what=f"a message about {about}, beside {self.receiver.titles('main')}",
        )

    def about(self, text: str) -> list[Received]:
        return [one for one in self.receiver.taken("main") if text in one.text]

    def settle(self, *sensors: str) -> None:
        """Wait until the sensors of alerts (and others) have ticked twice since now."""
        for _ in range(2):
            now = time.time()
            for sensor in ("alerts_watch", "alerts_deliver", *sensors):

                def ticked(sensor: str = sensor, now: float = now) -> bool:
                    ticks = self.api.sensor_ticks(sensor)
                    return any(tick["timestamp"] > now for tick in ticks)

                wait_for(ticked, seconds=60, what=f"a tick of {sensor}")

    def switch(self, name: str, *, on: bool) -> None:
        if on:
            (self.switches / name).touch()
        else:
            (self.switches / name).unlink()

    def waiting_run(self) -> int:
        """The process of a run that has come to the switch."""
        mark = self.switches / "waiting"
        wait_for(mark.exists, seconds=90, what="a run")
        process = int(mark.read_text())
        mark.unlink()
        return process

    def fail(self, *days: str) -> None:
        """Deliver all of these days but their orders."""
        for day in days:
            self.shop.deliver_day(day)
            self.shop.withdraw("orders", day)


@contextmanager
def told_services(
    root: Path, shop: Shop, session_folder: Path, before: Callable[[Home], None]
) -> Iterator[ToldServices]:
    """The services, until the block ends.

    Args:
        before: what happens before they are started, with the home that they will have.
    """
    switches = root / "switches"
    switches.mkdir()
    with receiver() as inbox:
        environment = shop.environment | {
            "TEST_SWITCHES": str(switches),
            "CUSTOMER_PIPELINE_RETRY_DELAY": "1",
            "CUSTOMER_PIPELINE_ALERT_URLS": " ".join(
                [inbox.url("main"), inbox.url("loud", "?min=error"), "json://127.0.0.1:9/dead"]
            ),
        }
        home = Home(root / "home", environment, template=home_template(session_folder))
        _impatient_monitoring(home)
        before(home)
        with home.services(LOCATION, daemon=QUICK_DAEMON) as api:
            services = ToldServices(shop, home, api, inbox, switches)
            services.settle()
            yield services


def _impatient_monitoring(home: Home) -> None:
    instance = home.folder / "dagster.yaml"
    settings = yaml.safe_load(instance.read_text())
    settings["run_monitoring"]["poll_interval_seconds"] = 2
    instance.write_text(yaml.safe_dump(settings))
