"""Reconciliation: numbers that must be the same before and after the models, per partition.

The rules stand beside the models, in their `meta`:

    reconcile:
      order_lines_match_raw:
        expected: {from: raw.orders, value: count(*)}
        actual: {from: main.fct_orders, value: sum(order_lines)}

What belongs here: reading those rules out of dbt's manifest, and comparing.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from typing import Any

import duckdb
from pydantic import BaseModel, ConfigDict, Field, ValidationError

from customer_pipeline.errors import ConfigError, StageError
from customer_pipeline.outcomes import CheckResult, Comparable
from customer_pipeline.partition_column import PartitionColumn


class Aggregate(BaseModel):
    """One number per partition: an aggregate expression over a relation of the candidate."""

    model_config = ConfigDict(frozen=True, extra="forbid")

    relation: str = Field(alias="from", pattern=r"^(raw|main)\.[a-z_][a-z0-9_]*$")
    value: str


class Rule(BaseModel):
    """Two numbers that must agree in every partition. `model` is the dbt model that states it."""

    model_config = ConfigDict(frozen=True, extra="forbid")

    name: str = Field(pattern=r"^[a-z][a-z0-9_]*$")
    model: str
    expected: Aggregate
    actual: Aggregate

    @property
    def check(self) -> str:
        """The name of the check that compares the two."""
        return f"{self.model}_{self.name}"

    @property
    def statement(self) -> str:
        left, right = self.expected, self.actual
        return f"{left.value} from {left.relation} = {right.value} from {right.relation}"


def rules_of(models: Mapping[str, Mapping[str, Any]]) -> list[Rule]:
    """The rules in the `meta` of dbt models (model name to its `meta`).

    Raises:
        ConfigError: a rule that cannot be read.
    """
    rules: list[Rule] = []
    for model, meta in sorted(models.items()):
        for name, body in meta.get("reconcile", {}).items():
            try:
                rules.append(Rule(name=name, model=model, **body))
            except (ValidationError, TypeError) as error:
                raise ConfigError(
                    str(error), where=f"dbt model {model}, meta.reconcile.{name}"
                ) from None
    return rules


def compare(
    connection: duckdb.DuckDBPyConnection,
    rules: Sequence[Rule],
    *,
    column: PartitionColumn,
    keys: Sequence[str],
) -> Iterator[CheckResult]:
    """Each rule's two numbers for each partition; a partition without rows counts as 0.

    Raises:
        StageError: a rule's SQL does not run.
    """
    for rule in rules:
        expected = _numbers(connection, rule, rule.expected, column)
        actual = _numbers(connection, rule, rule.actual, column)
        for key in keys:
            left, right = expected.get(key) or 0, actual.get(key) or 0
            yield CheckResult(
                rule.check,
                key,
                passed=left == right,
                description=f"expected {left}, got {right}",
                metadata={"expected": left, "actual": right},
            )


def _numbers(
    connection: duckdb.DuckDBPyConnection, rule: Rule, aggregate: Aggregate, column: PartitionColumn
) -> dict[str, Comparable]:
    try:
        rows = connection.execute(
            f"select {column.key}, {aggregate.value} from {aggregate.relation} group by 1"
        ).fetchall()
    except duckdb.Error as error:
        raise StageError(
            f"the rule cannot be computed: {error}",
            where=f"dbt model {rule.model}, meta.reconcile.{rule.name}",
            todo="correct the rule's SQL",
        ) from error
    return dict(rows)
