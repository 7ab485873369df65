"""The source YAML as frozen values: what a source is, which feeds it offers, and by which rules.

What belongs here: the fields a user may write, their types, defaults and the rules between them.
What does not: finding and parsing the file, and saying on which line a mistake is (`yaml_file.py`).
"""

from __future__ import annotations

from datetime import date
from typing import Annotated, Any, Literal, Self
from zoneinfo import ZoneInfo

from pydantic import BaseModel, ConfigDict, Field, field_validator, model_validator

Weekday = Literal["monday", "tuesday", "wednesday", "thursday", "friday", "saturday", "sunday"]
# Names become table, column and folder names, so they are plain lower-case identifiers. A leading
# underscore is kept for the pipeline's own columns.
Name = Annotated[str, Field(pattern=r"^[a-z][a-z0-9_]{0,62}$")]
ColumnType = Annotated[
    str,
    Field(
        pattern=r"^(text|integer|double|boolean|date|timestamp|decimal\([0-9]{1,2}, ?[0-9]{1,2}\))$"
    ),
]


class _Frozen(BaseModel):
    model_config = ConfigDict(frozen=True, extra="forbid")


class Column(_Frozen):
    """One loaded column: where it comes from and how its text becomes its type.

    `from` names the delivered column (default: the column's own name). `expression` is a DuckDB
    scalar expression over `value`, the delivered value, applied before the cast. `format` is a
    strptime format (date, timestamp), or `epoch_seconds` / `epoch_milliseconds` (timestamp);
    without it ISO 8601 is expected. `constant` (a text, or null) fills the column without reading
    anything. `required` columns may not be null; `optional` ones may be absent from a delivery.
    """

    type: ColumnType = "text"
    source: str | None = Field(default=None, alias="from")
    expression: str | None = None
    format: str | None = None
    thousands: Literal[",", ".", " ", "'"] | None = None
    decimal_point: Literal[".", ","] = "."
    constant: str | None = None
    required: bool = False
    optional: bool = False

    @property
    def is_constant(self) -> bool:
        return "constant" in self.model_fields_set

    @model_validator(mode="after")
    def _consistent(self) -> Self:
        if self.is_constant and (self.source or self.expression):
            raise ValueError("a constant column takes neither 'from' nor 'expression'")
        if self.format and self.type not in ("date", "timestamp"):
            raise ValueError(f"'format' belongs to date and timestamp columns, not to {self.type}")
        if self.required and self.optional:
            raise ValueError(
                "a column cannot be both required (not null) and optional (may be absent)"
            )
        return self


class EmptyDays(_Frozen):
    """The days on which no delivery means an empty day and not a failure."""

    weekdays: tuple[Weekday, ...] = ()
    dates: tuple[date, ...] = ()


class Feed(_Frozen):
    """One thing delivered partition by partition."""

    reader: Literal["csv", "jsonl", "parquet", "python"]
    # csv, jsonl, parquet: path with {date} or {date:%Y%m%d}; a relative one starts at the YAML's folder.
    path: str | None = None
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
    # SQL condition over the delivered columns: rows for which it is not true belong to another feed.
    where: str | None = None
    key: tuple[Name, ...] = ()
    # The timestamp or date column that must lie inside the partition's window.
    window_column: Name | None = None
    write: Literal["replace_partition"] = "replace_partition"
    missing: Literal["fail", "empty"] | EmptyDays = "fail"
    quarantine_threshold: float = Field(default=0.05, ge=0, le=1)

    @property
    def required_columns(self) -> tuple[str, ...]:
        """Loaded columns that may not be null: those marked required, and the key."""
        marked = [name for name, column in self.columns.items() if column.required]
        return tuple(dict.fromkeys([*marked, *self.key]))

    @property
    def delivered_columns(self) -> dict[str, bool]:
        """The columns a delivery must have, as delivered, each with whether it may be absent."""
        declared: dict[str, bool] = {}
        for name, column in self.columns.items():
            if not column.is_constant:
                delivered = column.source or name
                declared[delivered] = declared.get(delivered, True) and column.optional
        return declared | {name: True for name in self.ignored_columns if name not in declared}

    def may_be_empty(self, day: date) -> bool:
        """Whether the feed's rule allows `day` to have no delivery, or one without rows."""
        if isinstance(self.missing, EmptyDays):
            weekday = day.strftime("%A").lower()
            return weekday in self.missing.weekdays or day in self.missing.dates
        return self.missing == "empty"

    @model_validator(mode="after")
    def _consistent(self) -> Self:
        if self.reader == "python" and not self.function:
            raise ValueError("reader python needs 'function' (package.module:function)")
        if self.reader != "python" and not self.path:
            raise ValueError(f"reader {self.reader} needs 'path'")
        named = [*self.key, *([self.window_column] if self.window_column else [])]
        if unknown := [name for name in named if name not in self.columns]:
            raise ValueError(f"key or window_column names undeclared columns: {', '.join(unknown)}")
        return self


class Source(_Frozen):
    """A source: its feeds, the first (and perhaps last) day it has, and its time zone."""

    name: Name
    start: date
    end: date | None = None
    timezone: str
    feeds: dict[Name, Feed] = Field(min_length=1)

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
