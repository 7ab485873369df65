"""What a daemon and the switches of the UI leave in a Dagster instance, without either.

What does not belong here: a real daemon (`dagster_processes.py`).
"""

from __future__ import annotations

import time
from typing import Literal

import dagster as dg
from dagster._core.definitions.run_request import InstigatorType
from dagster._core.events import DagsterEvent
from dagster._core.execution.plan.objects import StepFailureData, StepRetryData
from dagster._core.remote_origin import (
    RegisteredCodeLocationOrigin,
    RemoteInstigatorOrigin,
    RemoteRepositoryOrigin,
)
from dagster._core.scheduler.instigation import (
    InstigatorState,
    InstigatorStatus,
    ScheduleInstigatorData,
    SensorInstigatorData,
    TickData,
    TickStatus,
)
from dagster._daemon.types import DaemonHeartbeat
from dagster_shared.error import SerializableErrorInfo

Kind = Literal["schedule", "sensor"]

REPOSITORY = RemoteRepositoryOrigin(
    RegisteredCodeLocationOrigin("customer_pipeline"), "__repository__"
)


def beat(instance: dg.DagsterInstance, *, seconds_ago: float = 0, only: str | None = None) -> None:
    """The heartbeats of all daemons, or of one."""
    for kind in instance.get_required_daemon_types():
        if only in (None, kind):
            instance.add_daemon_heartbeat(DaemonHeartbeat(time.time() - seconds_ago, kind, "one"))


def switch(
    instance: dg.DagsterInstance,
    kind: Kind,
    name: str,
    status: Literal["RUNNING", "STOPPED", "DECLARED_IN_CODE"],
) -> None:
    """A schedule or sensor, switched on, off, or as the daemon remembers one that nobody switched."""
    data = (
        ScheduleInstigatorData("0 3 * * *", time.time())
        if kind == "schedule"
        else SensorInstigatorData()
    )
    state = InstigatorState(
        RemoteInstigatorOrigin(REPOSITORY, name),
        InstigatorType[kind.upper()],
        InstigatorStatus[status],
        data,
    )
    if instance.get_instigator_state(state.instigator_origin_id, state.selector_id):
        instance.update_instigator_state(state)
    else:
        instance.add_instigator_state(state)


def tick(
    instance: dg.DagsterInstance,
    kind: Kind,
    name: str,
    status: Literal["SKIPPED", "SUCCESS", "FAILURE"],
    *,
    seconds_ago: float = 0,
    error: str = "",
) -> None:
    """A look of a schedule or sensor; one that failed did so of `error`, inside another."""
    origin = RemoteInstigatorOrigin(REPOSITORY, name)
    cause = SerializableErrorInfo(error, [], "ValueError")
    instance.create_tick(
        TickData(
            origin.get_id(),
            name,
            InstigatorType[kind.upper()],
            TickStatus[status],
            time.time() - seconds_ago,
            error=SerializableErrorInfo("outer", [], "Error", cause) if error else None,
            selector_id=origin.get_selector().get_id(),
        )
    )


def fails_in_a_step(instance: dg.DagsterInstance, run: dg.DagsterRun, error: str) -> None:
    """A step of the run failed just now."""
    failure = StepFailureData(SerializableErrorInfo(error, [], error), user_failure_data=None)
    kind = dg.DagsterEventType.STEP_FAILURE
    event = DagsterEvent(kind.value, run.job_name, step_key="publish", event_specific_data=failure)
    instance.report_dagster_event(event, run.run_id)


def waits_for_another_attempt(
    instance: dg.DagsterInstance, run: dg.DagsterRun, *, seconds: float
) -> None:
    """A step of the run failed just now, and is to be tried again after so many seconds."""
    error = SerializableErrorInfo("the warehouse is held", [], "TransientError")
    retry = StepRetryData(error, seconds_to_wait=seconds)
    kind = dg.DagsterEventType.STEP_UP_FOR_RETRY
    event = DagsterEvent(kind.value, run.job_name, step_key="publish", event_specific_data=retry)
    instance.report_dagster_event(event, run.run_id)


def forget_ticks(instance: dg.DagsterInstance, name: str) -> None:
    origin = RemoteInstigatorOrigin(REPOSITORY, name)
    selector = origin.get_selector().get_id()
    instance.purge_ticks(origin.get_id(), selector, before=time.time() + 1)
