"""What the code location offers. A new public object changes the sets that are pinned here, because
users' scripts and schedules rely on these names.
"""

from __future__ import annotations

import json
import os
import subprocess
import sys
import tomllib
from collections import defaultdict
from pathlib import Path

import dagster as dg
import pytest
import yaml

from customer_pipeline.orchestration.location import build_defs
from customer_pipeline.settings import DEMO_SOURCE, Settings
from tests.support.dagster_processes import BIN, PROJECT, Home
from tests.support.shop import SOURCE, Shop

ASSETS = {
    "extract": ["landing/customers", "landing/events", "landing/orders"],
    "load": ["raw/customers", "raw/events", "raw/orders"],
    "transform": [
        "candidate/daily_summary",
        "candidate/dim_customers",
        "candidate/fct_events",
        "candidate/fct_orders",
        "candidate/sales_summary",
    ],
    "validate": ["validation/daily_customers"],
    "publish": [
        "marts/daily_summary",
        "marts/dim_customers",
        "marts/fct_events",
        "marts/fct_orders",
        "marts/sales_summary",
    ],
    "reporting": [
        "reporting/customer_history",
        "reporting/customer_summary",
        "reporting/customers_current",
        "reporting/entities_current",
        "reporting/monthly_sales",
    ],
}
CHECKS = {
    "landing/customers": ["columns_are_as_declared", "delivery_is_usable"],
    "landing/events": ["columns_are_as_declared", "delivery_is_usable"],
    "landing/orders": ["columns_are_as_declared", "delivery_is_usable"],
    "candidate/daily_summary": [
        "an_order_line_says_what_was_ordered_when",
        "counts_of_a_day_fit_together",
        "net_sales_are_gross_and_cancelled_sales",
        "unique_daily_summary__date",
    ],
    "candidate/dim_customers": [
        "not_null_dim_customers_customer_id",
        "not_null_stg_customers_updated_at",
        "unique_dim_customers_customer_id",
    ],
    "candidate/fct_events": [
        "accepted_values_fct_events_operation__created__changed__deleted",
        "not_null_fct_events_entity_id",
        "not_null_fct_events_event_id",
        "not_null_fct_events_operation",
    ],
    "candidate/fct_orders": [
        "a_cancellation_sells_no_units",
        "line_counts_of_an_order_fit_together",
        "not_null_fct_orders_order_id",
        "not_null_fct_orders_units",
        "the_customer_of_an_order_was_seen_that_day",
        "unique_fct_orders_order_id",
    ],
    "candidate/sales_summary": [
        "not_null_sales_summary_country",
        "unique_sales_summary_country",
    ],
    "validation/daily_customers": [
        "customers_dropped_rows_within_threshold",
        "customers_has_rows",
        "customers_raw_rows_match_landing",
        "customers_source_rows_are_landed_or_quarantined",
        "daily_summary_cancelled_orders_match_fct_orders",
        "daily_summary_customers_match_raw",
        "daily_summary_gross_sales_match_fct_orders",
        "daily_summary_lines_without_customer_match_fct_orders",
        "daily_summary_net_sales_match_raw",
        "daily_summary_order_lines_match_raw",
        "daily_summary_orders_match_fct_orders",
        "dim_customers_customers_match_raw",
        "dim_customers_newest_update_matches_raw",
        "events_dropped_rows_within_threshold",
        "events_has_rows",
        "events_raw_rows_match_landing",
        "events_source_rows_are_landed_or_quarantined",
        "fct_events_messages_match_raw",
        "fct_orders_lines_without_customer_match_raw",
        "fct_orders_net_sales_match_raw",
        "fct_orders_order_lines_match_raw",
        "fct_orders_orders_match_raw",
        "fct_orders_units_match_raw",
        "orders_dropped_rows_within_threshold",
        "orders_has_rows",
        "orders_raw_rows_match_landing",
        "orders_source_rows_are_landed_or_quarantined",
        "partition_is_publishable",
        "sales_summary_net_sales_match_raw",
        "sales_summary_orders_match_fct_orders",
        "sales_summary_units_match_raw",
    ],
    "marts/fct_events": ["messages_do_not_conflict"],
    "reporting/customer_summary": [
        "not_null_customer_summary_customer_id",
        "the_last_order_is_not_after_the_last_published_day",
        "unique_customer_summary_customer_id",
    ],
    "reporting/entities_current": [
        "not_null_entities_current_entity_id",
        "unique_entities_current_entity_id",
    ],
    "reporting/monthly_sales": ["unique_monthly_sales_month"],
}
DAILY_JOB, REFRESH_JOB = "daily_customer_pipeline", "reporting_refresh"
SCHEDULES = {"daily_customer_pipeline_schedule": DAILY_JOB}
# What the monthly pipeline adds.
TRIPS_ASSETS = {
    "extract": ["landing/trips"],
    "load": ["raw/trips"],
    "transform": ["candidate/trips_clean", "candidate/trips_monthly"],
    "validate": ["validation/monthly_trips"],
    "publish": ["marts/trips_clean", "marts/trips_monthly"],
    "reporting": ["reporting/trips_summary"],
}
TRIPS_CHECKS = {
    "landing/trips": ["columns_are_as_declared", "delivery_is_usable"],
    "candidate/trips_clean": [
        "a_payment_is_of_a_known_type",
        "a_trip_does_not_end_before_it_begins",
        "a_trip_says_when_it_began_how_far_it_went_and_what_it_cost",
        "not_null_trips_clean__line",
        "unique_trips_clean__line",
    ],
    "candidate/trips_monthly": ["counts_of_a_month_fit_together", "unique_trips_monthly__date"],
    "validation/monthly_trips": [
        "partition_is_publishable",
        "trips_clean_cash_trips_match_raw",
        "trips_clean_distance_matches_raw",
        "trips_clean_revenue_matches_raw",
        "trips_clean_trips_match_raw",
        "trips_dropped_rows_within_threshold",
        "trips_has_rows",
        "trips_monthly_cash_trips_match_trips_clean",
        "trips_monthly_revenue_matches_raw",
        "trips_monthly_revenue_matches_trips_clean",
        "trips_monthly_trips_match_raw",
        "trips_monthly_trips_match_trips_clean",
        "trips_raw_rows_match_landing",
        "trips_source_rows_are_landed_or_quarantined",
    ],
    "reporting/trips_summary": ["unique_trips_summary_month"],
}
TRIPS_JOB = "monthly_trips_pipeline"
TRIPS_SCHEDULES = {"monthly_trips_pipeline_schedule": TRIPS_JOB}
SENSORS = ["alerts_deliver", "alerts_watch", "late_data", "reporting_on_publish"]

Names = dict[str, list[str]]


@pytest.fixture
def repository(
    request: pytest.FixtureRequest,
    tmp_path: Path,
    dbt_cache: Path,
    monkeypatch: pytest.MonkeyPatch,
) -> dg.RepositoryDefinition:
    """The location over a shipped source, by the name of its file."""
    for name in ("ONLINE_RETAIL_DIR", "NYC_TAXI_DIR"):
        monkeypatch.setenv(name, str(tmp_path))
    (tmp_path / ".dbt").symlink_to(dbt_cache)
    source = DEMO_SOURCE.with_name(f"{request.param}.yaml")
    return build_defs(Settings(source=source, data_dir=tmp_path)).get_repository_def()


@pytest.mark.parametrize(
    ("repository", "feeds"),
    [
        ("demo", {"customers", "events", "orders", "trips"}),
        ("online_retail", {"customers", "orders"}),
        ("nyc_taxi", {"trips"}),
    ],
    indirect=["repository"],
)
def test_the_names_that_others_rely_on(
    repository: dg.RepositoryDefinition, feeds: set[str]
) -> None:
    graph = repository.asset_graph
    assets, checks = defaultdict(list), defaultdict(list)
    for key in graph.get_all_asset_keys():
        assets[graph.get(key).group_name].append(key.to_user_string())
    for check in graph.asset_check_keys:
        checks[check.asset_key.to_user_string()].append(check.name)
    absent = {"customers", "events", "orders"} - feeds
    has_days, has_months = absent != {"customers", "events", "orders"}, "trips" in feeds
    daily = _without(absent, ASSETS) if has_days else {}
    assert _sorted(assets) == _joined(daily, TRIPS_ASSETS if has_months else {})
    daily = _without(absent, CHECKS) if has_days else {}
    assert _sorted(checks) == _joined(daily, TRIPS_CHECKS if has_months else {})
    scheduled = (SCHEDULES if has_days else {}) | (TRIPS_SCHEDULES if has_months else {})
    schedules = repository.schedule_defs
    assert {schedule.name: schedule.job_name for schedule in schedules} == scheduled
    jobs = {name for name in repository.job_names if not name.startswith("__")}
    assert jobs == {*scheduled.values(), REFRESH_JOB}
    assert sorted(sensor.name for sensor in repository.sensor_defs) == SENSORS


@pytest.mark.parametrize("repository", ["demo"], indirect=True)
def test_every_asset_is_in_one_job_and_takes_many_partitions_in_one_run(
    repository: dg.RepositoryDefinition,
) -> None:
    daily, monthly, refresh = (
        repository.get_job(name) for name in (DAILY_JOB, TRIPS_JOB, REFRESH_JOB)
    )
    graph = repository.asset_graph
    of_job = {job.name: job.asset_layer.executable_asset_keys for job in (daily, monthly, refresh)}
    assert sorted(key for keys in of_job.values() for key in keys) == sorted(
        graph.get_all_asset_keys()
    )
    assert {key.path[0] for key in of_job[refresh.name]} == {"reporting"}
    for job in (daily, monthly, refresh):
        for key in of_job[job.name]:
            node = graph.get(key)
            assert node.backfill_policy == dg.BackfillPolicy.single_run(), key
            assert node.partitions_def == (None if job is refresh else job.partitions_def), key
            assert node.description, key


@pytest.mark.parametrize("repository", ["demo"], indirect=True)
def test_a_tag_selects_all_assets_of_a_pipeline(repository: dg.RepositoryDefinition) -> None:
    graph = repository.asset_graph
    chosen = dg.AssetSelection.tag("pipeline", "monthly_trips").resolve(graph)
    names = sorted(key.to_user_string() for key in chosen)
    assert names == sorted(name for group in TRIPS_ASSETS.values() for name in group)


@pytest.mark.parametrize("repository", ["demo"], indirect=True)
def test_all_outputs_of_a_step_depend_on_the_same_assets(
    repository: dg.RepositoryDefinition,
) -> None:
    """The UI refuses to backfill a step whose outputs depend on different things."""
    graph = repository.asset_graph
    for key in graph.get_all_asset_keys():
        parents = {
            frozenset(graph.get(one).parent_keys) for one in graph.get(key).execution_set_asset_keys
        }
        assert len(parents) == 1, key


@pytest.mark.parametrize("repository", ["demo"], indirect=True)
def test_no_schedule_is_on_by_itself(repository: dg.RepositoryDefinition) -> None:
    for schedule in repository.schedule_defs:
        assert schedule.default_status is dg.DefaultScheduleStatus.STOPPED


def test_the_location_has_one_name_wherever_it_is_loaded_from() -> None:
    workspace = yaml.safe_load((PROJECT / "workspace.yaml").read_text())
    (module,) = (entry["python_module"] for entry in workspace["load_from"])
    project = tomllib.loads((PROJECT / "pyproject.toml").read_text())["tool"]["dg"]["project"]
    assert module == {
        "module_name": "customer_pipeline.definitions",
        "location_name": "customer_pipeline",
    }
    assert project == {
        "root_module": "customer_pipeline",
        "code_location_name": "customer_pipeline",
    }


def test_definitions_load_in_a_fresh_interpreter_and_leave_nothing_but_the_parsed_models(
    tmp_path: Path, dbt_cache: Path
) -> None:
    (tmp_path / "data").mkdir()
    (tmp_path / "data" / ".dbt").symlink_to(dbt_cache)
    code = """
import json, sys
from customer_pipeline.definitions import defs
loaded = defs().get_repository_def()
print(json.dumps([len(loaded.asset_graph.get_all_asset_keys()), "dbt.cli.main" in sys.modules]))
"""
    loaded = subprocess.run(
        [sys.executable, "-c", code],
        cwd=tmp_path,
        env={name: value for name, value in os.environ.items() if "CUSTOMER_PIPELINE" not in name},
        capture_output=True,
        text=True,
        check=True,
        timeout=120,
    )
    # dbt takes longer to import than all the rest, and is not needed to load.
    expected = _joined(ASSETS, TRIPS_ASSETS)
    assert json.loads(loaded.stdout) == [sum(map(len, expected.values())), False]
    left = sorted(str(path.relative_to(tmp_path)) for path in tmp_path.rglob("*"))
    assert left == ["data", "data/.dbt"]


def test_an_owner_is_on_jobs_and_schedules_and_dagster_warns_nobody_of_it(
    tmp_path: Path, dbt_cache: Path, recwarn: pytest.WarningsRecorder
) -> None:
    shop = Shop(
        tmp_path,
        source=SOURCE.replace("timezone:", "owner: team:platform\ntimezone:"),
        dbt_cache=dbt_cache,
    )
    loaded = build_defs(shop.settings).get_repository_def()
    owned = [*loaded.get_all_jobs(), *loaded.schedule_defs]
    owners = {one.name: one.owners for one in owned if not one.name.startswith("__")}
    assert owners.keys() == {DAILY_JOB, *SCHEDULES, "reporting_refresh"}
    assert all(of == ["team:platform"] for of in owners.values())
    assert [one for one in recwarn if issubclass(one.category, dg.BetaWarning)] == []


def test_a_broken_import_in_a_feed_is_named_in_the_error_of_the_location(
    tmp_path: Path, home: Home
) -> None:
    (tmp_path / "shop_feeds.py").write_text("import no_such_library\n\ndef orders(window): ...\n")
    source = SOURCE.replace(
        "reader: csv\n    path: deliveries/orders/{date}.csv",
        "reader: python\n    function: shop_feeds:orders",
    )
    shop = Shop(tmp_path / "broken", source=source)
    home.environment |= shop.environment | {"PYTHONPATH": str(tmp_path)}
    checked = home.run(
        *(str(BIN / "dagster"), "definitions", "validate"),
        *("-m", "customer_pipeline.definitions"),
        check=False,
    )
    assert checked.returncode == 1
    assert (
        f"{shop.source_path}:18: feeds.orders.function: shop_feeds:orders cannot be imported:"
        " ModuleNotFoundError in shop_feeds.py line 1: No module named 'no_such_library'"
    ) in checked.stdout


def _sorted(names: Names) -> Names:
    return {key: sorted(found) for key, found in sorted(names.items())}


def _joined(names: Names, more: Names) -> Names:
    return _sorted({key: [*names.get(key, ()), *more.get(key, ())] for key in {*names, *more}})


def _without(feeds: set[str], names: Names) -> Names:
    """`names` of a location whose source lacks these feeds."""

    def is_left(name: str) -> bool:
        if name == "messages_do_not_conflict":
            return "events" not in feeds
        return not any(name.startswith(f"{feed}_") or name.endswith(f"/{feed}") for feed in feeds)

    kept = {key: list(filter(is_left, found)) for key, found in names.items() if is_left(key)}
    return _sorted({key: found for key, found in kept.items() if found})
