"""The column that carries the partition in every table and landing file."""

from __future__ import annotations

from dataclasses import dataclass

from customer_pipeline.quoting import quoted


@dataclass(frozen=True)
class PartitionColumn:
    """Its name, and its type in SQL, to which every partition key can be cast."""

    name: str
    type: str

    @property
    def quoted(self) -> str:
        return quoted(self.name)

    @property
    def key(self) -> str:
        """The partition key of a row, as SQL."""
        return f"{self.quoted}::varchar"

    @property
    def begins_on(self) -> str:
        """The date on which a row's partition begins, with which every key begins, as SQL."""
        return f"left({self.key}, 10)::date"

    def among(self, keys: str = "?") -> str:
        """The condition for the rows of some partitions, as SQL.

        Args:
            keys: the parameter that takes the list of their keys.
        """
        return f"{self.quoted} in (select unnest({keys})::{self.type})"
