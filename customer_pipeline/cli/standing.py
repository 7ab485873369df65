"""How partitions stand, for the commands that show or plan them: warehouse, source and runs in flight.

What belongs here: asking the three. What does not: what their answers mean (`planning/`), and how it
is shown.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from datetime import UTC, datetime
from typing import TYPE_CHECKING

from customer_pipeline.cli.instance import kept_instance
from customer_pipeline.errors import ConfigError
from customer_pipeline.planning.known import Known, read_known
from customer_pipeline.planning.late_data import late_partitions
from customer_pipeline.planning.source_changes import source_changes
from customer_pipeline.planning.state import State, states

if TYPE_CHECKING:
    from customer_pipeline.orchestration.instance_view import Record
    from customer_pipeline.orchestration.pipeline import Pipeline


@dataclass(frozen=True)
class Standing:
    """The states of the partitions asked for, and what they were made of. `runs_are_known`: there is a
    Dagster instance, which tells of runs in flight. `record` is what it remembers of the same ones,
    where somebody wants to compare."""

    states: tuple[State, ...]
    known: Known
    runs_are_known: bool
    record: Record | None


def standing(
    pipeline: Pipeline,
    keys: Sequence[str],
    *,
    look_at: Sequence[str] = (),
    hash_all: bool = False,
    compare: bool = False,
) -> Standing:
    """How the partitions `keys` stand now.

    Args:
        look_at: the feeds whose deliveries are compared with what is loaded.
        hash_all: compare contents also where a file's size and time of change are as they were.
        compare: also read Dagster's record of all these, which takes a while.

    Raises:
        ConfigError: the warehouse cannot be read, or `DAGSTER_HOME` names no folder.
        TransientError: the warehouse is held, or a source cannot be reached.
    """
    from customer_pipeline.orchestration.instance_view import compare_record, partitions_in_flight

    with kept_instance() as instance:
        running = partitions_in_flight(instance, pipeline, datetime.now(UTC)) if instance else {}
        known = read_known(pipeline.warehouse, pipeline.name, pipeline.feeds)
        feeds = {name: pipeline.feeds[name] for name in look_at}
        windows = pipeline.partitions.windows([key for key in keys if key in known.tried])
        changes = source_changes(feeds, windows, known.loaded, hash_all=hash_all)
        failed = [window.key for window in windows if window.key in known.failures]
        refused = pipeline.landing.refused(feeds, failed)
        late = late_partitions(pipeline.feeds, windows, known, changes, refused=refused)
        found = states(
            keys,
            known,
            code_version=pipeline.code_version,
            running=running,
            changes=changes,
            late=late,
        )
        record = compare_record(instance, pipeline, found) if instance and compare else None
        return Standing(tuple(found), known, instance is not None, record)


def unknown_feeds(known: Iterable[str], feeds: Sequence[str], *, where: str) -> ConfigError | None:
    """The error that names those of `feeds` that are not among the `known` ones."""
    known = list(known)
    unknown = [repr(name) for name in feeds if name not in known]
    if not unknown:
        return None
    return ConfigError(
        f"there is no feed {' and no feed '.join(unknown)}",
        where=where,
        todo=f"one of {', '.join(known)}",
    )
