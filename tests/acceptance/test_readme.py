"""README.md and docs/: the example source, copied by a user as it stands, works; and whatever these
pages name is there: commands and their options, settings, keys, tables, make targets, other pages.

What belongs here: pages against code. What does not: what commands do (see their own tests).
"""

from __future__ import annotations

import gzip
import json
import re
from dataclasses import fields
from pathlib import Path

import duckdb
import pytest
from pydantic import BaseModel
from typer.core import TyperGroup
from typer.main import get_command

from customer_pipeline.cli.main import cli
from customer_pipeline.orchestration.location import build_defs
from customer_pipeline.planning.detail import Detail
from customer_pipeline.planning.plan import Redo
from customer_pipeline.settings import DEMO_SOURCE, Settings
from customer_pipeline.source.acceptance import ReadyWhen
from customer_pipeline.source.column import Column
from customer_pipeline.source.feed import Feed, Source
from customer_pipeline.warehouse.schema import ensure_ledger
from tests.support.dagster_processes import PROJECT
from tests.support.shop import Shop
from tests.support.stages import run_stages
from tests.support.warehouse import query

DAY = "2026-03-09"
PAGES = [PROJECT / "README.md", *sorted((PROJECT / "docs").glob("*.md"))]
NAMES = [page.name for page in PAGES]
# Read by the tests; and a mistake, which `doctor` is shown to notice.
OTHER_VARIABLES = {"CUSTOMER_PIPELINE_TEST_DATA", "CUSTOMER_PIPELINE_LOCKTIMEOUT"}


def options_of(group: TyperGroup) -> dict[str, set[str]]:
    """The options of each command, by its name: `status`, `alerts mute`."""
    found = {}
    for name, command in group.commands.items():
        if isinstance(command, TyperGroup):
            found |= {f"{name} {sub}": options for sub, options in options_of(command).items()}
        else:
            found[name] = {option for one in command.params for option in one.opts}
    return found


_ROOT = get_command(cli)
assert isinstance(_ROOT, TyperGroup)
OPTIONS = options_of(_ROOT)


def text_of(name: str) -> str:
    (page,) = [page for page in PAGES if page.name == name]
    return page.read_text(encoding="utf-8")


def example() -> str:
    (found,) = re.findall(
        r"^```yaml\n(name: shop\n.*?)^```", text_of("README.md"), re.DOTALL | re.MULTILINE
    )
    return found


def first_cells(name: str, heading: str) -> list[str]:
    """What stands in backticks in the first column of the table below a heading."""
    _, section = re.split(rf"^#+ {re.escape(heading)}\n", text_of(name), flags=re.MULTILINE)
    rows = re.findall(r"^\|([^|]*)\|", re.split(r"^#", section, flags=re.MULTILINE)[0], re.M)
    return [word for row in rows for word in re.findall(r"`([^`]+)`", row)]


def keys_of(model: type[BaseModel]) -> set[str]:
    return {field.alias or name for name, field in model.model_fields.items()}


def test_the_example_source_publishes_a_day(tmp_path: Path) -> None:
    shop = Shop(tmp_path, source=example())
    deliveries = tmp_path / "deliveries"
    customer = {"customer_id": "7", "name": "Ada", "email": None, "country": "Norway"}
    (deliveries / f"customers-{DAY}.jsonl").write_text(
        json.dumps(customer | {"updated_at": f"{DAY}T09:00:00Z"}) + "\n"
    )
    lines = [
        "Invoice;Article;Text;Qty;Time;Price;Customer;Clerk",
        "1001;A1;Lamp;2;09/03/2026 10:00;1.234,50;7;eve",
        "1001;A2;Shade;1;09/03/2026 10:00;0,25;0;eve",
        "1002;A1;Lamp;1;10/03/2026 00:00;1.234,50;7;eve",
    ]
    with gzip.open(deliveries / "orders" / "20260309.csv.gz", "wt") as file:
        file.write("\n".join(lines * 10) + "\n")

    # Headers in between, and rows of the next day: far more than the feed lets go to quarantine.
    assert run_stages(shop.pipeline, [DAY]) is None

    with gzip.open(deliveries / "orders" / "20260309.csv.gz", "wt") as file:
        file.write("\n".join(lines[:3]) + "\n")
    publication = run_stages(shop.pipeline, [DAY])
    assert publication is not None
    assert publication.casualties == ()
    warehouse = shop.settings.warehouse_path
    assert query(
        warehouse,
        "select order_lines, orders, customers, net_sales::varchar from marts.daily_summary",
    ) == [(2, 1, 1, "2469.2500")]
    assert query(warehouse, "select distinct country from marts.fct_orders") == [
        ("United Kingdom",)
    ]


@pytest.mark.parametrize("name", NAMES)
def test_every_command_has_the_options_it_is_shown_with(name: str) -> None:
    # Up to the end of the line or of the code, without a comment.
    for words in re.findall(r"customer-pipeline ([a-z][^`|#\n]*)", text_of(name)):
        typed = re.sub(r'"[^"]*"', "", words).split()
        command = " ".join(word for word in typed[: 1 + (typed[0] == "alerts")])
        assert command in OPTIONS, f"customer-pipeline {words}"
        shown = {word for word in typed if word.startswith("--")}
        assert shown <= OPTIONS[command], f"customer-pipeline {words}"


@pytest.mark.parametrize("name", NAMES)
def test_every_option_on_its_own_belongs_to_some_command(name: str) -> None:
    known = set().union(*OPTIONS.values())
    assert set(re.findall(r"(?<=`)--[a-z][a-z-]*", text_of(name))) <= known


@pytest.mark.parametrize("name", NAMES)
def test_every_variable_is_a_setting(name: str) -> None:
    known = {f"CUSTOMER_PIPELINE_{field.upper()}" for field in Settings.model_fields}
    named = set(re.findall(r"CUSTOMER_PIPELINE_[A-Z_]*[A-Z]", text_of(name)))
    assert named - OTHER_VARIABLES <= known


def test_every_setting_is_in_the_readme_and_in_the_example_file() -> None:
    known = {f"CUSTOMER_PIPELINE_{field.upper()}" for field in Settings.model_fields}
    shown = first_cells("README.md", "Settings")
    assert set(shown) == known | {"DAGSTER_HOME"}
    env = (PROJECT / ".env.example").read_text(encoding="utf-8")
    assert set(re.findall(r"^# (CUSTOMER_PIPELINE_\w+)=", env, re.MULTILINE)) == known


@pytest.mark.parametrize(
    ("heading", "model"),
    [("Keys of the source", Source), ("Keys of a feed", Feed), ("Keys of a column", Column)],
)
def test_every_key_of_the_yaml_is_in_its_reference(heading: str, model: type[BaseModel]) -> None:
    shown = first_cells("source-yaml.md", heading)
    assert sorted(shown) == sorted(keys_of(model))


def test_every_way_to_tell_a_complete_file_is_in_the_reference() -> None:
    shown = first_cells("source-yaml.md", "Complete files")
    assert {re.findall(r"\w+", rule)[0] for rule in shown if rule[0] == "{"} == keys_of(ReadyWhen)


def test_every_table_is_in_the_reference() -> None:
    with duckdb.connect() as connection:
        ensure_ledger(connection)
        rows = connection.execute("select table_name from information_schema.tables").fetchall()
    ops = {f"ops.{name}" for (name,) in rows}
    models = PROJECT / "dbt_project" / "models"
    marts = {f"marts.{path.stem}" for path in models.glob("*/*.sql")}
    reporting = {f"marts.{path.stem}" for path in models.glob("*_reporting/*.sql")}
    shown = set(re.findall(r"^\| `((?:ops|marts|reporting)\.\w+)` \|", text_of("tables.md"), re.M))
    # Made in Python, and for feeds of messages only.
    elsewhere = {"reporting.customers_current", "reporting.customer_history"}
    elsewhere |= {"ops.messages_without_column"}
    assert shown - elsewhere == (
        ops | (marts - reporting) | {name.replace("marts", "reporting") for name in reporting}
    )
    for name in NAMES:
        named = set(re.findall(r"\b(?:ops|marts|reporting)\.[a-z]\w+\b(?!\()", text_of(name)))
        files = {"reporting.py", "marts.csv"}
        assert {one for one in named if not one.endswith("_")} - files <= shown, name


def test_everything_in_dagster_is_in_the_reference(dbt_cache: Path, tmp_path: Path) -> None:
    (tmp_path / ".dbt").symlink_to(dbt_cache)
    settings = Settings(source=DEMO_SOURCE, data_dir=tmp_path)
    repository = build_defs(settings).get_repository_def()
    graph = repository.asset_graph
    there = {
        *(key.path[0] for key in graph.get_all_asset_keys()),
        *(graph.get(key).group_name for key in graph.get_all_asset_keys()),
        *(name for name in repository.job_names if not name.startswith("__")),
        *(schedule.name for schedule in repository.schedule_defs),
        *(sensor.name for sensor in repository.sensor_defs),
    }
    _, section = text_of("tables.md").split("## Assets")
    assert {word.split("/")[0] for word in re.findall(r"`([^`]+)`", section)} == there


def test_every_key_of_the_detail_of_a_day_is_named() -> None:
    assert all(f"`{field.name}`" in text_of("scripting.md") for field in fields(Detail))


def test_every_choice_of_redo_is_named() -> None:
    assert set(first_cells("backfills.md", "Which days")) == set(Redo.__args__)


@pytest.mark.parametrize("name", NAMES)
def test_every_make_target_is_there(name: str) -> None:
    targets = set(re.findall(r"^([a-z-]+):", (PROJECT / "Makefile").read_text(), re.MULTILINE))
    assert set(re.findall(r"(?:^|`)make ([a-z-]+)", text_of(name), re.MULTILINE)) <= targets


@pytest.mark.parametrize("page", PAGES, ids=NAMES)
def test_every_link_leads_somewhere(page: Path) -> None:
    for target in re.findall(r"\]\(([^)\s]+)\)", page.read_text(encoding="utf-8")):
        if re.match(r"https?://", target):
            continue
        path, _, anchor = target.partition("#")
        linked = (page.parent / path).resolve() if path else page
        assert linked.exists(), target
        if anchor:
            headings = re.findall(r"^#+ (.*)$", linked.read_text(encoding="utf-8"), re.MULTILINE)
            # As GitHub makes them.
            anchors = {re.sub(r"[^\w -]", "", one.lower()).replace(" ", "-") for one in headings}
            assert anchor in anchors, target
