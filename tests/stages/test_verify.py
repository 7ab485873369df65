"""What verification sees: each place spoiled in turn, in a way that only looking again can tell."""

from __future__ import annotations

import os
import shutil
from collections.abc import Callable
from datetime import date
from pathlib import Path

import duckdb
import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from deltalake import DeltaTable, write_deltalake

from customer_pipeline.orchestration.pipeline import Pipeline
from customer_pipeline.verification.findings import Finding
from tests.support.shop import SOURCE, Shop, customer, event, line
from tests.support.stages import extract_and_load, run_stages

DAYS = ["2026-03-04", "2026-03-05", "2026-03-06", "2026-03-07"]
DAY, OTHER = DAYS[0], DAYS[1]


@pytest.fixture
def verified(shop: Shop) -> Shop:
    """A shop with three days and one that is empty by rule, published."""
    for n, day in enumerate(DAYS[:3]):
        shop.deliver("orders", day, [line(day, one) for one in range(22)])
        shop.deliver("customers", day, [customer(day, one) for one in range(3)])
        # One message comes on two days.
        shop.deliver("events", day, [event(DAY, 7), event(day, n, event_id=f"only {day}")])
    run_stages(shop.pipeline, DAYS)
    return shop


def findings(shop: Shop, *, deep: bool = False, days: list[str] = DAYS) -> list[Finding]:
    pipeline = shop.pipeline
    return pipeline.verifier.findings(pipeline.partitions.windows(days), deep=deep)


def places(found: list[Finding]) -> set[tuple[str, str]]:
    return {(one.partition_key, one.place) for one in found}


def execute(pipeline: Pipeline, sql: str) -> None:
    with duckdb.connect(str(pipeline.warehouse.path)) as connection:
        connection.execute("set TimeZone = 'UTC'")
        connection.execute(sql)


def landed_file(pipeline: Pipeline, feed: str) -> Path:
    manifest = pipeline.landing.read(feed, DAY)
    assert manifest is not None
    path = pipeline.landing.data_path(manifest)
    assert path is not None
    return path


def rename_customers_in(path: Path) -> None:
    rows = pq.ParquetFile(path).read()
    names = pa.array(["somebody else"] * rows.num_rows)
    place = rows.schema.get_field_index("name")
    pq.write_table(rows.set_column(place, "name", names), path)


def lake_table(pipeline: Pipeline, mart: str) -> Path:
    return pipeline.lake.root / mart


def spoil_lake(pipeline: Pipeline) -> None:
    folder = str(lake_table(pipeline, "dim_customers"))
    day = date.fromisoformat(DAY)
    rows = DeltaTable(folder).to_pyarrow_table(filters=[("_date", "=", day)])
    names = pa.array(["somebody else"] * rows.num_rows)
    place = rows.schema.get_field_index("name")
    changed = rows.set_column(place, "name", names)
    write_deltalake(folder, changed, mode="overwrite", predicate=f"_date = '{DAY}'")


@pytest.mark.parametrize("deep", [False, True], ids=["plain", "deep"])
def test_what_was_published_and_not_touched_since_is_in_order(verified: Shop, deep: bool) -> None:
    assert findings(verified, deep=deep) == []


IN_THE_WAREHOUSE = {
    "a row is gone from raw": (
        f"delete from raw.orders where _date = '{DAY}' and _line = 3",
        (DAY, "raw"),
    ),
    "a value of raw is another": (
        f"update raw.customers set email = 'x' where _date = '{DAY}'",
        (DAY, "raw"),
    ),
    "a mart lacks a row": (
        f"delete from marts.fct_orders where _date = '{DAY}' and order_id like '%-1'",
        (DAY, "ledger"),
    ),
    "a mart does not add up to raw": (
        f"update marts.fct_orders set units = units + 1 where _date = '{DAY}'",
        (DAY, "marts"),
    ),
    "a value of a mart is another": (
        f"update marts.dim_customers set email = 'x' where _date = '{DAY}'",
        (DAY, "ledger"),
    ),
    "the ledger's count is another": (
        f"update ops.partitions set mart_rows = 1 where partition_key = '{DAY}'",
        (DAY, "ledger"),
    ),
    "the ledger has forgotten the day": (
        f"delete from ops.partitions where partition_key = '{DAY}'",
        (DAY, "ledger"),
    ),
    "a message counts where it came later": (
        f"update marts.fct_events set _date = '{OTHER}' where event_id not like 'only%'"
        f" and _date = '{DAY}'",
        (DAY, "marts"),
    ),
    "raw was never loaded": (
        f"delete from ops.deliveries where feed = 'orders' and partition_key = '{DAY}'",
        (DAY, "raw"),
    ),
}


@pytest.mark.parametrize(
    ("sql", "expected"), IN_THE_WAREHOUSE.values(), ids=IN_THE_WAREHOUSE.keys()
)
def test_a_spoiled_table_is_noticed_on_its_day(
    verified: Shop, sql: str, expected: tuple[str, str]
) -> None:
    execute(verified.pipeline, sql)
    found = places(findings(verified))
    assert expected in found
    assert {key for key, _ in found} <= {DAY, OTHER}


def test_quarantined_rows_that_are_gone_are_noticed(verified: Shop) -> None:
    good = [line(DAY, one) for one in range(40)]
    verified.deliver("orders", DAY, [*good, line(DAY, 41, quantity="many")])
    run_stages(verified.pipeline, [DAY])
    assert findings(verified) == []
    execute(verified.pipeline, "delete from ops.quarantine")
    (found,) = findings(verified)
    assert (found.partition_key, found.place) == (DAY, "raw")
    assert "1 rows went to quarantine, 0 are there" in found.what


IN_THE_SOURCE: dict[str, tuple[Callable[[Shop], object], str]] = {
    "corrected": (lambda shop: shop.deliver("orders", DAY, [line(DAY, 1)]), "has changed: 1 rows"),
    "withdrawn": (lambda shop: shop.withdraw("orders", DAY), "the delivery is gone"),
    "spoiled": (
        lambda shop: shop.path("orders", DAY).write_text("nonsense"),
        "has changed and cannot be used",
    ),
}


@pytest.mark.parametrize(("change", "words"), IN_THE_SOURCE.values(), ids=IN_THE_SOURCE.keys())
def test_a_source_that_has_changed_since_is_noticed(
    verified: Shop, change: Callable[[Shop], object], words: str
) -> None:
    change(verified)
    (found,) = findings(verified)
    assert (found.partition_key, found.place) == (DAY, "source")
    assert words in found.what


def test_a_correction_that_kept_the_files_size_and_time_is_noticed(verified: Shop) -> None:
    path = verified.path("orders", DAY)
    kept = path.stat()
    path.write_text(path.read_text().replace("2.50", "9.50"))
    os.utime(path, ns=(kept.st_atime_ns, kept.st_mtime_ns))
    assert places(findings(verified)) == {(DAY, "source")}


def test_a_delivery_without_its_marker_is_compared_as_it_lies(
    verified: Shop,
) -> None:
    declared = "path: deliveries/orders/{date}.csv"
    rule = f"{declared}\n    ready_when: {{suffix: .done}}"
    verified.source_path.write_text(SOURCE.replace(declared, rule))
    assert findings(verified) == []
    assert findings(verified, deep=True) == []
    verified.deliver("orders", OTHER, [line(OTHER, 1)])
    (found,) = findings(verified)
    assert (found.partition_key, found.place) == (OTHER, "source")
    assert "the delivery has changed: 1 rows, was 22" in found.what


def test_a_delivery_that_comes_for_an_empty_day_is_noticed(verified: Shop) -> None:
    verified.deliver("orders", DAYS[-1], [line(DAYS[-1], 1)])
    (found,) = findings(verified)
    assert (found.partition_key, found.place) == (DAYS[-1], "source")


def test_a_day_that_failed_last_or_was_never_run_is_no_day_that_is_in_order(
    verified: Shop,
) -> None:
    never = "2026-03-03"
    verified.path("orders", DAY).write_text("nonsense")
    run_stages(verified.pipeline, [DAY])
    found = findings(verified, days=[never, *DAYS])
    assert (never, "ledger") in places(found)
    verified.path("orders", never).write_text("nonsense")
    run_stages(verified.pipeline, [never])
    (unpublished,) = (one for one in findings(verified, days=[never]) if one.place == "ledger")
    assert unpublished.what.startswith("not published: customers: ")
    assert (DAY, "landing") in places(found)
    assert {key for key, _ in places(found)} == {never, DAY}


def test_a_delivery_that_is_loaded_and_not_published_is_noticed(verified: Shop) -> None:
    verified.deliver("customers", DAY, [customer(DAY, 1), customer(DAY, 5)])
    extract_and_load(verified.pipeline, [DAY])
    assert places(findings(verified)) == {(DAY, "marts")}


def test_landed_files_that_were_tampered_with_are_noticed(verified: Shop) -> None:
    rename_customers_in(landed_file(verified.pipeline, "customers"))
    assert places(findings(verified)) == {(DAY, "raw")}


def test_only_a_deep_look_sees_that_landing_and_raw_were_both_tampered_with(
    verified: Shop,
) -> None:
    rename_customers_in(landed_file(verified.pipeline, "customers"))
    execute(
        verified.pipeline, f"update raw.customers set name = 'somebody else' where _date = '{DAY}'"
    )
    assert findings(verified) == []
    assert places(findings(verified, deep=True)) == {(DAY, "landing")}


def test_a_lake_that_did_not_follow_is_noticed_and_mended_by_the_next_run(verified: Shop) -> None:
    verified.deliver_day(DAY, orders=2, price="7.00")
    run_stages(verified.pipeline, [DAY], lake=False)
    assert places(findings(verified)) == {(DAY, "lake")}
    run_stages(verified.pipeline, [OTHER])
    assert findings(verified) == []


def test_a_lake_with_other_values_is_noticed(verified: Shop) -> None:
    spoil_lake(verified.pipeline)
    assert places(findings(verified)) == {(DAY, "lake")}


def test_a_lake_table_that_is_gone_is_noticed_on_every_published_day(verified: Shop) -> None:
    shutil.rmtree(lake_table(verified.pipeline, "fct_orders"))
    assert places(findings(verified)) == {(day, "lake") for day in DAYS}


def test_a_source_without_some_feed_is_verified_too(tmp_path: Path, dbt_cache: Path) -> None:
    shop = Shop(tmp_path, source=SOURCE[: SOURCE.index("  events:")], dbt_cache=dbt_cache)
    shop.deliver_day(DAY)
    run_stages(shop.pipeline, [DAY])
    assert findings(shop, days=[DAY]) == []
