"""The source YAML as frozen values: what a source is, which feeds it offers, and by which rules.

What belongs here: the fields a user may write, their types, defaults and the rules between them.
What does not: columns (`column.py`), when a delivery counts (`acceptance.py`), finding and parsing
the file, and saying on which line a mistake is (`yaml/`).
"""

from __future__ import annotations

import re
from datetime import date
from itertools import combinations
from typing import Annotated, Any, Literal, Self
from zoneinfo import ZoneInfo

from pydantic import (
    AfterValidator,
    Discriminator,
    Field,
    Tag,
    field_validator,
    model_validator,
)

from customer_pipeline.source.acceptance import Day, EmptyDays, ReadyWhen
from customer_pipeline.source.calendars import CALENDARS, Cadence
from customer_pipeline.source.column import Column, Frozen
from customer_pipeline.source.partitions import Partitions, Window


def _plain_name(value: str) -> str:
    # Names become table, column and folder names. A leading underscore is kept for the pipeline's
    # own columns.
    if not re.fullmatch(r"[a-z][a-z0-9_]{0,62}", value):
        raise ValueError(
            f"{value!r} is not a valid name: use lower-case letters, digits and underscores, a letter first,"
            " 63 characters at most"
        )
    return value


def _person_or_team(value: str) -> str:
    # What Dagster takes for an owner.
    if not re.fullmatch(r"team:[A-Za-z0-9_-]+|[^@\s]+@[^@\s]+\.[^@\s]+", value):
        raise ValueError(f"{value!r} is not an owner: write an e-mail address or team:name")
    return value


Name = Annotated[str, AfterValidator(_plain_name)]
Owner = Annotated[str, AfterValidator(_person_or_team)]

# Which readers make use of a field; elsewhere it would be ignored, so it is refused.
_READER_FIELDS = {
    "path": ("csv", "jsonl", "parquet"),
    "versions": ("csv", "jsonl", "parquet"),
    "ready_when": ("csv", "jsonl", "parquet"),
    "compression": ("csv", "jsonl", "parquet"),
    "encoding": ("csv", "jsonl"),
    "delimiter": ("csv",),
    "final_newline": ("csv", "jsonl"),
    "function": ("python",),
    "options": ("python",),
}

_ONE_WEEK = [date(2026, 3, day) for day in range(2, 9)]


class Feed(Frozen):
    """One thing delivered partition by partition."""

    # How often it is delivered, and so which pipeline takes it.
    partitions: Cadence = "daily"
    reader: Literal["csv", "jsonl", "parquet", "python"]
    # csv, jsonl, parquet: path with {date} or {date:%Y%m%d}; a relative one starts at the folder of
    # the YAML file, and ${NAME} is an environment variable.
    path: str | None = None
    # Where the path has {version}, which is any text: what several versions of one delivery mean.
    versions: Literal["refuse", "highest"] = "refuse"
    # By default a file counts as soon as it is there.
    ready_when: ReadyWhen | None = None
    compression: Literal["none", "gzip", "zstd"] = "none"
    encoding: str = "utf-8"
    delimiter: str = ","
    final_newline: Literal["required", "optional"] = "required"
    # python: package.module:function, called as function(window, **options).
    function: str | None = None
    options: dict[str, Any] = Field(default_factory=dict)
    columns: dict[Name, Column] = Field(min_length=1)
    ignored_columns: tuple[str, ...] = ()
    new_columns: Literal["fail", "ignore"] = "fail"
    # SQL condition over the delivered columns: rows for which it is not true are another feed's.
    where: str | None = None
    key: tuple[Name, ...] = ()
    # The timestamp or date column that must lie inside the partition's window.
    window_column: Name | None = None
    # dedupe: what is delivered is kept by partition too, and counts once by key: see stages/dedupe.py.
    write: Literal["replace_partition", "dedupe"] = "replace_partition"
    missing: Annotated[
        Annotated[Literal["fail", "empty"], Tag("word")] | Annotated[EmptyDays, Tag("days")],
        Discriminator(lambda value: "days" if isinstance(value, dict | EmptyDays) else "word"),
    ] = "fail"
    quarantine_threshold: float = Field(default=0.05, ge=0, le=1, strict=True)
    # Over how many of the newest partitions the source's corrections are looked for; None for as many
    # as is usual for such partitions.
    look_back: Annotated[int, Field(ge=0, strict=True)] | None = None
    # Who hears of failures of this feed, if not the source's owner, and from which failed attempt at
    # a partition on.
    owner: Owner | None = None
    alert_after: int = Field(default=1, ge=1, strict=True)

    @property
    def required_columns(self) -> tuple[str, ...]:
        """Loaded columns that may not be null: those marked required, the key, and the column that
        places a row in its partition."""
        marked = [name for name, column in self.columns.items() if column.required]
        placing = [self.window_column] if self.window_column else []
        return tuple(dict.fromkeys([*marked, *self.key, *placing]))

    @property
    def calendar(self) -> type[Partitions]:
        """The calendar by which it is delivered."""
        return CALENDARS[self.partitions]

    @property
    def delivered_columns(self) -> dict[str, bool]:
        """The columns a delivery must have, as delivered, each with whether it may be absent. One
        with several names has the first of them."""
        declared: dict[str, bool] = {}
        for name, column in self.columns.items():
            if not column.is_constant:
                delivered = column.delivered_names(name)[0]
                declared[delivered] = declared.get(delivered, True) and column.optional
        others = {name for names in self._names_of_columns for name in names}
        return declared | {name: True for name in self.ignored_columns if name not in others}

    @property
    def delivered_names(self) -> dict[str, tuple[str, ...]]:
        """What each of the `delivered_columns` may be called."""
        several = {names[0]: names for names in self._names_of_columns}
        return {name: several.get(name, (name,)) for name in self.delivered_columns}

    @property
    def _names_of_columns(self) -> list[tuple[str, ...]]:
        return [
            column.delivered_names(name)
            for name, column in self.columns.items()
            if not column.is_constant
        ]

    def may_be_empty(self, window: Window) -> bool:
        """Whether the feed's rule allows this partition to have no delivery, or one without rows."""
        if isinstance(self.missing, EmptyDays):
            first = window.start.date()
            weekday = first.strftime("%A").lower()
            return weekday in self.missing.weekdays or first in self.missing.dates
        return self.missing == "empty"

    @field_validator("encoding")
    @classmethod
    def _known_encoding(cls, value: str) -> str:
        try:
            "".encode(value)
        except (LookupError, ValueError) as error:
            words = f"unknown encoding {value!r}; use a name such as utf-8 or cp1252"
            raise ValueError(words) from error
        return value

    @field_validator("delimiter")
    @classmethod
    def _one_character(cls, value: str) -> str:
        if len(value) != 1 or value in '"\r\n':
            raise ValueError("must be one character, and neither a double quote nor a line break")
        return value

    @field_validator("function")
    @classmethod
    def _module_and_function(cls, value: str) -> str:
        if not re.fullmatch(r"[^\W\d]\w*(\.[^\W\d]\w*)*:[^\W\d]\w*", value):
            raise ValueError(f"{value!r} does not have the form package.module:function")
        return value

    @model_validator(mode="after")
    def _consistent(self) -> Self:
        needed = "function" if self.reader == "python" else "path"
        if getattr(self, needed) is None:
            raise ValueError(f"reader {self.reader} needs {needed!r}")
        if all(column.is_constant for column in self.columns.values()):
            raise ValueError(
                "all columns are constants: nothing of what is delivered would be loaded"
            )
        if self.write == "dedupe" and not self.key:
            raise ValueError("write: dedupe needs 'key': what identifies a message")
        foreign = self.model_fields_set & _READER_FIELDS.keys()
        if wrong := sorted(name for name in foreign if self.reader not in _READER_FIELDS[name]):
            raise ValueError(f"reader {self.reader} takes no {wrong[0]!r}")
        return self

    @model_validator(mode="after")
    def _names_its_partitions(self) -> Self:
        if not isinstance(self.missing, EmptyDays):
            return self
        calendar = self.calendar
        if self.missing.weekdays and not all(map(calendar.begins_on, _ONE_WEEK)):
            raise ValueError(
                f"'missing: weekdays' says nothing of {calendar.noun}s; name those that may be"
                " missing in 'dates', by their first days"
            )
        if wrong := [day for day in self.missing.dates if not calendar.begins_on(day)]:
            raise ValueError(
                f"no {calendar.noun} begins on {wrong[0]}; name it in 'missing: dates' by its first"
                " day"
            )
        return self

    @model_validator(mode="after")
    def _tells_delivered_columns_apart(self) -> Self:
        for one, two in combinations(dict.fromkeys(self._names_of_columns), 2):
            if both := sorted({*one} & {*two}):
                raise ValueError(
                    f"two columns take {both[0]!r}, and one of them has other names for it: give both"
                    " the same 'from'"
                )
        return self

    @model_validator(mode="after")
    def _names_its_columns(self) -> Self:
        named = [*self.key, *([self.window_column] if self.window_column else [])]
        if unknown := [name for name in named if name not in self.columns]:
            raise ValueError(f"key or window_column names undeclared columns: {', '.join(unknown)}")
        if constant := [name for name in named if self.columns[name].is_constant]:
            raise ValueError(f"key or window_column names constant columns: {', '.join(constant)}")
        placing = self.columns[self.window_column] if self.window_column else None
        if placing and placing.kind not in ("date", "timestamp"):
            raise ValueError(f"window_column must be a date or a timestamp, not {placing.type}")
        if placing and placing.kind == "date" and not self.calendar.hold_dates:
            raise ValueError(
                "window_column must be a timestamp: a date does not say in which"
                f" {self.calendar.noun} it lies"
            )
        return self


class Source(Frozen):
    """A source: its feeds, the first (and perhaps last) day it has, and its time zone."""

    name: Name
    start: Day
    end: Day | None = None
    timezone: str
    owner: Owner | None = None
    feeds: dict[Name, Feed] = Field(min_length=1)

    def partitions(self, cadence: Cadence) -> Partitions:
        """The partitions of that length that the source has, in its time zone."""
        return CALENDARS[cadence](self.start, self.end, ZoneInfo(self.timezone))

    def feeds_of(self, cadence: Cadence) -> dict[str, Feed]:
        """The feeds that are delivered by such partitions."""
        return {name: feed for name, feed in self.feeds.items() if feed.partitions == cadence}

    @field_validator("timezone")
    @classmethod
    def _known_zone(cls, value: str) -> str:
        try:
            ZoneInfo(value)
        except (KeyError, ValueError, OSError) as error:
            raise ValueError(
                f"unknown time zone {value!r}; use a name such as Europe/London"
            ) from error
        return value

    @model_validator(mode="after")
    def _ordered(self) -> Self:
        if self.end is not None and self.end < self.start:
            raise ValueError(f"end {self.end} is before start {self.start}")
        return self
