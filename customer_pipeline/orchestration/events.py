"""Per-partition outcomes as Dagster events. The one module that knows how a range run keeps a truth
per day: metadata by partition, check results by partition, materializations of survivors only.

Partitioned checks are a preview feature of Dagster; what is unstable about them stays in here.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterable, Iterator, Mapping, Sequence
from decimal import Decimal
from typing import Any

import dagster as dg

from customer_pipeline.orchestration.unstable import known_to_be_unstable
from customer_pipeline.outcomes import Casualty, CheckResult

Metadata = Mapping[str, Any]

_CODE_VERSION = "dagster/code_version"
_DATA_VERSION = "dagster/data_version"


def check_spec(
    name: str,
    asset: dg.AssetKey,
    *,
    description: str,
    partitions_def: dg.PartitionsDefinition,
    metadata: Metadata | None = None,
) -> dg.AssetCheckSpec:
    """A check that has a result per partition."""
    with known_to_be_unstable():
        return dg.AssetCheckSpec(
            name,
            asset=asset,
            description=description,
            partitions_def=partitions_def,
            metadata=metadata,
        )


def add_metadata(
    context: dg.AssetExecutionContext, asset: dg.AssetKey, by_partition: Mapping[str, Metadata]
) -> None:
    """Attach each partition's own metadata to what this step materializes of `asset`."""
    for key, metadata in by_partition.items():
        context.add_asset_metadata(metadata, asset_key=asset, partition_key=key)


def check_results(
    context: dg.AssetExecutionContext, asset: dg.AssetKey, results: Iterable[CheckResult]
) -> Iterator[dg.AssetCheckResult]:
    """Record a result per check and partition, and yield the one per check that Dagster wants.

    In a range run, be it over one partition, that last one is the worst of all, for no partition.
    """
    by_check: dict[str, list[CheckResult]] = defaultdict(list)
    for result in results:
        by_check[result.check].append(result)
    for check, of_check in by_check.items():
        if not context.has_partition_key:
            for result in of_check:
                # Dagster takes these here too, though the annotation does not say so.
                context.log_event(_evaluation(asset, result))  # pyright: ignore[reportArgumentType]
        yield _worst(asset, check, of_check)


def materialize_survivors(
    context: dg.AssetExecutionContext,
    by_asset: Mapping[dg.AssetKey, Mapping[str, Metadata]],
    *,
    code_version: str,
    data_versions: Mapping[str, str],
) -> None:
    """Record materializations of just these partitions, in a step that is going to fail.

    Args:
        data_versions: what is published, as a version of it, by partition. With these and the code
            version Dagster can tell a partition that has become stale, as it can of those that it
            records itself.
    """
    for asset, by_partition in by_asset.items():
        for key, metadata in by_partition.items():
            tags = {_CODE_VERSION: code_version, _DATA_VERSION: data_versions[key]}
            context.log_event(
                dg.AssetMaterialization(asset, partition=key, metadata=metadata, tags=tags)
            )


def failure(casualties: Sequence[Casualty], *, partitions: int) -> dg.Failure:
    """The failure that names every casualty with its stage and reason; a retry cannot mend it."""
    lines = [
        f"{casualty.partition_key} ({casualty.stage}): {casualty.reason}" for casualty in casualties
    ]
    return dg.Failure(
        f"{len(casualties)} of {partitions} partitions failed:\n" + "\n".join(lines),
        metadata={
            "failed_partitions": len(casualties),
            "partitions": partitions,
            "casualties": dg.MetadataValue.table(
                [
                    dg.TableRecord(
                        {"partition": c.partition_key, "stage": c.stage, "reason": c.reason}
                    )
                    for c in casualties
                ],
                schema=dg.TableSchema(
                    [dg.TableColumn(name) for name in ("partition", "stage", "reason")]
                ),
            ),
        },
        allow_retries=False,
    )


def _evaluation(asset: dg.AssetKey, result: CheckResult) -> dg.AssetCheckEvaluation:
    with known_to_be_unstable():
        return dg.AssetCheckEvaluation(
            asset_key=asset,
            check_name=result.check,
            passed=result.passed,
            severity=_severity(result),
            description=result.description,
            metadata=_shown(result),
            partition=result.partition_key,
        )


def _worst(asset: dg.AssetKey, check: str, results: Sequence[CheckResult]) -> dg.AssetCheckResult:
    failed = [result for result in results if not result.passed]
    holding = [result for result in failed if result.holds_back]
    shown = (holding or failed or list(results))[0]
    several = len(results) > 1
    return dg.AssetCheckResult(
        asset_key=asset,
        check_name=check,
        passed=not failed,
        severity=_severity(shown),
        description=f"{shown.partition_key}: {shown.description}" if several else shown.description,
        metadata=_shown(shown)
        | ({"failed_partitions": len(failed), "partitions": len(results)} if several else {}),
    )


def _shown(result: CheckResult) -> dict[str, int | float | str]:
    """The result's values for the UI, which knows no decimals (the description has all digits)."""
    return {
        name: value
        if isinstance(value, int | float)
        else float(value)
        if isinstance(value, Decimal)
        else str(value)
        for name, value in result.metadata.items()
    }


def _severity(result: CheckResult) -> dg.AssetCheckSeverity:
    return dg.AssetCheckSeverity.WARN if result.warn_only else dg.AssetCheckSeverity.ERROR
