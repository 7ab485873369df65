"""The demo shop beside a real one: the same sizes, shares and spread from day to day."""

from __future__ import annotations

from collections.abc import Iterator
from datetime import date, timedelta
from pathlib import Path
from zoneinfo import ZoneInfo

import duckdb
import pyarrow as pa
import pytest

from customer_pipeline.demo import feeds
from customer_pipeline.source.calendars import DailyPartitions

DAYS = DailyPartitions(date(2025, 1, 1), None, ZoneInfo("Europe/London"))

# The figures per day that the real shop's truth file has.
MADE_UP = """
create table made_up as
with lines as (
    select
        *,
        "Order No" like 'C%' as cancelled,
        try_cast("Qty" as integer) * try_cast("Unit Price" as decimal(18, 4)) as amount,
    from rows
)
select
    day as date,
    count(*) as lines,
    count(*) - count(distinct lines) as exact_dup_lines,
    count(distinct "Order No") as invoices,
    count(distinct "Order No") filter (cancelled) as cancelled_invoices,
    count(*) filter (cancelled) as cancel_lines,
    count(*) - count("Customer No") as lines_no_customer,
    count(distinct "Customer No") as distinct_customers,
    count(*) filter ("Unit Price" = '0.00') as zero_price_lines,
    sum(amount) filter (not cancelled) as gross_sales,
    coalesce(sum(amount) filter (cancelled), 0) as cancel_value,
from lines
group by all
"""


@pytest.fixture(scope="module")
def shops(test_data: Path) -> Iterator[duckdb.DuckDBPyConnection]:
    """Tables `real` and `made_up`, one row a day."""
    tables = []
    for day in (date(2026, 2, 2) + timedelta(days=n) for n in range(90)):
        pieces = feeds.orders(DAYS.window(day.isoformat())) or ()
        tables += [
            each.append_column("day", pa.repeat(pa.scalar(day), len(each))) for each in pieces
        ]
    with duckdb.connect() as connection:
        connection.register("rows", pa.concat_tables(tables))
        connection.execute(MADE_UP)
        truth = test_data / "online_retail" / "expected_by_day_dev.csv"
        connection.execute("create table real as from read_csv(?)", [str(truth)])
        yield connection


def quantiles(shops: duckdb.DuckDBPyConnection, table: str, figure: str) -> list[float]:
    """The 10th, 50th and 90th percentile of a figure over the days."""
    query = f"select unnest(quantile_cont({figure}, [0.1, 0.5, 0.9]))::double from {table}"
    return [value for (value,) in shops.execute(query).fetchall()]


@pytest.mark.parametrize(
    ("figure", "share"),
    [
        ("lines", 0.15),
        ("invoices", 0.15),
        ("lines / invoices", 0.15),
        ("distinct_customers", 0.25),
        ("cancelled_invoices / invoices", 0.25),
        ("cancel_lines / lines", 0.35),
        ("lines_no_customer / lines", 0.35),
        ("gross_sales", 0.2),
        ("gross_sales / lines", 0.2),
    ],
)
def test_a_median_day_is_like_a_real_one(shops, figure, share):
    real, made_up = (quantiles(shops, table, figure)[1] for table in ("real", "made_up"))
    assert made_up == pytest.approx(real, rel=share)


@pytest.mark.parametrize(
    "figure",
    ["lines", "invoices", "lines / invoices", "lines_no_customer / lines", "gross_sales"],
)
def test_days_differ_as_real_ones_do(shops, figure):
    real, made_up = (quantiles(shops, table, figure) for table in ("real", "made_up"))
    real_spread, made_up_spread = real[2] - real[0], made_up[2] - made_up[0]
    assert made_up_spread == pytest.approx(real_spread, rel=0.4)


@pytest.mark.parametrize("figure", ["exact_dup_lines", "zero_price_lines"])
def test_rare_flaws_are_as_rare_as_in_a_real_shop(shops, figure):
    query = "select sum({figure}) / sum(lines) from {table}"
    real, made_up = (
        shops.execute(query.format(figure=figure, table=table)).fetchone()[0]
        for table in ("real", "made_up")
    )
    assert made_up == pytest.approx(real, rel=0.5)


def test_sundays_are_quiet_and_thursdays_busy_as_in_a_real_shop(shops):
    query = """
        select median(invoices) filter (dayname(date) = {day!r}) / median(invoices) from {table}
    """
    for day in ("Sunday", "Thursday"):
        real, made_up = (
            shops.execute(query.format(day=day, table=table)).fetchone()[0]
            for table in ("real", "made_up")
        )
        assert made_up == pytest.approx(real, rel=0.3)
