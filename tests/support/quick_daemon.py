"""`dagster-daemon` as it is, except that it looks after backfills every three seconds, and not every
thirty, so that a test can wait."""

from __future__ import annotations

from dagster._daemon import controller
from dagster._daemon.cli import main

if __name__ == "__main__":
    controller.DEFAULT_DAEMON_INTERVAL_SECONDS = 3
    main()
