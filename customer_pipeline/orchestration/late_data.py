"""What starts runs for partitions that the source corrects, or delivers late.

The sensor looks back over a few partitions per feed (`look_back`), compares what the source offers
now with what raw holds, and asks for exactly the partitions that differ: once per change, neighbours
together, and after the scheduled run. A partition that a run works on just now is looked at again
afterwards, so a correction that comes in between is not lost. What has vanished starts nothing, and is
told.

What belongs here: asking for runs. What does not: which partitions (`planning/late_data.py`).
"""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from datetime import UTC, datetime
from functools import partial

import dagster as dg

from customer_pipeline.alerts.wording import first_lines
from customer_pipeline.errors import TransientError
from customer_pipeline.orchestration.alerting.source_changes import note_deliveries
from customer_pipeline.orchestration.instance_view import partitions_in_flight
from customer_pipeline.orchestration.pipeline import Pipeline
from customer_pipeline.orchestration.run_tags import RANGE_END, RANGE_START, REASON
from customer_pipeline.planning.known import Known, read_known
from customer_pipeline.planning.late_data import Late, late_partitions
from customer_pipeline.planning.pieces import pieces
from customer_pipeline.planning.source_changes import SourceChange, source_changes
from customer_pipeline.source.feed import Feed
from customer_pipeline.source.partitions import Window

_REASON_LENGTH = 300


def late_data_sensor(
    pipelines: Sequence[Pipeline], jobs: Sequence, *, interval: int = 300
) -> dg.SensorDefinition:
    """Asks for the partitions whose deliveries have changed or come since they were run.

    Args:
        interval: seconds between two looks, at least.
    """

    @dg.sensor(
        name="late_data",
        jobs=jobs,
        minimum_interval_seconds=interval,
        default_status=dg.DefaultSensorStatus.STOPPED,
        description="Runs partitions again when the source has corrected them or delivers late.",
    )
    def _sensor(context: dg.SensorEvaluationContext) -> dg.SensorResult | dg.SkipReason:
        asked: dict[str, dict[str, str]] = json.loads(context.cursor or "{}")
        looks = {
            pipeline.name: _look(context.instance, pipeline, asked.get(pipeline.name, {}))
            for pipeline in pipelines
        }
        requests = [request for look in looks.values() for request in look.requests]
        if not requests:
            return dg.SkipReason("; ".join(dict.fromkeys(look.why for look in looks.values())))
        return dg.SensorResult(
            run_requests=requests,
            cursor=json.dumps({name: look.asked for name, look in looks.items()}),
        )

    return _sensor


@dataclass(frozen=True)
class _Found:
    """The partitions that are to run, and what else there is to know of deliveries."""

    late: Sequence[Late]
    notes: Sequence[SourceChange]


@dataclass(frozen=True)
class _Look:
    """What a look at one pipeline asks for, or why for nothing; and which change of each partition has
    been asked for by now."""

    requests: Sequence[dg.RunRequest]
    why: str
    asked: Mapping[str, str]


def _look(instance: dg.DagsterInstance, pipeline: Pipeline, asked: Mapping[str, str]) -> _Look:
    now = datetime.now(UTC)
    # Before the warehouse: what has ended by now has told the warehouse what it did.
    in_flight = partitions_in_flight(instance, pipeline, now)
    calendar = pipeline.partitions.complete_keys(now)
    try:
        found = _late(pipeline, calendar)
    except TransientError as error:
        return _Look((), f"the next tick tries again: {error}", asked)
    new = {
        one.partition_key: one
        for one in found.late
        if one.partition_key not in in_flight and asked.get(one.partition_key) != one.change
    }
    kept = {key: asked[key] for key in _newest(calendar, _furthest(pipeline)) if key in asked}
    return _Look(
        [_request(pipeline, [new[key] for key in piece]) for piece in pieces(calendar, new.keys())],
        _nothing(found, in_flight),
        kept | {key: one.change for key, one in new.items()},
    )


def _late(pipeline: Pipeline, calendar: Sequence[str]) -> _Found:
    known = read_known(pipeline.warehouse_for_a_tick, pipeline.name, pipeline.feeds)
    windows = [
        window
        for window in pipeline.partitions.windows(_newest(calendar, _furthest(pipeline)))
        if window.key in known.tried
    ]
    looked_at = {
        name: _of(windows, _newest(calendar, _look_back(pipeline, feed)))
        for name, feed in pipeline.feeds.items()
    }
    changes = _changes(pipeline, looked_at, known)
    note_deliveries(pipeline, calendar, known, looked_at, changes)
    failed = [window.key for window in windows if window.key in known.failures]
    refused = pipeline.landing.refused(pipeline.feeds, failed)
    decide = partial(late_partitions, pipeline.feeds, windows, known, refused=refused)
    # Before a run is asked for, all its deliveries are looked at, however old: it takes them all.
    concerned = {*failed, *(one.partition_key for one in decide(changes))}
    others = {
        name: [one for one in windows if one.key in concerned and one not in looked_at[name]]
        for name in pipeline.feeds
    }
    changes += _changes(pipeline, others, known)
    return _Found(decide(changes), [one for one in changes if not one.calls_for_a_run])


def _changes(
    pipeline: Pipeline, looked_at: Mapping[str, Sequence[Window]], known: Known
) -> list[SourceChange]:
    return [
        change
        for name, windows in looked_at.items()
        for change in source_changes(
            {name: pipeline.feeds[name]}, windows, known.loaded, give_up=False
        )
    ]


def _newest(calendar: Sequence[str], number: int) -> Sequence[str]:
    return calendar[max(0, len(calendar) - number) :]


def _of(windows: Sequence[Window], keys: Sequence[str]) -> list[Window]:
    return [window for window in windows if window.key in keys]


def _furthest(pipeline: Pipeline) -> int:
    return max(_look_back(pipeline, feed) for feed in pipeline.feeds.values())


def _look_back(pipeline: Pipeline, feed: Feed) -> int:
    return pipeline.partitions.look_back if feed.look_back is None else feed.look_back


def _request(pipeline: Pipeline, late: Sequence[Late]) -> dg.RunRequest:
    # Without a run key: one that was used starts nothing more, and a source may go back to what it
    # had before. That each change is asked for once is the cursor's business.
    return dg.RunRequest(
        job_name=pipeline.spec.job,
        tags={
            RANGE_START: late[0].partition_key,
            RANGE_END: late[-1].partition_key,
            REASON: _reason(late)[:_REASON_LENGTH],
        },
    )


def _reason(late: Sequence[Late]) -> str:
    reasons = {one.partition_key: "; ".join(one.reasons) for one in late}
    if len(set(reasons.values())) == 1:
        return reasons[late[0].partition_key]
    return "; ".join(f"{key}: {reason}" for key, reason in reasons.items())


def _nothing(found: _Found, in_flight: Mapping[str, str]) -> str:
    waiting = [one.partition_key for one in found.late if one.partition_key in in_flight]
    if waiting:
        return f"waiting: {waiting[0]} is being processed by {in_flight[waiting[0]]}"
    if found.notes:
        shown = [f"{one.partition_key}: {one.words}" for one in found.notes]
        return "\n".join(
            ["the source offers nothing that a run could take in", *first_lines(shown)]
        )
    return "the source offers nothing new"
