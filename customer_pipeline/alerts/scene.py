"""What a look at the world has found: the values that the rules of `alerts/` decide on.

What belongs here: values that ledger and orchestrator are translated into. What does not: reading
either (`orchestration/alerting/`), and deciding.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence, Set
from dataclasses import dataclass, field
from datetime import datetime

from customer_pipeline.alerts.mutes import Mute, partition_subject
from customer_pipeline.alerts.wording import Words
from customer_pipeline.planning.known import Known
from customer_pipeline.warehouse.schema_drift import SchemaDrift


@dataclass(frozen=True)
class Scene:
    """What is known at the moment `now`.

    `calendar` has the keys of all partitions that are over. `known` is what the ledger says, None when
    it cannot be read. `unsettled` names the runs and backfills that are not over yet, or about to be
    tried again: what failed in them may still be mended by themselves. `due` has the partitions that
    should be published by now, each with when. `patience` is by feed how many attempts may fail before
    it is told. `drift` are the columns that are not as declared, as the ledger knows them.
    """

    now: datetime
    watching_since: datetime
    words: Words
    calendar: Sequence[str]
    known: Known | None
    unsettled: Set[str] = frozenset()
    due: Mapping[str, datetime] = field(default_factory=dict)
    mutes: Mapping[str, Mute] = field(default_factory=dict)
    patience: Mapping[str, int] = field(default_factory=dict)
    drift: Sequence[SchemaDrift] = ()

    def is_muted(self, key: str, reason: str = "") -> bool:
        """Whether people want to hear nothing of this partition, or of the feed that `reason` names."""
        subject = partition_subject(key, self.words.option)
        return subject in self.mutes or (self.words.feed_of(reason) or "") in self.mutes


@dataclass(frozen=True)
class Why:
    """What a run says of its failure: in which step, and in one line."""

    step: str
    reason: str


@dataclass(frozen=True)
class FailedRun:
    """A run that failed for good. `keys` are its partitions; it `publishes` when it was to publish
    them. `recurring` says that it is of a job that has a next run."""

    run_id: str
    job: str
    keys: tuple[str, ...]
    publishes: bool
    recurring: bool
    started: datetime
    ended: datetime


@dataclass(frozen=True)
class EndedBackfill:
    """A whole backfill whose last run has ended.

    `pipeline` is whose it is, `name` the operation's, `pages` the backfills of Dagster that it was made
    of; `keys` all that was asked for, `run_ids` who worked on them.
    """

    pipeline: str
    name: str
    pages: tuple[str, ...]
    status: str
    keys: tuple[str, ...]
    run_ids: frozenset[str]
    publishes: bool
    started: datetime
    ended: datetime
    reason: str = ""


@dataclass(frozen=True)
class RunPace:
    """A run that is under way: how long it takes already, and how long such a run usually does, in
    seconds (None without a history); how long nothing was heard of it."""

    run_id: str
    job: str
    keys: tuple[str, ...]
    seconds: float
    usual: float | None
    silent: float


@dataclass(frozen=True)
class FailedCheck:
    """A check that failed in a run that succeeded."""

    run_id: str
    asset: str
    check: str
    key: str
    severity: str
    description: str


@dataclass(frozen=True)
class FailingAutomation:
    """A sensor or schedule whose newest ticks all failed."""

    kind: str
    name: str
    ticks: int
    since: datetime
    error: str
