"""The reporting tables as assets: unpartitioned, downstream of all marts, refreshed by one step.

Annotations are real ones here (no `from __future__`): Dagster looks at the type of `context`.
"""

from collections.abc import Iterator
from typing import Any

import dagster as dg

from customer_pipeline.orchestration.pipeline import Pipeline
from customer_pipeline.orchestration.specs import mart_key, model_schema, pipeline_tags
from customer_pipeline.orchestration.steps import retried_or_failed, step_settings
from customer_pipeline.reporting.customers import CURRENT, HISTORY
from customer_pipeline.reporting.refresh import REPORTING, Refreshed

_DESCRIPTIONS = {
    CURRENT: "One row per customer: the newest state on any published day. Merged by key, for the"
    " customers of newly published days.",
    HISTORY: "One row per customer and period in which nothing about them changed, from `valid_from`"
    " until just before `valid_to`. The current one has no end.",
}


def reporting_key(table: str) -> dg.AssetKey:
    return dg.AssetKey([REPORTING, table])


def reporting_keys(pipeline: Pipeline) -> tuple[dg.AssetKey, ...]:
    """The keys of all its reporting tables, by name of the table."""
    return tuple(reporting_key(table) for table in pipeline.reporting.tables)


def reporting_assets(pipeline: Pipeline) -> dg.AssetsDefinition:
    """All its reporting tables, as the outputs of one step."""
    specs = _specs(pipeline)

    @dg.multi_asset(
        name=f"refresh_{pipeline.reporting.folder}",
        specs=specs,
        check_specs=_test_checks(pipeline),
        # All tables are made together, whichever of them somebody picks; and none, where the pipeline
        # has not published anything yet and a refresh is of all pipelines.
        can_subset=True,
        **step_settings(pipeline, pipeline.refresh_retry_delay),
    )
    def _refresh(
        context: dg.AssetExecutionContext,
    ) -> Iterator[dg.AssetCheckResult | dg.MaterializeResult]:
        folder = pipeline.settings.runs_path / f"{context.run.run_id}-{pipeline.reporting.folder}"
        with retried_or_failed(context, pipeline, retry_delay=pipeline.refresh_retry_delay):
            refreshed = pipeline.reporting.refresh(folder, run_id=context.run.run_id)
        if not refreshed.publication:
            context.log.info(f"{pipeline.name} has not published anything yet")
            return
        if not refreshed.held_back:
            for spec in specs:
                if spec.key not in context.selected_asset_keys:
                    continue
                table = spec.key.path[-1]
                yield dg.MaterializeResult(asset_key=spec.key, metadata=_metadata(refreshed, table))
        failed = {test.unique_id for test in refreshed.failed_tests}
        for test in pipeline.project.tests_of(pipeline.reporting.folder):
            key = dg.AssetCheckKey(reporting_key(test.model), test.name)
            if key not in context.selected_asset_check_keys:
                continue
            yield dg.AssetCheckResult(
                asset_key=key.asset_key,
                check_name=key.name,
                passed=test.unique_id not in failed,
                severity=dg.AssetCheckSeverity.WARN
                if test.warn_only
                else dg.AssetCheckSeverity.ERROR,
                description=test.description,
            )
        if refreshed.held_back:
            names = ", ".join(test.name for test in refreshed.failed_tests if not test.warn_only)
            raise dg.Failure(
                f"the reporting tables are unchanged, since these tests failed: {names}",
                allow_retries=False,
            )

    return _refresh


def _specs(pipeline: Pipeline) -> list[dg.AssetSpec]:
    deps = [mart_key(mart) for mart in pipeline.marts]
    models = pipeline.project.models_of(pipeline.reporting.folder)
    described = _DESCRIPTIONS | {name: model["description"] for name, model in models.items()}
    return [
        dg.AssetSpec(
            reporting_key(table),
            deps=deps,
            group_name=REPORTING,
            kinds={"duckdb", "dbt"} if table in models else {"duckdb"},
            description=described[table],
            metadata={"dagster/table_name": f"{REPORTING}.{table}"}
            | ({"dagster/column_schema": model_schema(models[table])} if table in models else {}),
            code_version=pipeline.reporting.version,
            owners=pipeline.owners,
            tags=pipeline_tags(pipeline),
        )
        for table in pipeline.reporting.tables
    ]


def _test_checks(pipeline: Pipeline) -> list[dg.AssetCheckSpec]:
    return [
        dg.AssetCheckSpec(
            test.name,
            asset=reporting_key(test.model),
            description=test.description,
            metadata={"dbt_unique_id": test.unique_id},
        )
        for test in pipeline.project.tests_of(pipeline.reporting.folder)
    ]


def _metadata(refreshed: Refreshed, table: str) -> dict[str, Any]:
    done, taken_in = refreshed.tables[table], refreshed.partitions
    return {
        "dagster/row_count": done.rows,
        "inserted_rows": done.inserted,
        "updated_rows": done.updated,
        "deleted_rows": done.deleted,
        "publication": refreshed.publication,
        "partitions_taken_in": len(taken_in),
        "first_partition": taken_in[0] if taken_in else "none",
        "last_partition": taken_in[-1] if taken_in else "none",
    }
