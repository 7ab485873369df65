"""The demo source: the same everywhere, its flaws as ordered, its people consistent.

What does not belong here: what is true of its taxi trips alone (`test_demo_trips.py`).
"""

from __future__ import annotations

import hashlib
import json
import os
import subprocess
import sys
from collections import defaultdict
from datetime import date, datetime, timedelta
from functools import cache
from itertools import pairwise
from pathlib import Path
from zoneinfo import ZoneInfo

import duckdb
import pyarrow as pa
import pytest

from customer_pipeline.demo import feeds, sales_export
from customer_pipeline.demo.options import Options
from customer_pipeline.errors import ConfigError
from customer_pipeline.settings import DEMO_SOURCE
from customer_pipeline.source.calendars import DailyPartitions, MonthlyPartitions
from customer_pipeline.source.feed import Source
from customer_pipeline.source.mapping.query import mapping_query
from customer_pipeline.source.partitions import Window
from customer_pipeline.source.reading import read_delivery
from customer_pipeline.source.yaml.source_file import load_source

LONDON = ZoneInfo("Europe/London")
DAYS = DailyPartitions(date(2020, 1, 1), None, LONDON)
MONTHS = MonthlyPartitions(date(2020, 1, 1), None, LONDON)
FLAWS = [name for name, field in Options.model_fields.items() if field.annotation is bool]
NO_FLAWS = dict.fromkeys(FLAWS, False)

# What a day, or its month, holds, as SHA-256. A change of these means that everybody's demo data
# changes.
GOLDEN = {
    "customers": "a38807df9b204f2526d9a89cf90a3e1bcb423cdb9bfdc4678e3cb3c7d8db64f2",
    "orders": "8b6ed6b1c6e309c1add0a1a07f5a84e682462cc12c687edc9224697ef68b67c3",
    "events": "924fe84c44023ddb03c27ff3111442d18afe40b1e1c942c53f042b9919ac83e1",
    "trips": "15ce77c96c042f04a92c5a1c6823b757f094e7c59dfc5d6ee7155efa46644af3",
}
DAILY_FEEDS = ("customers", "orders", "events")


def window_of(feed: str, day: str) -> Window:
    """The window of the feed's partition in which the day is."""
    return DAYS.window(day) if feed in DAILY_FEEDS else MONTHS.window(f"{day[:7]}-01")


def is_closed(day: date) -> bool:
    return feeds.orders(DAYS.window(day.isoformat())) is None


def delivered(feed: str, day: str, **options: object) -> pa.Table:
    """What the demo shop delivers on an open day, or for its month, in one table."""
    given = getattr(feeds, feed)(window_of(feed, day), **options)
    assert given is not None, f"closed on {day}"
    return given if isinstance(given, pa.Table) else pa.concat_tables(given)


def hash_of(feed: str, day: str, **options: object) -> str:
    rows = delivered(feed, day, **options).to_pylist()
    return hashlib.sha256(json.dumps(rows).encode()).hexdigest()


@cache
def many_days(feed: str, first: str, count: int, switches: tuple[str, ...] | None) -> pa.Table:
    """The partitions of a feed with these days in one table, with a column `day`, the first of each.
    `switches`: the flaws that are on."""
    options = {} if switches is None else NO_FLAWS | dict.fromkeys(switches, True)
    start = date.fromisoformat(first)
    days = (str(start + timedelta(days=n)) for n in range(count))
    tables = []
    for first_day in dict.fromkeys(window_of(feed, day).start.date() for day in days):
        if feed in DAILY_FEEDS and options.get("closed_days", True) and is_closed(first_day):
            continue
        table = delivered(feed, str(first_day), **options)
        tables.append(table.append_column("day", pa.repeat(pa.scalar(first_day), table.num_rows)))
    return pa.concat_tables(tables)


def ask(query: str, rows: pa.Table) -> list[tuple]:
    with duckdb.connect() as connection:
        connection.register("rows", rows)
        return connection.execute(query).fetchall()


# --- The same everywhere ------------------------------------------------------------------------


def test_a_day_is_what_it_has_always_been():
    assert {feed: hash_of(feed, "2025-06-12") for feed in GOLDEN} == GOLDEN


def test_a_day_is_the_same_in_another_process_time_zone_and_locale():
    script = (
        "import sys; sys.path.insert(0, sys.argv[1]); import test_demo as t;"
        "print(*(t.hash_of(feed, '2025-06-12') for feed in t.GOLDEN))"
    )
    project = Path(__file__).resolve().parents[2]
    result = subprocess.run(
        [sys.executable, "-c", script, str(Path(__file__).parent)],
        env=os.environ | {"TZ": "Pacific/Auckland", "LC_ALL": "C", "PYTHONHASHSEED": "7"},
        cwd=project,
        capture_output=True,
        text=True,
        check=True,
    )
    assert result.stdout.split() == list(GOLDEN.values())


def test_a_day_does_not_depend_on_the_days_asked_for_before():
    before = hash_of("events", "2025-05-06")
    hash_of("events", "2025-05-05")
    assert hash_of("events", "2025-05-06") == before


def test_another_seed_makes_another_shop():
    assert hash_of("customers", "2025-06-12", seed=2) != hash_of("customers", "2025-06-12", seed=1)


def test_large_deliveries_come_in_pieces_that_join_to_the_same_rows(monkeypatch):
    whole = delivered("orders", "2025-06-12")
    monkeypatch.setattr(sales_export, "_INVOICES_A_PIECE", 7)
    pieces = list(feeds.orders(DAYS.window("2025-06-12")) or ())
    assert len(pieces) > 5
    assert pa.concat_tables(pieces).to_pylist() == whole.to_pylist()


# --- Size ---------------------------------------------------------------------------------------


def test_scale_50_makes_fifty_times_the_lines():
    days = [f"2025-06-{n}" for n in (10, 11, 12, 13, 16, 17, 18, 19)]
    for feed in DAILY_FEEDS:
        one = sum(len(delivered(feed, day)) for day in days)
        fifty = sum(len(delivered(feed, day, scale=50)) for day in days)
        assert 45 < fifty / one < 55


def test_scale_0_delivers_the_columns_and_no_rows():
    for feed in GOLDEN:
        nothing, something = delivered(feed, "2025-06-12", scale=0), delivered(feed, "2025-06-12")
        assert nothing.num_rows == 0
        assert nothing.schema == something.schema


@pytest.mark.parametrize("scale", [0.0001, 0.01, 0.3])
def test_a_small_shop_is_right_on_average(scale):
    days = [date(2025, 3, 2) + timedelta(days=n) for n in range(60)]
    lines = [delivered("orders", str(day), scale=scale) for day in days if not is_closed(day)]
    invoices = sum(len(set(each["Order No"].to_pylist())) for each in lines)
    assert abs(invoices - 4_000 * scale) < 3 + 0.15 * 4_000 * scale


@pytest.mark.parametrize(
    "options",
    [
        {"scale": -1},
        {"scale": float("inf")},
        {"scale": float("nan")},
        {"late_event": True},
        {"seed": "x"},
    ],
)
def test_an_option_that_cannot_be_is_refused_by_name(options):
    with pytest.raises(ConfigError, match=next(iter(options))):
        feeds.customers(DAYS.window("2025-06-12"), **options)


# --- Flaws --------------------------------------------------------------------------------------

# Each flaw: its feed, and a query that counts it.
COUNTS = {
    "closed_days": (
        "orders",
        "select date_diff('day', min(day), max(day)) + 1 - count(distinct day) from rows",
    ),
    "cancellations": (
        "orders",
        """select count(*) from rows where "Order No" like 'C%' or "Qty" like '-%'""",
    ),
    "missing_customers": ("orders", 'select count(*) from rows where "Customer No" is null'),
    "missing_descriptions": ("orders", 'select count(*) from rows where "Description" is null'),
    "untrimmed_texts": (
        "orders",
        """select count(*) from rows
        where "Description" <> trim("Description") or "Description" like '%  %'""",
    ),
    "zero_prices": ("orders", """select count(*) from rows where "Unit Price" = '0.00'"""),
    "duplicate_lines": (
        "orders",
        'select count(*) - count(distinct ("Order No", "Stock Code")) from rows',
    ),
    "unreadable_values": (
        "orders",
        """select count(*) from rows where try_cast("Qty" as integer) is null
        or try_strptime("Order Date", '%d/%m/%Y %H:%M') is null
        or try_cast("Unit Price" as decimal(18, 4)) is null""",
    ),
    "duplicate_customers": (
        "customers",
        'select count(*) - count(distinct (day, "Customer No")) from rows',
    ),
    "late_events": (
        "events",
        """select count(*) from (
            select min(day) > min(strptime("occurredAt"[:10], '%Y-%m-%d')) as late from rows
            where "occurredAt" >= '2025-03-03' group by "eventId"
        ) where late""",
    ),
    "redelivered_events": (
        "events",
        'select count(*) - count(distinct ("eventId", payload)) from rows',
    ),
    "conflicting_events": (
        "events",
        'select count(distinct ("eventId", payload)) - count(distinct "eventId") from rows',
    ),
    "trips_outside_month": (
        "trips",
        """select count(*) from rows
        where date_trunc('month', try_cast("Picked Up" as timestamp)) <> day""",
    ),
    "refunded_trips": ("trips", """select count(*) from rows where "Fare" like '-%'"""),
    "trips_without_payment": ("trips", 'select count(*) from rows where "Payment" is null'),
    "unreadable_trips": (
        "trips",
        """select count(*) from rows where try_cast("Picked Up" as timestamp) is null
        or try_cast("Miles" as decimal(18, 2)) is null
        or try_cast("Total" as decimal(18, 2)) is null""",
    ),
    "shuffled_events": (
        "events",
        """select count(*) from (
            select "occurredAt" < lag("occurredAt") over (partition by day order by line) as back
            from (select *, row_number() over () as line from rows)
        ) where back""",
    ),
}


# Those that send a row to the quarantine.
REFUSED = ("unreadable_values", "unreadable_trips", "trips_outside_month")


def flaw_count(flaw: str, switches: tuple[str, ...] | None) -> int:
    feed, query = COUNTS[flaw]
    return ask(query, many_days(feed, "2025-03-03", 34, switches))[0][0]


def test_every_flaw_is_counted_here():
    assert set(COUNTS) == set(FLAWS)


@pytest.mark.parametrize("flaw", COUNTS)
def test_the_demo_has_the_flaw(flaw):
    assert flaw_count(flaw, None) > 0


@pytest.mark.parametrize("flaw", COUNTS)
def test_a_flaw_switched_off_is_gone_whatever_else_is_on(flaw):
    assert flaw_count(flaw, tuple(name for name in FLAWS if name != flaw)) == 0


@pytest.mark.parametrize("flaw", COUNTS)
def test_a_flaw_alone_is_there_and_brings_no_other(flaw):
    assert flaw_count(flaw, (flaw,)) > 0
    same_feed = [name for name in COUNTS if COUNTS[name][0] == COUNTS[flaw][0] and name != flaw]
    assert {name: flaw_count(name, (flaw,)) for name in same_feed} == dict.fromkeys(same_feed, 0)


def test_spaces_are_all_that_untrimmed_texts_add():
    tidy = delivered("orders", "2025-06-12", untrimmed_texts=False).to_pylist()
    hasty = delivered("orders", "2025-06-12").to_pylist()
    assert hasty != tidy
    for row in hasty:
        row["Description"] = row["Description"] and " ".join(row["Description"].split())
    assert hasty == tidy


def test_a_duplicate_line_stands_right_behind_its_twin_and_is_the_same():
    lines = [tuple(row.values()) for row in delivered("orders", "2025-06-12").to_pylist()]
    twins = [line for line, next_line in pairwise(lines) if line == next_line]
    single = delivered("orders", "2025-06-12", duplicate_lines=False).num_rows
    assert len(twins) == len(lines) - single > 0


@pytest.mark.parametrize("scale", [0.005, 0.05, 1])
def test_unreadable_values_stay_far_below_the_quarantine_threshold(scale):
    query = COUNTS["unreadable_values"][1]
    days = [date(2025, 3, 2) + timedelta(days=n) for n in range(45)]
    for day in (day for day in days if not is_closed(day)):
        lines = delivered("orders", str(day), scale=scale)
        assert ask(query, lines)[0][0] <= 0.01 * lines.num_rows


def test_the_shop_is_closed_on_saturdays_christmas_and_new_year():
    expected = {date(2025, 1, 1), date(2025, 12, 25), date(2026, 1, 1)}
    days = [date(2025, 1, 1) + timedelta(days=n) for n in range(366)]
    expected |= {day for day in days if day.weekday() == 5}
    assert {day for day in days if is_closed(day)} == expected
    for feed in DAILY_FEEDS:
        assert getattr(feeds, feed)(DAYS.window("2025-12-25")) is None
        assert delivered(feed, "2025-12-25", closed_days=False).num_rows > 0


# --- Events -------------------------------------------------------------------------------------


def test_messages_come_up_to_three_days_late_and_again_up_to_three_days_after_that():
    rows = ask(
        """select list(date_diff('day', "occurredAt"[:10]::date, day) order by day) from rows
        where "occurredAt" >= '2025-03-03' group by "eventId" """,
        many_days("events", "2025-03-03", 120, None),
    )
    assert {delays[0] for (delays,) in rows} == {0, 1, 2, 3}
    assert {delays[-1] - delays[0] for (delays,) in rows} == {0, 1, 2, 3}
    assert max(delays[-1] for (delays,) in rows) > 3


def test_operations_of_one_customer_arrive_out_of_order():
    rows = many_days("events", "2025-03-03", 34, None).to_pylist()
    operations = defaultdict(list)
    for row in rows:
        operations[row["day"], row["entityId"]].append(row)
    created_last = [
        arrived
        for arrived in operations.values()
        if len(arrived) > 1 and arrived[-1]["operation"] == "created"
    ]
    assert created_last
    for arrived in created_last:
        assert min(row["occurredAt"] for row in arrived) == arrived[-1]["occurredAt"]


def test_payloads_are_json_and_times_carry_londons_offset():
    rows = many_days("events", "2025-03-24", 14, None).to_pylist()
    offsets = set()
    for row in rows:
        assert json.loads(row["payload"])
        occurred = datetime.fromisoformat(row["occurredAt"])
        assert occurred.utcoffset() == occurred.astimezone(LONDON).utcoffset()
        offsets.add(row["occurredAt"][-6:])
    assert offsets == {"+00:00", "+01:00"}


def test_every_operation_happens():
    operations = {row[0] for row in ask("select distinct operation from rows", a_clean_season())}
    assert operations == {"created", "changed", "deleted"}


# --- Customers ----------------------------------------------------------------------------------


def a_clean_season(feed: str = "events") -> pa.Table:
    return many_days(feed, "2025-02-03", 120, ("closed_days", "missing_customers"))


def test_every_buyer_is_among_the_days_customers():
    for switches in (None, ()):
        buyers = many_days("orders", "2025-03-03", 34, switches)
        customers = many_days("customers", "2025-03-03", 34, switches)
        bought = {(row["day"], row["Customer No"]) for row in buyers.to_pylist()}
        seen = {(row["day"], row["Customer No"]) for row in customers.to_pylist()}
        assert {(day, who) for day, who in bought if who} <= seen


def test_a_customer_changes_now_and_then_and_only_with_a_newer_date():
    rows = many_days("customers", "2025-02-03", 120, None).to_pylist()
    states = defaultdict(dict)
    for row in rows:
        assert row["Last Changed"][:10] <= row["day"].isoformat()
        state = (row["Name"], row["E-mail"], row["Country"])
        assert states[row["Customer No"]].setdefault(row["Last Changed"], state) == state
    changed = [dict(sorted(known.items())) for known in states.values() if len(known) > 1]
    assert len(changed) > 100
    for known in changed:
        values = list(known.values())
        assert all(old != new for old, new in pairwise(values))
    for attribute in range(3):
        assert any(len({state[attribute] for state in known.values()}) > 1 for known in changed)


def test_customers_who_opened_or_changed_are_those_of_whom_messages_tell():
    messages = a_clean_season().to_pylist()
    told = {
        (row["day"], row["entityId"], row["occurredAt"][:19])
        for row in messages
        if row["operation"] != "deleted" and not row["eventId"].endswith("newsletter")
    }
    customers = a_clean_season("customers").to_pylist()
    changed = {
        (row["day"], row["Customer No"], row["Last Changed"])
        for row in customers
        if row["Last Changed"].startswith(row["day"].isoformat())
    }
    assert told == changed


def test_a_message_tells_the_new_state():
    customers = {
        (row["day"], row["Customer No"]): row for row in a_clean_season("customers").to_pylist()
    }
    columns = {"name": "Name", "email": "E-mail", "country": "Country"}
    told = 0
    for row in a_clean_season().to_pylist():
        for key, value in json.loads(row["payload"]).items():
            if key in columns:
                assert customers[row["day"], row["entityId"]][columns[key]] == value
                told += 1
    assert told > 500


def test_no_new_customer_is_lost_over_the_holidays():
    # Friday 25 December and the Saturday after it, then New Year's Day and another Saturday.
    messages = many_days("events", "2026-12-15", 30, ("closed_days",)).to_pylist()
    opened = sorted(int(row["entityId"]) for row in messages if row["operation"] == "created")
    assert opened == list(range(opened[0], opened[0] + len(opened)))


def test_whoever_closed_the_account_is_never_seen_again():
    closed = {
        row["entityId"]: row["day"]
        for row in a_clean_season().to_pylist()
        if row["operation"] == "deleted"
    }
    assert len(closed) > 20
    for row in a_clean_season("customers").to_pylist():
        assert row["Customer No"] not in closed or row["day"] < closed[row["Customer No"]]


# --- demo.yaml ----------------------------------------------------------------------------------


@pytest.fixture(scope="module")
def source() -> Source:
    return load_source(DEMO_SOURCE)


def test_the_yaml_names_every_option_with_all_flaws_on(source):
    for feed in source.feeds.values():
        assert feed.options == Options().model_dump()


def test_the_yaml_allows_exactly_the_closed_days_to_have_no_delivery(source):
    days = [date(2025, 1, 1) + timedelta(days=n) for n in range(6 * 365)]
    closed = [day for day in days if is_closed(day)]
    for name in DAILY_FEEDS:
        feed = source.feeds[name]
        assert [day for day in days if feed.may_be_empty(DAYS.window(str(day)))] == closed
    assert not source.feeds["trips"].may_be_empty(MONTHS.window("2025-01-01"))


# Both sides of the clock changes, and an ordinary day.
@pytest.mark.parametrize("day", ["2025-03-10", "2025-03-30", "2025-10-26"])
def test_a_delivery_loads_through_the_yaml_and_only_rows_with_such_a_flaw_are_refused(source, day):
    for name, feed in source.feeds.items():
        window = window_of(name, day)
        delivery = read_delivery(feed, window)
        query = mapping_query(feed, delivery.rows.schema, window, source.timezone)
        with duckdb.connect() as connection:
            connection.register("delivered", delivery.rows)
            loaded = connection.execute(query).to_arrow_table()
        reasons = [reason for reason in loaded["_reason"].to_pylist() if reason]
        first_day = pa.repeat(pa.scalar(window.start.date()), delivery.row_count)
        rows = delivery.rows.append_column("day", first_day)
        refused = sum(
            ask(COUNTS[flaw][1], rows)[0][0] for flaw in REFUSED if COUNTS[flaw][0] == name
        )
        assert loaded.num_rows == delivery.row_count > 0
        assert len(reasons) == refused
        assert loaded.column_names[:-2] == list(feed.columns)
