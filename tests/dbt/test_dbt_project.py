"""What the daily models compute, and how the project's models are described, with real dbt."""

from __future__ import annotations

import csv
import shutil
from collections.abc import Mapping
from datetime import date
from decimal import Decimal
from typing import Any

import duckdb
from dbt_call import DAILY, PROJECT, Dbt
from duckdb_files import rows_of, tables, types, write_candidate
from expected_tables import expected_candidate
from made_tables import MARTS, RAW, REPORTING, TRIPS_MARTS, TRIPS_RAW, TRIPS_REPORTING, Tables
from shop_days import DAYS, Rows

# What all pipelines of the project load, and what they make of it.
LOADED = {**RAW, **TRIPS_RAW}
PUBLISHED = {**MARTS, **REPORTING, **TRIPS_MARTS, **TRIPS_REPORTING}

# The real shop's lines, as the pipeline loads them.
REAL_ORDERS = r"""
insert into raw.orders
select
    cast(InvoiceDate[:10] as date),
    row_number() over (partition by filename) + 1,
    InvoiceNo,
    StockCode,
    Description,
    cast(Quantity as bigint),
    timezone('Europe/London', cast(InvoiceDate as timestamp)),
    cast(UnitPrice as decimal(18, 4)),
    regexp_replace(CustomerID, '\.0$', ''),
    Country
from read_csv(?, all_varchar = true, header = true, filename = true)
"""
REAL_CUSTOMERS = """
insert into raw.customers by name
select _date, _line, customer_id, country, ordered_at as updated_at
from raw.orders
where customer_id is not null
"""


def test_models_compute_what_a_slow_reading_of_the_rows_gives(built, shop):
    assert tables(built, MARTS) == expected_candidate(shop)


def test_marts_have_exactly_their_columns_and_types(built):
    assert types(built, MARTS) == _listed(MARTS)


def test_days_built_one_by_one_from_shuffled_rows_are_the_days_built_together(
    dbt, built, shop, tmp_path
):
    shuffled = shop.shuffled(seed=1)
    one_by_one: dict[str, list[tuple]] = {name: [] for name in MARTS}
    for day in reversed(DAYS):
        candidate = write_candidate(tmp_path / str(day), shuffled.of_day(day))
        dbt.run(candidate)
        for name, rows in tables(candidate, MARTS).items():
            one_by_one[name] += rows
    assert {name: sorted(rows, key=repr) for name, rows in one_by_one.items()} == tables(
        built, MARTS
    )


def test_building_again_in_the_same_file_gives_the_same_rows(dbt, built, candidate):
    rows_of(candidate, "delete from main.fct_orders")
    dbt.run(candidate)
    assert tables(candidate, MARTS) == tables(built, MARTS)


def test_a_window_without_rows_builds_empty_tables_that_pass_all_tests(dbt, tmp_path):
    candidate = write_candidate(tmp_path, Rows())
    dbt.run(candidate)
    assert tables(candidate, MARTS) == {name: [] for name in MARTS}
    assert dbt.failing_rows(candidate, *DAILY) == {}


def test_all_eight_numbers_of_the_real_shop_are_right_on_all_days(dbt, test_data, tmp_path):
    folder = test_data / "online_retail"
    shutil.unpack_archive(folder / "dev_2010-12_to_2011-06.tar.gz", tmp_path / "days")
    candidate = write_candidate(tmp_path, Rows())
    rows_of(candidate, REAL_ORDERS, [str(tmp_path / "days" / "by-day" / "*.csv")])
    rows_of(candidate, REAL_CUSTOMERS)
    dbt.run(candidate)

    with (folder / "expected_by_day_dev.csv").open(newline="") as file:
        truth = [
            (
                date.fromisoformat(row["date"]),
                int(row["lines"]),
                int(row["invoices"]),
                int(row["cancelled_invoices"]),
                int(row["distinct_customers"]),
                int(row["lines_no_customer"]),
                Decimal(row["gross_sales"]),
                Decimal(row["cancel_value"]),
                Decimal(row["net_all_lines"]),
            )
            for row in csv.DictReader(file)
        ]
    assert len(truth) == 167
    assert rows_of(candidate, "from main.daily_summary order by _date") == truth
    assert dbt.failing_rows(candidate, *DAILY) == {}
    assert dbt.broken_rules(candidate, [row[0] for row in truth]) == set()


def test_unit_tests_pass_without_any_data(dbt, tmp_path):
    results = dbt.invoke(tmp_path / "candidate.duckdb", "test", "--select", "test_type:unit")
    unit_tests = dbt.manifest.unit_tests.values()
    assert {result.node.name: result.status for result in results} == {
        test.name: "pass" for test in unit_tests
    }
    assert {test.model for test in unit_tests} > PUBLISHED.keys()


def test_every_model_source_and_column_is_documented(dbt):
    documented = [*_models(dbt).values(), *dbt.manifest.sources.values()]
    without = [node.unique_id for node in documented if not node.description]
    without += [
        f"{node.unique_id}.{column.name}"
        for node in documented
        for column in node.columns.values()
        if not column.description
    ]
    assert without == []


def test_every_table_declares_all_its_columns_with_their_types_and_keeps_to_them(dbt):
    models = _models(dbt)
    raw = {node.name: node for node in dbt.manifest.sources.values() if node.schema == "raw"}
    for made, nodes in ((LOADED, raw), (PUBLISHED, models)):
        assert {name: _declared(nodes[name]) for name in made} == _listed(made)
    enforced = {node.name for node in models.values() if node.config.contract.enforced}
    assert enforced == PUBLISHED.keys()


def test_dbt_lets_go_of_the_candidate_and_writes_nothing_into_the_project(dbt, built):
    # DuckDB refuses this while the same process holds the file for writing.
    duckdb.connect(str(built), read_only=True).close()
    written = {path.relative_to(dbt.project) for path in dbt.project.rglob("*")}
    written -= {path.relative_to(PROJECT) for path in PROJECT.rglob("*")}
    assert {path.parts[:-1] for path in written if path.suffix} == {
        ("models", "daily_customers", "probe"),
        ("models", "plain"),
    }


def _models(dbt: Dbt) -> Mapping[str, Any]:
    """The project's own models of all folders, by name."""
    folders = ("daily_customers", "monthly_trips")
    return {
        name: node
        for pipeline in folders
        for folder in (pipeline, f"{pipeline}_reporting")
        for name, node in dbt.own("model", folder).items()
    }


def _listed(made: Tables) -> dict[str, list[tuple[str, str]]]:
    return {name: list(columns.items()) for name, columns in made.items()}


def _declared(node: Any) -> list[tuple[str, str]]:
    return [
        (column.name, (column.data_type or "").upper().replace(", ", ","))
        for column in node.columns.values()
    ]
