"""`dagster-daemon` as it is, except that it looks after backfills, and is heard of, every three seconds
and not every thirty, so that a test can wait."""

from __future__ import annotations

from functools import partial

from dagster._daemon import cli, controller

_SECONDS = 3

if __name__ == "__main__":
    controller.DEFAULT_DAEMON_INTERVAL_SECONDS = _SECONDS
    cli.daemon_controller_from_instance = partial(  # pyright: ignore[reportPrivateImportUsage]
        controller.daemon_controller_from_instance, heartbeat_interval_seconds=_SECONDS
    )
    cli.main()
