"""A small shop with files in a folder: what tests deliver, correct, withdraw and break."""

from __future__ import annotations

import csv
import io
from collections.abc import Mapping, Sequence
from pathlib import Path

from customer_pipeline.orchestration.location import build_pipeline
from customer_pipeline.orchestration.pipeline import Pipeline
from customer_pipeline.pipelines import PIPELINES, PipelineSpec
from customer_pipeline.settings import Settings

ORDERS = (
    "order_id",
    "stock_code",
    "description",
    "quantity",
    "ordered_at",
    "unit_price",
    "customer_id",
    "country",
)
CUSTOMERS = ("customer_id", "name", "email", "country", "updated_at")
EVENTS = ("event_id", "entity_id", "operation", "occurred_at", "payload")
HEADERS = {"orders": ORDERS, "customers": CUSTOMERS, "events": EVENTS}

SOURCE = """\
name: shop
start: 2026-03-01
timezone: Europe/London
feeds:
  customers:
    reader: csv
    path: deliveries/customers/{date}.csv
    key: [customer_id]
    columns:
      customer_id: {}
      name: {}
      email: {}
      country: {}
      updated_at: {type: timestamp, required: true}
    missing: {dates: [2026-03-07, 2026-03-08]}
  orders:
    reader: csv
    path: deliveries/orders/{date}.csv
    columns:
      order_id: {required: true}
      stock_code: {}
      description: {}
      quantity: {type: integer, required: true}
      ordered_at: {type: timestamp, required: true}
      unit_price: {type: "decimal(18,4)", required: true}
      customer_id: {}
      country: {}
    missing: {dates: [2026-03-07, 2026-03-08]}
  events:
    reader: csv
    path: deliveries/events/{date}.csv
    key: [event_id]
    columns:
      event_id: {}
      entity_id: {required: true}
      operation: {required: true}
      occurred_at: {type: timestamp, required: true}
      payload: {}
    write: dedupe
    missing: empty
"""

Row = Mapping[str, object]


class Shop:
    """A source below `root/deliveries`, and a pipeline with its data below `root/data`.

    `2026-03-07` and `2026-03-08` are empty by rule, and events need not be delivered on any day.
    """

    # The pipelines that there may be over it.
    specs: Sequence[PipelineSpec] = PIPELINES

    def __init__(self, root: Path, *, source: str = SOURCE, dbt_cache: Path | None = None) -> None:
        root.mkdir(parents=True, exist_ok=True)
        self.root = root
        self.source_path = root / "source.yaml"
        # Several processes may work on one shop: none may see the file half-written by another.
        if not self.source_path.exists() or self.source_path.read_text() != source:
            self.source_path.write_text(source)
        for feed in HEADERS:
            (root / "deliveries" / feed).mkdir(parents=True, exist_ok=True)
        if dbt_cache is not None:
            (root / "data").mkdir(exist_ok=True)
            (root / "data" / ".dbt").symlink_to(dbt_cache)

    @property
    def environment(self) -> dict[str, str]:
        """What a process needs to work on this shop."""
        return {
            "CUSTOMER_PIPELINE_SOURCE": str(self.source_path),
            "CUSTOMER_PIPELINE_DATA_DIR": str(self.root / "data"),
            "CUSTOMER_PIPELINE_MAX_RETRIES": "0",
        }

    @property
    def settings(self) -> Settings:
        return Settings(
            source=self.source_path, data_dir=self.root / "data", max_retries=0, lock_timeout=20
        )

    @property
    def pipeline(self) -> Pipeline:
        return build_pipeline(self.settings)

    def path(self, feed: str, day: str) -> Path:
        return self.root / "deliveries" / feed / f"{day}.csv"

    def deliver(self, feed: str, day: str, rows: Sequence[Row]) -> Path:
        """Write a delivery; columns that a row leaves out are empty."""
        text = io.StringIO()
        writer = csv.DictWriter(text, HEADERS[feed], lineterminator="\n")
        writer.writeheader()
        writer.writerows(rows)
        path = self.path(feed, day)
        path.write_text(text.getvalue(), encoding="utf-8")
        return path

    def deliver_day(self, day: str, *, orders: int = 3, price: str = "2.50") -> None:
        """A plain good day: `orders` orders of two lines each, by as many customers."""
        self.deliver(
            "orders", day, [line(day, n, part, price) for n in range(orders) for part in (1, 2)]
        )
        self.deliver("customers", day, [customer(day, n) for n in range(orders)])

    def withdraw(self, feed: str, day: str) -> None:
        self.path(feed, day).unlink(missing_ok=True)


def line(
    day: str, order: int, part: int = 1, price: str = "2.50", **changes: object
) -> dict[str, object]:
    """One order line of `day`."""
    return {
        "order_id": f"{day.replace('-', '')}-{order}",
        "stock_code": f"S{part}",
        "description": f"Thing {part}",
        "quantity": part,
        "ordered_at": f"{day}T10:{order % 60:02}:00Z",
        "unit_price": price,
        "customer_id": f"{order:05}",
        "country": "United Kingdom",
    } | changes


def customer(day: str, number: int, **changes: object) -> dict[str, object]:
    """One customer seen on `day`."""
    return {
        "customer_id": f"{number:05}",
        "name": f"Customer {number}",
        "email": f"c{number}@example.com",
        "country": "United Kingdom",
        "updated_at": f"{day}T09:{number % 60:02}:00Z",
    } | changes


def event(day: str, number: int, **changes: object) -> dict[str, object]:
    """One message first delivered on `day`; the same `day` and `number` make the same message."""
    return {
        "event_id": f"{day.replace('-', '')}-e{number}",
        "entity_id": f"{number:05}",
        "operation": "changed",
        "occurred_at": f"{day}T11:{number % 60:02}:00Z",
        "payload": f'{{"number": {number}}}',
    } | changes
