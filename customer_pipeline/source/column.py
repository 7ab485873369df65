"""One loaded column of a feed as frozen values: where it comes from, and its type.

What belongs here: what a user may write under a column, and the rules between these fields. What
does not: the SQL that follows from it (`mapping/`).
"""

from __future__ import annotations

import re
from typing import Annotated, Literal, Self

from pydantic import (
    AfterValidator,
    BaseModel,
    ConfigDict,
    Discriminator,
    Field,
    StrictBool,
    Tag,
    model_validator,
)

from customer_pipeline.source.delivery import LINE
from customer_pipeline.source.mapping.formats import EPOCH_FORMATS, parse_format

# DuckDB's decimals have 38 digits at most.
_MAX_PRECISION = 38


class Frozen(BaseModel):
    """A value out of the YAML: it never changes, and takes no other fields than its own."""

    model_config = ConfigDict(frozen=True, extra="forbid")


def _known_type(value: str) -> str:
    if decimal := re.fullmatch(r"decimal\(([0-9]{1,2}), ?([0-9]{1,2})\)", value):
        precision, scale = int(decimal[1]), int(decimal[2])
        if not (1 <= precision <= _MAX_PRECISION and scale <= precision):
            raise ValueError(
                f"{value} is not a decimal type: it takes 1 to {_MAX_PRECISION} digits in all, and no more"
                " of them after the point"
            )
    elif value.startswith("decimal("):
        # Within braces the comma of an unquoted decimal(18,4) begins the next key.
        raise ValueError(
            f"{value!r} is not a decimal type: write it in quotes, such as 'decimal(18,4)'"
        )
    elif value not in ("text", "integer", "double", "boolean", "date", "timestamp"):
        raise ValueError(
            f"unknown type {value!r}; use text, integer, double, boolean, date, timestamp, or a"
            " decimal such as decimal(18,4)"
        )
    return value


ColumnType = Annotated[str, AfterValidator(_known_type)]
_Delivered = Annotated[str, Field(min_length=1)]


def _one_or_several(names: tuple[str, ...]) -> str | tuple[str, ...]:
    # A list of one means what that name alone means, and makes no partition stale.
    return names[0] if len(names) == 1 else names


_Names = Annotated[
    tuple[_Delivered, ...], Field(min_length=1), AfterValidator(_one_or_several), Tag("names")
]


class Column(Frozen):
    """One loaded column: where it comes from and how its text becomes its type.

    `from` names the delivered column (default: the column's own name), or lists the names that it had
    over time, of which a delivery has one. `expression` is a DuckDB
    scalar expression over `value`, the delivered value, applied before the cast. `format` is a
    strptime format (date, timestamp), or `epoch_seconds` / `epoch_milliseconds` (timestamp);
    without it ISO 8601 is expected. `constant` (a text, or null) fills the column without reading
    anything. `required` columns may not be null; `optional` ones may be absent from a delivery.
    """

    type: ColumnType = "text"
    source: (
        Annotated[
            Annotated[_Delivered, Tag("name")] | _Names,
            Discriminator(lambda value: "names" if isinstance(value, list | tuple) else "name"),
        ]
        | None
    ) = Field(default=None, alias="from")
    expression: str | None = None
    format: str | None = None
    thousands: Literal[",", ".", " ", "'"] | None = None
    decimal_point: Literal[".", ","] = "."
    constant: str | None = None
    required: StrictBool = False
    optional: StrictBool = False

    @property
    def is_constant(self) -> bool:
        return "constant" in self.model_fields_set

    def delivered_names(self, name: str) -> tuple[str, ...]:
        """What the delivered column may be called, for the column `name`. The first stands for all:
        so the column is called in what a reader returns, and in `where`."""
        if isinstance(self.source, tuple):
            return self.source
        return (self.source or name,)

    @property
    def kind(self) -> str:
        """The type without a decimal's digits: `decimal` for `decimal(18,4)`."""
        return self.type.partition("(")[0]

    @property
    def decimal_digits(self) -> tuple[int, int]:
        """A decimal's digits: before the point, and after it."""
        precision, _, scale = self.type.removeprefix("decimal(").rstrip(")").partition(",")
        return int(precision) - int(scale), int(scale)

    @model_validator(mode="after")
    def _consistent(self) -> Self:
        if self.is_constant and (self.source or self.expression):
            raise ValueError("a constant column takes neither 'from' nor 'expression'")
        if self.is_constant and self.constant is None and self.required:
            raise ValueError("a column that is always null cannot be required")
        if self.required and self.optional:
            raise ValueError(
                "a column cannot be both required (not null) and optional (may be absent)"
            )
        names = self.delivered_names("")
        if len(set(names)) < len(names):
            raise ValueError("'from' has a name twice")
        if LINE in (name.lower() for name in names):
            raise ValueError(f"{LINE} is the pipeline's own name for the line number")
        return self

    @model_validator(mode="after")
    def _suits_its_type(self) -> Self:
        self._require_kind("format", "date", "timestamp")
        self._require_kind("thousands", "integer", "decimal", "double")
        self._require_kind("decimal_point", "decimal", "double")
        if self.thousands == self.decimal_point:
            raise ValueError("'thousands' and 'decimal_point' are the same character")
        if self.format is not None and not (
            self.kind == "timestamp" and self.format in EPOCH_FORMATS
        ):
            parse_format(self.format, "date" if self.kind == "date" else "timestamp")
        return self

    def _require_kind(self, field: str, *kinds: str) -> None:
        if field in self.model_fields_set and self.kind not in kinds:
            fitting = " and ".join(kinds)
            raise ValueError(f"{field!r} belongs to {fitting} columns, not to {self.type}")
