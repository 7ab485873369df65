"""`customer-pipeline` as it is, except that a daemon counts as dead after ten seconds of silence, for
tests in which `quick_daemon` is heard of every three."""

from __future__ import annotations

from datetime import timedelta

from customer_pipeline.cli.backfill import workers
from customer_pipeline.cli.main import app
from customer_pipeline.orchestration import daemon

if __name__ == "__main__":
    daemon._SILENCE_OF_ALL = timedelta(seconds=10)
    workers._LISTEN_EVERY = 1.0
    app()
