"""The Dagster instance's health: its settings, its database, its daemon, runs that are stuck.

What belongs here: looks at an instance that need no code location. What does not: schedules and
sensors (`automation_health.py`).
"""

from __future__ import annotations

from collections.abc import Iterator
from datetime import datetime

import dagster as dg

from customer_pipeline.health.finding import Area, Finding
from customer_pipeline.orchestration.activity import stuck_runs
from customer_pipeline.orchestration.daemon import HOW_TO_START, daemon_state
from customer_pipeline.orchestration.run_queue import OrderedRunQueue
from customer_pipeline.orchestration.run_tags import SCHEDULED, limit_tag
from customer_pipeline.phrases import short

_AREA = Area("dagster")
_SHIPPED = "copy the shipped dagster.yaml to DAGSTER_HOME, and start the daemon anew"


def look_at_settings(instance: dg.DagsterInstance) -> Iterator[Finding]:
    """What `dagster.yaml` lacks of what the pipeline counts on, and whether the database is as this
    version of Dagster wants it."""
    lacking = list(_lacking(instance))
    if lacking:
        yield _AREA.warning("dagster.yaml", f"without {'; without '.join(lacking)}", _SHIPPED)
    else:
        yield _AREA.ok("dagster.yaml", "has all that the pipeline counts on")
    if (log := type(instance.event_log_storage).__name__) == "SqliteEventLogStorage":
        yield _AREA.warning(
            "event log", f"{log} is Dagster's own, and slow with runs over many days", _SHIPPED
        )
    yield _database(instance)


def look_at_daemon(instance: dg.DagsterInstance, now: datetime) -> Iterator[Finding]:
    """Whether a daemon runs, by its heartbeats."""
    state = daemon_state(instance, now)
    if not state.alive:
        yield _AREA.problem("daemon", state.words, HOW_TO_START)
    elif state.silent:
        yield _AREA.warning(
            "daemon", state.words, "look into its log; if it stays so, start it anew"
        )
    else:
        yield _AREA.ok("daemon", state.words)


def look_for_stuck_runs(instance: dg.DagsterInstance, now: datetime) -> Iterator[Finding]:
    """Runs of any job that count as active, and of which nothing is heard any more."""
    stuck = stuck_runs(instance, now)
    if not stuck:
        yield _AREA.ok("runs", "none is stuck")
        return
    run = stuck[0]
    more = f", and {len(stuck) - 1} more" if len(stuck) > 1 else ""
    yield _AREA.problem(
        "runs",
        f"nothing has been heard for an hour of run {short(run.run_id)} of {run.job_name}{more}",
        "see it in the UI under Runs; terminate it there if its process is gone",
    )


def _lacking(instance: dg.DagsterInstance) -> Iterator[str]:
    if not instance.run_monitoring_enabled:
        yield "run_monitoring: a run whose worker was killed stays active for ever"
    if not instance.run_retries_enabled:
        yield "run_retries: a run whose worker was killed is not started again"
    elif instance.run_retries_retry_on_asset_or_op_failure:
        yield "retry_on_asset_or_op_failure: false: a run of a day that failed is run again in vain"
    queue = instance.get_concurrency_config().run_queue_config
    if queue is None or queue.max_concurrent_runs < 0:
        yield "concurrency.runs.max_concurrent_runs: all runs of a backfill start at once"
    limits = {limit["key"] for limit in queue.tag_concurrency_limits} if queue else set()
    if SCHEDULED not in limits:
        yield f"a limit for the tag {SCHEDULED}: two scheduled runs may be active at once"
    if limit_tag(1) not in limits:
        yield f"limits for tags such as {limit_tag(1)}: backfill takes no --max-active-runs"
    if not isinstance(instance.run_coordinator, OrderedRunQueue):
        yield f"{OrderedRunQueue.__name__}: the runs of a backfill start in no certain order"


def _database(instance: dg.DagsterInstance) -> Finding:
    storages = (instance.run_storage, instance.event_log_storage, instance.schedule_storage)
    versions = [storage.alembic_version() for storage in storages if storage is not None]
    if any(version and version[0] != version[1] for version in versions):
        return _AREA.problem(
            "database",
            "was made by another version of Dagster than this one",
            "stop the daemon and the UI, and run `dagster instance migrate`",
        )
    return _AREA.ok("database", "is as this version of Dagster wants it")
