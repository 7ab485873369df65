"""Columns that are not as declared, in the UI, in the ledger and on a day's page (cases I12, I13)."""

from __future__ import annotations

from pathlib import Path

import dagster as dg
import pytest
from typer.testing import CliRunner

from customer_pipeline.cli.main import cli
from tests.support.dagster_processes import Home
from tests.support.runs import Ran, run_days
from tests.support.shop import SOURCE, Shop
from tests.support.warehouse import query

pytestmark = pytest.mark.usefixtures("without_dbt")

PLAIN, NEW, RENAMED = "2026-03-03", "2026-03-04", "2026-03-05"
CHECK = "columns_are_as_declared"


@pytest.fixture
def shop(tmp_path: Path, dbt_cache: Path) -> Shop:
    """A new column of orders is ignored; on the last day a column has another name."""
    declared = "path: deliveries/orders/{date}.csv"
    source = SOURCE.replace(declared, f"{declared}\n    new_columns: ignore")
    shop = Shop(tmp_path / "shop", source=source, dbt_cache=dbt_cache)
    for day in (PLAIN, NEW, RENAMED):
        shop.deliver_day(day)
    path = shop.path("orders", NEW)
    header, *lines = path.read_text().splitlines()
    path.write_text(
        "".join(f"{line}\n" for line in [f"{header},loyalty", *(f"{line},x" for line in lines)])
    )
    path = shop.path("orders", RENAMED)
    path.write_text(path.read_text().replace("stock_code", "stockcode", 1))
    return shop


def severities(ran: Ran) -> dict[str | None, tuple[bool, dg.AssetCheckSeverity]]:
    """Of the check on orders, by partition: whether it passed, and how grave it is if not."""
    found = [one.event_specific_data for one in ran.events("ASSET_CHECK_EVALUATION")]
    return {
        one.partition: (one.passed, one.severity)
        for one in found
        if isinstance(one, dg.AssetCheckEvaluation)
        and (one.check_name, one.asset_key.path[-1]) == (CHECK, "orders")
    }


def test_a_difference_that_is_allowed_is_a_warning_on_its_day_and_one_that_is_not_stops_its_day(
    shop: Shop, home: Home
) -> None:
    ran = run_days(shop, home, PLAIN, RENAMED)
    warn, error = dg.AssetCheckSeverity.WARN, dg.AssetCheckSeverity.ERROR
    found = severities(ran)
    assert found[PLAIN][0]
    assert found[NEW] == (False, warn)
    assert found[RENAMED] == found[None] == (False, error)
    assert ran.materialized("marts/fct_orders") == [PLAIN, NEW]
    assert ran.metadata("landing/orders", "schema_drift") == {
        PLAIN: None,
        NEW: "- `new column 'loyalty'`",
        RENAMED: "- `renamed column 'stock_code', probably 'stockcode' now`",
    }
    assert "set 'from: [stockcode, stock_code]'" in ran.error


def test_a_single_day_that_refuses_is_recorded_though_nothing_is_loaded(
    shop: Shop, home: Home
) -> None:
    ran = run_days(shop, home, RENAMED)
    assert ran.steps("STEP_FAILURE") == ["extract_orders"]
    drift = "select feed, column_name, kind, first_partition, refuses from ops.schema_drift"
    assert query(shop.settings.warehouse_path, drift) == [
        ("orders", "stock_code", "renamed", RENAMED, True)
    ]


def test_the_page_of_a_day_shows_since_when_columns_differ(
    shop: Shop, home: Home, monkeypatch: pytest.MonkeyPatch
) -> None:
    run_days(shop, home, PLAIN, RENAMED)
    for name, value in (shop.environment | {"COLUMNS": "90"}).items():
        monkeypatch.setenv(name, value)
    page = CliRunner().invoke(cli, ["status", "--day", RENAMED]).output
    assert "columns not as declared" in page
    assert "stock_code" in page
    assert "renamed, probably 'stockcode' now; refused" in page
    assert "loyalty" in CliRunner().invoke(cli, ["status", "--day", NEW]).output
    assert "not as declared" not in CliRunner().invoke(cli, ["status", "--day", PLAIN]).output
