"""The sensor that looks for corrections and late deliveries, ticked by hand over a shop."""

from __future__ import annotations

import dagster as dg

from customer_pipeline.orchestration.location import build_defs
from tests.support.shop import Shop
from tests.support.stages import run_stages

START, END = "dagster/asset_partition_range_start", "dagster/asset_partition_range_end"


class LateDesk:
    """A shop whose source has ended, the sensor over it, and what it has asked for."""

    def __init__(self, shop: Shop, instance: dg.DagsterInstance) -> None:
        self.shop, self.instance, self.cursor = shop, instance, None
        self.repository = build_defs(shop.settings).get_repository_def()

    def tick(self) -> list[tuple[str, str]]:
        """The ranges that a tick asks for."""
        return [(request.tags[START], request.tags[END]) for request in self.requests()]

    def requests(self) -> list[dg.RunRequest]:
        sensor = self.repository.get_sensor_def("late_data")
        with dg.build_sensor_context(
            self.instance, repository_def=self.repository, cursor=self.cursor
        ) as context:
            evaluated = sensor.evaluate_tick(context)
        self.said = evaluated.skip_message
        self.cursor = evaluated.cursor or self.cursor
        return list(evaluated.run_requests or [])

    def correct(self, day: str, *, orders: int) -> None:
        self.shop.deliver_day(day, orders=orders)

    def run(self, *days: str) -> None:
        run_stages(self.shop.pipeline, days, lake=False)
