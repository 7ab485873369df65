"""A schedule, ticked by hand."""

from __future__ import annotations

from datetime import datetime

import dagster as dg

from tests.support.dagster_processes import Home


def tick(
    home: Home, repository: dg.RepositoryDefinition, name: str, at: datetime
) -> list[dg.RunRequest] | str:
    """What a tick of the schedule `name` asks for at that moment, or why it asks for nothing."""
    with (
        home.instance() as instance,
        dg.build_schedule_context(
            instance, scheduled_execution_time=at, repository_def=repository
        ) as context,
    ):
        evaluated = repository.get_schedule_def(name).evaluate_tick(context)
    return list(evaluated.run_requests or []) or evaluated.skip_message or ""
