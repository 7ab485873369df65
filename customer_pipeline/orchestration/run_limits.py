"""How many runs of one backfill work at once: a tag on its runs that the instance's limits know.

What belongs here: choosing the tag, and changing it on runs that wait. What does not: the limits
themselves, which are in `dagster.yaml`.
"""

from __future__ import annotations

import dagster as dg

from customer_pipeline.errors import ConfigError
from customer_pipeline.orchestration.activity import ACTIVE
from customer_pipeline.orchestration.run_tags import BACKFILL, PRIORITY, limit_tag

_WAITING = (dg.DagsterRunStatus.QUEUED, dg.DagsterRunStatus.NOT_STARTED)


def checked_limit(instance: dg.DagsterInstance, active_runs: int | None) -> int | None:
    """The limit of runs at once that has to be asked for with a tag; None when none has to.

    Raises:
        ConfigError: the instance cannot keep to it.
    """
    queue = instance.get_concurrency_config().run_queue_config
    most = queue.max_concurrent_runs if queue else 1
    if active_runs is None or active_runs == most:
        return None
    where = "--max-active-runs"
    if active_runs > most >= 0:
        raise ConfigError(
            f"this Dagster instance allows at most {most} runs at once",
            where=where,
            todo="ask for less, or raise max_concurrent_runs in DAGSTER_HOME/dagster.yaml",
        )
    limits = queue.tag_concurrency_limits if queue else ()
    if limit_tag(active_runs) not in {limit["key"] for limit in limits}:
        raise ConfigError(
            f"this Dagster instance has no limit for {active_runs} runs at once",
            where=where,
            todo="its dagster.yaml needs the tag_concurrency_limits of the shipped one",
        )
    return active_runs


def limit_in_force(instance: dg.DagsterInstance, backfill_id: str) -> int | None:
    """The limit to which the newest run of a backfill (ours) keeps, if to any."""
    newest = instance.get_runs(dg.RunsFilter(tags={BACKFILL: backfill_id}), limit=1)
    limits = [
        int(tag.removeprefix(limit_tag("")))
        for run in newest
        for tag, value in run.tags.items()
        if tag.startswith(limit_tag("")) and value == backfill_id
    ]
    return limits[0] if limits else None


def limit_runs(instance: dg.DagsterInstance, backfill_id: str, limit: int | None) -> int:
    """Let the runs of a backfill (ours) that have not ended keep to `limit` from now on, and to no
    other; returns how many they are.

    Args:
        limit: what `checked_limit` has returned.
    """
    of_backfill = dg.RunsFilter(tags={BACKFILL: backfill_id}, statuses=list(ACTIVE))
    before = limit_in_force(instance, backfill_id)
    raised = limit is None or (before is not None and limit > before)
    # The queue may look at any moment. Those at work come first, so that they count when the first
    # waiting one is looked at; of these no later one may be let in before an earlier one.
    runs = sorted(
        instance.get_runs(of_backfill),
        key=lambda run: (
            run.status in _WAITING,
            int(run.tags.get(PRIORITY, 0)) * (-1 if raised else 1),
        ),
    )
    for run in runs:
        tags = {limit_tag(limit): backfill_id} if limit is not None else {}
        others = [
            tag
            for tag in run.tags
            if tag.startswith(limit_tag("")) and tag not in tags and run.tags[tag] == backfill_id
        ]
        # A tag cannot be taken away, but one with a value of its own limits nothing.
        lifted = dict.fromkeys(others, run.run_id)
        if wanted := tags | lifted:
            instance.add_run_tags(run.run_id, wanted)
    return len(runs)
