"""The README's example source, copied by a user as it stands, with deliveries that fit it."""

from __future__ import annotations

import gzip
import json
import re
from pathlib import Path

from tests.support.dagster_processes import PROJECT
from tests.support.shop import Shop
from tests.support.stages import run_stages
from tests.support.warehouse import query

DAY = "2026-03-09"


def example() -> str:
    text = (PROJECT / "README.md").read_text(encoding="utf-8")
    (found,) = re.findall(r"^```yaml\n(name: shop\n.*?)^```", text, re.DOTALL | re.MULTILINE)
    return found


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
