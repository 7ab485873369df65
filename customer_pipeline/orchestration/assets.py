"""The assets of a pipeline, from landing to marts. Each step turns Dagster's context into a call of
a stage, and the stage's per-partition result into events. No data logic.

Annotations are real ones here (no `from __future__`): Dagster looks at the type of `context`.
"""

import time
from collections.abc import Iterator, Mapping, Sequence

import dagster as dg

from customer_pipeline.orchestration import events
from customer_pipeline.orchestration.after_publishing import (
    follow_with_lake,
    message_checks,
    no_conflicts,
)
from customer_pipeline.orchestration.metadata import (
    landing_metadata,
    mart_metadata,
    model_metadata,
    raw_metadata,
    verdict_metadata,
)
from customer_pipeline.orchestration.pipeline import Pipeline
from customer_pipeline.orchestration.specs import (
    PUBLISHABLE,
    candidate_key,
    candidate_specs,
    landing_checks,
    landing_spec,
    mart_key,
    mart_specs,
    raw_spec,
    test_checks,
    validation_checks,
    validation_spec,
)
from customer_pipeline.orchestration.steps import (
    candidate_of,
    guarded,
    may_retry,
    record,
    run_of,
    step_settings,
)
from customer_pipeline.outcomes import Casualty, CheckResult, first_reasons
from customer_pipeline.stages.delivery_checks import delivery_checks
from customer_pipeline.stages.delivery_notes import record_refused
from customer_pipeline.stages.extract import extract
from customer_pipeline.stages.load import load
from customer_pipeline.stages.publish import publish
from customer_pipeline.stages.transform import transform
from customer_pipeline.stages.validate import validate


def pipeline_assets(pipeline: Pipeline) -> list[dg.AssetsDefinition]:
    """All assets of a pipeline, upstream first."""
    return [
        *(_landing(pipeline, feed) for feed in pipeline.feeds),
        *(_raw(pipeline, feed) for feed in pipeline.feeds),
        _candidate(pipeline),
        _validation(pipeline),
        _marts(pipeline),
    ]


def _landing(pipeline: Pipeline, feed_name: str) -> dg.AssetsDefinition:
    spec = landing_spec(pipeline, feed_name)

    @dg.multi_asset(
        name=f"extract_{feed_name}",
        specs=[spec],
        check_specs=landing_checks(pipeline, feed_name),
        **step_settings(pipeline),
    )
    def _extract(
        context: dg.AssetExecutionContext,
    ) -> Iterator[dg.AssetCheckResult | dg.MaterializeResult]:
        with guarded(context, pipeline, "extract"):
            windows = pipeline.partitions.windows(context.partition_keys)
            manifests = extract(
                feed_name,
                pipeline.feeds[feed_name],
                windows,
                zone=pipeline.source.timezone,
                landing=pipeline.landing,
                give_up=not may_retry(context, pipeline),
            )
            rejected = [manifest for manifest in manifests if manifest.state == "rejected"]
            casualties = [
                Casualty(m.partition_key, "extract", f"{feed_name}: {m.reason}") for m in rejected
            ]
            record(context, pipeline, casualties)
            if rejected:
                record_refused(
                    feed_name, rejected, landing=pipeline.landing, warehouse=pipeline.warehouse
                )
            all_lost = len(rejected) == len(manifests)
            if not all_lost:
                metadata = {
                    m.partition_key: landing_metadata(m, window)
                    for m, window in zip(manifests, windows, strict=True)
                }
                events.add_metadata(context, spec.key, metadata)
                yield dg.MaterializeResult(asset_key=spec.key)
            yield from events.check_results(
                context,
                spec.key,
                [check for manifest in manifests for check in delivery_checks(manifest)],
            )
            if all_lost:
                raise events.failure(casualties, partitions=len(manifests))

    return _extract


def _raw(pipeline: Pipeline, feed_name: str) -> dg.AssetsDefinition:
    spec = raw_spec(pipeline, feed_name)

    @dg.multi_asset(name=f"load_{feed_name}", specs=[spec], **step_settings(pipeline))
    def _load(context: dg.AssetExecutionContext) -> dg.MaterializeResult:
        with guarded(context, pipeline, "load"):
            keys = list(context.partition_keys)
            loaded = load(
                feed_name,
                pipeline.feeds[feed_name],
                keys,
                zone=pipeline.source.timezone,
                landing=pipeline.landing,
                warehouse=pipeline.warehouse,
                run_id=context.run.run_id,
            )
            record(context, pipeline, loaded.casualties)
            if not loaded.manifests:
                raise events.failure(loaded.casualties, partitions=len(keys))
            events.add_metadata(context, spec.key, raw_metadata(loaded))
            return dg.MaterializeResult(asset_key=spec.key)

    return _load


def _candidate(pipeline: Pipeline) -> dg.AssetsDefinition:
    specs = candidate_specs(pipeline)

    @dg.multi_asset(
        name=f"transform_{pipeline.name}",
        specs=specs,
        check_specs=test_checks(pipeline),
        **step_settings(pipeline),
    )
    def _transform(
        context: dg.AssetExecutionContext,
    ) -> Iterator[dg.AssetCheckResult | dg.MaterializeResult]:
        with guarded(context, pipeline, "transform"):
            keys = list(context.partition_keys)
            built = transform(
                pipeline.candidate(context.run.run_id),
                keys,
                pipeline=pipeline.name,
                feeds=pipeline.feeds,
                zone=pipeline.source.timezone,
                landing=pipeline.landing,
                warehouse=pipeline.warehouse,
                project=pipeline.project,
            )
            record(context, pipeline, built.casualties)
            if not built.partition_keys:
                raise events.failure(built.casualties, partitions=len(keys))
            for spec in specs:
                events.add_metadata(context, spec.key, model_metadata(built, spec.key.path[-1]))
                yield dg.MaterializeResult(asset_key=spec.key)
            for model in pipeline.marts:
                of_model = [
                    result for result in built.tests if built.model_of[result.check] == model
                ]
                yield from events.check_results(context, candidate_key(model), of_model)

    return _transform


def _validation(pipeline: Pipeline) -> dg.AssetsDefinition:
    spec = validation_spec(pipeline)

    @dg.multi_asset(
        name=f"validate_{pipeline.name}",
        specs=[spec],
        check_specs=validation_checks(pipeline),
        **step_settings(pipeline),
    )
    def _validate(
        context: dg.AssetExecutionContext,
    ) -> Iterator[dg.AssetCheckResult | dg.MaterializeResult]:
        with guarded(context, pipeline, "validate"):
            result = validate(
                candidate_of(context, pipeline),
                feeds=pipeline.feeds,
                partitions=pipeline.partitions,
                landing=pipeline.landing,
                rules=pipeline.rules,
            )
            failed = [
                Casualty(v.partition_key, "validate", "; ".join(v.reasons))
                for v in result.verdicts
                if not v.passed
            ]
            record(context, pipeline, failed)
            events.add_metadata(context, spec.key, verdict_metadata(result, context.partition_keys))
            yield dg.MaterializeResult(asset_key=spec.key)
            yield from events.check_results(context, spec.key, result.checks)
            yield from events.check_results(
                context, spec.key, _publishable(context.partition_keys, result.casualties)
            )
            if all(not verdict.passed for verdict in result.verdicts):
                raise events.failure(result.casualties, partitions=len(context.partition_keys))

    return _validate


def _publishable(keys: Sequence[str], casualties: Sequence[Casualty]) -> list[CheckResult]:
    lost = first_reasons(casualties)
    return [
        CheckResult(
            PUBLISHABLE,
            key,
            passed=key not in lost,
            description=lost[key].reason if key in lost else "every stage and every check agrees",
        )
        for key in keys
    ]


def _marts(pipeline: Pipeline) -> dg.AssetsDefinition:
    specs = mart_specs(pipeline)

    @dg.multi_asset(
        name=f"publish_{pipeline.name}",
        specs=specs,
        check_specs=message_checks(pipeline),
        **step_settings(pipeline),
    )
    def _publish(
        context: dg.AssetExecutionContext,
    ) -> Iterator[dg.AssetCheckResult | dg.MaterializeResult]:
        begun = time.monotonic()
        with guarded(context, pipeline, "publish"):
            publication = publish(
                candidate_of(context, pipeline),
                pipeline.marts,
                messages=pipeline.messages,
                tables_read=pipeline.tables_read,
                warehouse=pipeline.warehouse,
                run=run_of(context, pipeline),
            )
            seconds = time.monotonic() - begun
            metadata: Mapping = {
                mart_key(mart): mart_metadata(publication, mart, seconds) for mart in pipeline.marts
            }
            lake_is_behind = follow_with_lake(context, pipeline)
            if publication.casualties or lake_is_behind:
                events.materialize_survivors(
                    context,
                    metadata,
                    code_version=pipeline.code_version,
                    data_versions={
                        row.partition_key: row.content_hash for row in publication.published
                    },
                )
            else:
                for asset, by_partition in metadata.items():
                    events.add_metadata(context, asset, by_partition)
                    yield dg.MaterializeResult(asset_key=asset)
            for mart, redelivered in publication.redelivered.items():
                yield from events.check_results(context, mart_key(mart), no_conflicts(redelivered))
            if publication.casualties:
                raise events.failure(publication.casualties, partitions=len(context.partition_keys))
            if lake_is_behind:
                raise lake_is_behind

    return _publish
