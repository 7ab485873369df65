"""Is the newest partition published that should be by now? By the ledger alone, without Dagster."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from datetime import datetime, timedelta

from customer_pipeline.health.finding import Area, Finding
from customer_pipeline.planning.known import Known, read_known
from customer_pipeline.source.partitions import Partitions, Window
from customer_pipeline.warehouse.connection import Warehouse
from customer_pipeline.warehouse.publications import newest_publication
from customer_pipeline.warehouse.schema import has_ledger

_AREA = Area("partitions")
# How far back a look goes for others that are lacking too.
_LOOKED_AT = 31
# What a source that has ended did not deliver by then is history, and asked for by a person.
_PAST = timedelta(days=35)


def look_for_overdue(
    warehouse: Warehouse,
    pipeline: str,
    partitions: Partitions,
    now: datetime,
    due_at: Callable[[Window], datetime],
    *,
    option: str,
) -> Iterator[Finding]:
    """One finding: whether the newest partition that is due at the moment `now` is in order, and how
    many right before it are not.

    Published, empty by rule and waived ones are in order. Of a pipeline that nobody has ever run,
    while another one is run, it is only said.

    Args:
        option: what a command says to mean this pipeline (see `orchestration/pipeline.py`).

    Raises:
        TransientError: the warehouse is held.
        ConfigError: it is no DuckDB file.
    """
    newest = partitions.windows(partitions.complete_keys(now)[-_LOOKED_AT:])
    due = [window for window in newest if due_at(window) <= now]
    if not due:
        yield _AREA.ok(pipeline, f"no {partitions.noun} is due yet")
        return
    if partitions.end is not None and now - partitions.end > _PAST:
        yield _AREA.ok(
            pipeline, f"no {partitions.noun} is due any more: {due[-1].key} was the last"
        )
        return
    known = read_known(warehouse, pipeline, ())
    lacking = _lacking(due, known)
    if not lacking:
        yield _AREA.ok(pipeline, f"{due[-1].key}, the newest that is due, is in order")
    elif not (known.published or known.failures or known.waivers) and _is_used(warehouse):
        yield _AREA.warning(
            pipeline,
            f"it has never run; {due[-1].key} is the newest {partitions.noun} that is due",
            f"if you want it, run `customer-pipeline run{option} --from {due[-1].key}`",
        )
    else:
        yield _overdue(pipeline, lacking, known, due_at, option)


def _is_used(warehouse: Warehouse) -> bool:
    """Whether some pipeline has published something."""
    if not warehouse.exists:
        return False
    with warehouse.read() as connection:
        return has_ledger(connection) and newest_publication(connection) > 0


def _lacking(due: list[Window], known: Known) -> list[Window]:
    """The newest windows in a row that are not in order, oldest first."""
    in_order = known.published.keys() | known.waivers.keys()
    lacking: list[Window] = []
    for window in reversed(due):
        if window.key in in_order:
            break
        lacking.insert(0, window)
    return lacking


def _overdue(
    pipeline: str,
    lacking: list[Window],
    known: Known,
    due_at: Callable[[Window], datetime],
    option: str,
) -> Finding:
    first, newest = lacking[0], lacking[-1]
    due = due_at(newest)
    words = f"{newest.key} is not published, and was due by {due:%Y-%m-%d %H:%M %Z}"
    if not known.published:
        words = f"nothing is published; {newest.key} was due by {due:%Y-%m-%d %H:%M %Z}"
    elif len(lacking) > 1:
        more = f"{len(lacking) - 1}{' or more' if len(lacking) == _LOOKED_AT else ''}"
        words += f"; nor are {more} before it"
    if failure := known.failures.get(newest.key):
        words += f"; failed in {failure.stage}: {failure.reason}"
    span = f"--from {first.key} --to {newest.key}" if first != newest else f"--from {newest.key}"
    return _AREA.problem(pipeline, words, f"`customer-pipeline run{option} {span}`")
