"""`customer-pipeline quarantine` and `verify`, as a user types them."""

from __future__ import annotations

import csv
import json
from pathlib import Path

import pyarrow.parquet as pq
import pytest
from typer.testing import CliRunner, Result

from customer_pipeline.cli.main import cli
from customer_pipeline.errors import ConfigError, PartitionError
from tests.support.shop import SOURCE, Shop, event, line
from tests.support.stages import run_stages

DAYS = ["2026-03-03", "2026-03-04", "2026-03-06"]
ODD = '=cmd|"/c"!A1, [bold]o\'clock[/bold]\nsecond line'


@pytest.fixture
def quarantined(shop: Shop, without_dbt: None, monkeypatch: pytest.MonkeyPatch) -> Shop:
    """Three days, the first two with rows in quarantine, and a delivery that was refused."""
    for name, value in (shop.environment | {"COLUMNS": "300"}).items():
        monkeypatch.setenv(name, value)
    monkeypatch.delenv("DAGSTER_HOME", raising=False)
    for day in DAYS:
        shop.deliver_day(day)
        shop.deliver("events", day, [event(DAYS[0], 1, payload=day)])
    good = [line(DAYS[0], n) for n in range(60)]
    bad = [line(DAYS[0], 60, quantity=text, description=ODD) for text in ("many", "few")]
    shop.deliver("orders", DAYS[0], [*good, *bad, line(DAYS[0], 61, unit_price="free")])
    run_stages(shop.pipeline, DAYS)
    shop.deliver("orders", DAYS[1], [line(DAYS[1], 1, quantity="none")])
    run_stages(shop.pipeline, [DAYS[1]])
    return shop


def typed(*arguments: str | Path) -> Result:
    return CliRunner().invoke(cli, [str(one) for one in arguments])


def rows_of(shown: str) -> list[tuple[str, ...]]:
    """Day, feed, kind and number of rows, of the table's lines."""
    cells = [line.split("│")[1:5] for line in shown.splitlines() if line.startswith("│")]
    return [tuple(cell.strip() for cell in row) for row in cells]


def test_rows_are_shown_by_day_feed_kind_and_what_is_wrong(quarantined: Shop) -> None:
    done = typed("quarantine")
    assert done.exit_code == 0, done.output
    assert rows_of(done.output) == [
        (DAYS[0], "orders", "unreadable", "2"),
        (DAYS[0], "orders", "unreadable", "1"),
        (DAYS[1], "events", "conflict", "1"),
        (DAYS[1], "orders", "refused", "1"),
        (DAYS[2], "events", "conflict", "1"),
    ]
    assert "quantity: 'many' is not an integer" in done.output
    assert "6 rows of 3 days" in done.output


@pytest.mark.parametrize(
    ("arguments", "expected"),
    [
        (["--feed", "events"], [(DAYS[1], "events"), (DAYS[2], "events")]),
        (["--kind", "refused"], [(DAYS[1], "orders")]),
        (["--from", DAYS[2]], [(DAYS[2], "events")]),
        (["--to", DAYS[0]], [(DAYS[0], "orders")] * 2),
        (["--reason", "free"], [(DAYS[0], "orders")]),
    ],
)
def test_rows_can_be_chosen(
    quarantined: Shop, arguments: list[str], expected: list[tuple[str, str]]
) -> None:
    assert [row[:2] for row in rows_of(typed("quarantine", *arguments).output)] == expected


def test_nothing_chosen_is_said(quarantined: Shop) -> None:
    done = typed("quarantine", "--from", "2026-03-08")
    assert (done.exit_code, done.output) == (0, "nothing is in quarantine\n")


def test_what_was_delivered_is_shown_as_it_is_and_never_taken_for_markup(
    quarantined: Shop,
) -> None:
    shown = typed("quarantine", "--reason", "few", "--rows", "5").output
    assert "orders 2026-03-03 line 64 quantity: 'few' is not an integer" in shown
    assert "[bold]o'clock[/bold]" in shown
    assert shown.count("line 6") == 1


@pytest.mark.parametrize("ending", [".csv", ".jsonl", ".parquet"])
def test_rows_are_written_whole_to_a_file_of_any_format(
    quarantined: Shop, tmp_path: Path, ending: str
) -> None:
    file = tmp_path / f"somebody's rows{ending}"
    done = typed("quarantine", "--kind", "unreadable", "--export", file)
    assert f"3 rows written to {file}" in done.output
    if ending == ".csv":
        with file.open(newline="") as text:
            found = list(csv.DictReader(text))
    elif ending == ".jsonl":
        found = [json.loads(text) for text in file.read_text().splitlines()]
    else:
        found = pq.read_table(file).to_pylist()
    assert [int(row["line"]) for row in found] == [62, 64, 66]
    assert all(json.loads(row["raw"])["description"] == ODD for row in found[:2])


def test_days_are_tried_again_after_the_mapping_was_mended(quarantined: Shop) -> None:
    quarantined.source_path.write_text(
        SOURCE.replace(
            "quantity: {type: integer,",
            "quantity: {type: integer, expression: \"replace(replace(value, 'many', '9'), 'few', '2')\",",
        )
    )
    done = typed("quarantine", "--feed", "orders", "--to", DAYS[0], "--retry")
    assert done.exit_code == 0, done.output
    assert "2026-03-03 to 2026-03-03, 1 day in one run" in done.output
    left = rows_of(typed("quarantine", "--feed", "orders", "--to", DAYS[0]).output)
    assert left == [(DAYS[0], "orders", "unreadable", "1")]


def test_a_retry_takes_days_with_gaps_as_several_runs(quarantined: Shop) -> None:
    done = typed("quarantine", "--retry")
    assert done.exit_code == 1
    assert "2026-03-03 to 2026-03-04, 2 days in one run" in done.output
    assert "2026-03-06 to 2026-03-06, 1 day in one run" in done.output


@pytest.mark.parametrize(
    ("arguments", "error", "said"),
    [
        (["--feed", "nope"], ConfigError, "there is no feed 'nope'"),
        (["--from", "2026-02-30"], PartitionError, "'2026-02-30' is not a day"),
        (["--export", "rows.xlsx"], ConfigError, "no such format: .xlsx"),
        (["--export", "/no/such/folder/rows.csv"], ConfigError, "cannot be written"),
    ],
)
def test_a_mistake_is_one_sentence(
    quarantined: Shop, arguments: list[str], error: type[Exception], said: str
) -> None:
    done = typed("quarantine", *arguments)
    assert isinstance(done.exception, error)
    assert said in str(done.exception)


def test_verify_shows_each_difference_and_ends_with_the_exit_code_of_it(quarantined: Shop) -> None:
    done = typed("verify", "--from", DAYS[0], "--to", DAYS[0], "--deep")
    assert (done.exit_code, done.output) == (
        0,
        "2026-03-03: 1 day in order, from the source to the lake\n",
    )
    done = typed("verify")
    assert done.exit_code == 1
    assert "1 of 1 rows cannot be loaded" in done.output
    assert "2026-03-05 │ ledger  │ not published: never run" in done.output
    assert "2026-03-03 to 2026-03-06: 2 of 4 days differ" in done.output


def test_verify_without_anything_published_says_what_to_do(
    shop: Shop, monkeypatch: pytest.MonkeyPatch
) -> None:
    for name, value in shop.environment.items():
        monkeypatch.setenv(name, value)
    done = typed("verify")
    assert isinstance(done.exception, ConfigError)
    assert "there is no warehouse yet" in str(done.exception)


@pytest.mark.parametrize("command", ["quarantine", "verify"])
def test_a_warehouse_that_nothing_was_loaded_into_yet_is_said_to_be_one(
    shop: Shop, monkeypatch: pytest.MonkeyPatch, command: str
) -> None:
    for name, value in shop.environment.items():
        monkeypatch.setenv(name, value)
    with shop.pipeline.warehouse.write() as connection:
        connection.execute("create table somebodys (number integer)")
    done = typed(command)
    assert isinstance(done.exception, ConfigError)
    assert str(done.exception) == f"{command}: nothing was loaded yet (run a day first)"
