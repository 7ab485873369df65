"""What Dagster's graph says about a pipeline: keys, groups, dependencies, descriptions, checks.

All outputs of one step have the same dependencies: the UI refuses to backfill a step whose outputs
depend on different things.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import dagster as dg

from customer_pipeline.orchestration.events import check_spec
from customer_pipeline.orchestration.pipeline import Pipeline
from customer_pipeline.stages.delivery_checks import STATEMENTS
from customer_pipeline.stages.load import raw_columns
from customer_pipeline.stages.validate import check_names

PUBLISHABLE = "partition_is_publishable"


def landing_key(feed: str) -> dg.AssetKey:
    return dg.AssetKey(["landing", feed])


def raw_key(feed: str) -> dg.AssetKey:
    return dg.AssetKey(["raw", feed])


def candidate_key(model: str) -> dg.AssetKey:
    return dg.AssetKey(["candidate", model])


def validation_key(pipeline: str) -> dg.AssetKey:
    return dg.AssetKey(["validation", pipeline])


def mart_key(mart: str) -> dg.AssetKey:
    return dg.AssetKey(["marts", mart])


def partitioned_keys(pipeline: Pipeline) -> list[dg.AssetKey]:
    """All assets of a pipeline that have partitions, upstream first."""
    return [
        *(landing_key(feed) for feed in pipeline.feeds),
        *(raw_key(feed) for feed in pipeline.feeds),
        *(candidate_key(model) for model in pipeline.marts),
        validation_key(pipeline.name),
        *(mart_key(mart) for mart in pipeline.marts),
    ]


def pipeline_tags(pipeline: Pipeline) -> dict[str, str]:
    """What tells a pipeline's assets from those of another: `--select 'tag:pipeline=…'`."""
    return {"pipeline": pipeline.name}


def landing_spec(pipeline: Pipeline, feed: str) -> dg.AssetSpec:
    return dg.AssetSpec(
        landing_key(feed),
        group_name="extract",
        kinds={pipeline.feeds[feed].reader, "parquet"},
        description=f"What the source `{pipeline.source.name}` delivered as `{feed}`: one Parquet"
        " file per partition, replaced whole. Rows that could not be read are in quarantine.",
        metadata={"dagster/column_schema": _feed_schema(pipeline, feed)},
        owners=_owners_of_feed(pipeline, feed),
        **_common(pipeline),
    )


def raw_spec(pipeline: Pipeline, feed: str) -> dg.AssetSpec:
    return dg.AssetSpec(
        raw_key(feed),
        deps=[landing_key(feed)],
        group_name="load",
        kinds={"duckdb"},
        description=f"The landed rows of `{feed}` in the warehouse: table `raw.{feed}`, each"
        " partition replaced in one transaction.",
        metadata={
            "dagster/table_name": f"raw.{feed}",
            "dagster/column_schema": _feed_schema(pipeline, feed),
        },
        owners=_owners_of_feed(pipeline, feed),
        **_common(pipeline),
    )


def candidate_specs(pipeline: Pipeline) -> list[dg.AssetSpec]:
    """One spec per model, with what dbt documents about it."""
    deps = [raw_key(feed) for feed in pipeline.feeds]
    return [
        dg.AssetSpec(
            candidate_key(name),
            deps=deps,
            group_name="transform",
            kinds={"dbt", "duckdb"},
            description=model["description"],
            metadata={"dagster/column_schema": model_schema(model)},
            owners=pipeline.owners,
            **_common(pipeline),
        )
        for name, model in sorted(pipeline.models.items())
    ]


def validation_spec(pipeline: Pipeline) -> dg.AssetSpec:
    return dg.AssetSpec(
        validation_key(pipeline.name),
        deps=[candidate_key(model) for model in pipeline.marts],
        group_name="validate",
        kinds={"python"},
        description="The verdict on each partition: counted again stage by stage, from the source's"
        " rows to the models' sums. Only what passes is published.",
        owners=pipeline.owners,
        **_common(pipeline),
    )


def mart_specs(pipeline: Pipeline) -> list[dg.AssetSpec]:
    deps = [validation_key(pipeline.name)]
    return [
        dg.AssetSpec(
            mart_key(name),
            deps=deps,
            group_name="publish",
            kinds={"duckdb"},
            description=f"Published: `marts.{name}`.\n\n{model['description']}",
            metadata={
                "dagster/table_name": f"marts.{name}",
                "dagster/column_schema": model_schema(model),
            },
            owners=pipeline.owners,
            freshness_policy=_freshness(pipeline),
            **_common(pipeline),
        )
        for name, model in sorted(pipeline.models.items())
    ]


def landing_checks(pipeline: Pipeline, feed: str) -> list[dg.AssetCheckSpec]:
    return [
        check_spec(
            name,
            landing_key(feed),
            description=statement,
            partitions_def=pipeline.partitions_def,
        )
        for name, statement in STATEMENTS.items()
    ]


def test_checks(pipeline: Pipeline) -> list[dg.AssetCheckSpec]:
    """dbt's data tests, each as a check on the model that it is about."""
    return [
        check_spec(
            test.name,
            candidate_key(test.model),
            description=test.description,
            partitions_def=pipeline.partitions_def,
            metadata={"dbt_unique_id": test.unique_id},
        )
        for test in pipeline.project.tests_of(pipeline.name)
    ]


def validation_checks(pipeline: Pipeline) -> list[dg.AssetCheckSpec]:
    names = check_names(pipeline.feeds, pipeline.rules) | {
        PUBLISHABLE: "no stage has found a reason not to publish this partition"
    }
    return [
        check_spec(
            name,
            validation_key(pipeline.name),
            description=statement,
            partitions_def=pipeline.partitions_def,
        )
        for name, statement in names.items()
    ]


def _owners_of_feed(pipeline: Pipeline, feed: str) -> list[str]:
    owner = pipeline.feeds[feed].owner
    return [owner] if owner else pipeline.owners


def _freshness(pipeline: Pipeline) -> dg.FreshnessPolicy | None:
    """Something is published between the end of each partition and the moment at which it is due; a
    source that has ended owes nothing."""
    deadline = pipeline.partitions.cron(pipeline.due_after)
    if pipeline.partitions.last is not None or not pipeline.due_after or deadline is None:
        return None
    return dg.FreshnessPolicy.cron(
        deadline_cron=deadline,
        lower_bound_delta=pipeline.due_after,
        timezone=pipeline.source.timezone,
    )


def _common(pipeline: Pipeline) -> dict[str, Any]:
    return {
        "partitions_def": pipeline.partitions_def,
        "code_version": pipeline.code_version,
        "tags": pipeline_tags(pipeline),
    }


def _feed_schema(pipeline: Pipeline, feed: str) -> dg.TableSchema:
    columns = raw_columns(pipeline.feeds[feed], pipeline.partitions.column)
    return dg.TableSchema([dg.TableColumn(name, type=kind) for name, kind in columns.items()])


def model_schema(model: Mapping[str, Any]) -> dg.TableSchema:
    """The columns that dbt's manifest documents. (dagster-dbt would make the same of it, but costs
    every process that loads the location a second for importing dbt.)"""
    return dg.TableSchema(
        [
            dg.TableColumn(
                column["name"], type=column["data_type"], description=column["description"]
            )
            for column in model["columns"].values()
        ]
    )
