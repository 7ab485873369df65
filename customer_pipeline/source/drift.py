"""How the columns of a delivery differ from those that its feed declares.

What belongs here: the values, and the error of a delivery that is refused because of them. What does
not: comparing (`readers/columns.py`), and since when it has been so (`warehouse/schema_drift.py`).
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Literal

from customer_pipeline.errors import DeliveryError

# new: delivered, not declared. absent: declared, may be absent, and is: null in every row. missing:
# declared, must be there, and is not. renamed: a declared one is gone, and a new one looks like it.
Kind = Literal["new", "absent", "missing", "renamed"]


@dataclass(frozen=True)
class Drift:
    """One column that is not as declared.

    `column` is the delivered name that is declared; of a new column, the one that was delivered.
    `delivered_as` is what a renamed column is probably called now. `refuses`: no delivery like that is
    used, so that this is not only for people to know.
    """

    column: str
    kind: Kind
    delivered_as: str | None = None
    refuses: bool = False

    def __str__(self) -> str:
        return f"{self.kind} column {self.column!r}{now_called(self.delivered_as)}"


class ColumnsError(DeliveryError):
    """A delivery that is refused because of its columns. `drift` says how they differ."""

    def __init__(self, what: str, *, where: str, todo: str, drift: Sequence[Drift]) -> None:
        super().__init__(what, where=where, todo=todo)
        self.drift = tuple(drift)


def now_called(delivered_as: str | None) -> str:
    """What is said after a renamed column: what it is probably called now; nothing of others."""
    return f", probably {delivered_as!r} now" if delivered_as else ""
