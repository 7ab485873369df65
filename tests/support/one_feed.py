"""One feed alone: delivered, extracted and looked at, without the rest of a shop."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from datetime import date
from pathlib import Path
from typing import Any
from zoneinfo import ZoneInfo

import pyarrow.parquet as pq

from customer_pipeline.source.calendars import DailyPartitions
from customer_pipeline.source.feed import Feed
from customer_pipeline.stages.extract import extract
from customer_pipeline.stages.landing import Landing, Manifest
from customer_pipeline.stages.load import Loaded, load
from customer_pipeline.warehouse.connection import Warehouse
from tests.support.warehouse import query

DAY = "2026-03-02"


@dataclass(frozen=True)
class OneFeed:
    """A feed `things`, by default of CSV files with the columns id and name, below `root`."""

    root: Path
    zone: str = "UTC"

    def feed(self, **fields: Any) -> Feed:
        declared = {
            "reader": "csv",
            "path": str(self.root / "{date}.csv"),
            "columns": {"id": {"required": True}, "name": {}},
        }
        if fields.get("reader", "csv") != "csv":
            del declared["path"]
        return Feed.model_validate(declared | fields)

    @property
    def landing(self) -> Landing:
        return Landing(self.root / "landing", DailyPartitions.column, "shop")

    @property
    def warehouse(self) -> Warehouse:
        return Warehouse(self.root / "warehouse.duckdb", lock_timeout=5)

    def deliver(self, content: bytes | str | None, day: str = DAY) -> None:
        path = self.root / f"{day}.csv"
        if content is None:
            path.unlink(missing_ok=True)
        else:
            path.write_bytes(content.encode() if isinstance(content, str) else content)

    def extract(
        self, days: Sequence[str] = (DAY,), *, give_up: bool = True, **fields: Any
    ) -> list[Manifest]:
        partitions = DailyPartitions(date(2025, 1, 1), None, ZoneInfo(self.zone))
        return extract(
            "things",
            self.feed(**fields),
            partitions.windows(days),
            zone=self.zone,
            landing=self.landing,
            give_up=give_up,
        )

    def load(self, days: Sequence[str] = (DAY,), **fields: Any) -> Loaded:
        return load(
            "things",
            self.feed(**fields),
            days,
            zone=self.zone,
            landing=self.landing,
            warehouse=self.warehouse,
            run_id="run",
        )

    def land(self, content: bytes | str | None, day: str = DAY, **fields: Any) -> Manifest:
        """Deliver `content` for `day`, and extract it."""
        self.deliver(content, day)
        (manifest,) = self.extract([day], **fields)
        return manifest

    def land_and_load(self, content: bytes | str | None, day: str = DAY, **fields: Any) -> Loaded:
        self.land(content, day, **fields)
        return self.load([day], **fields)

    def rows(self, day: str = DAY) -> list[dict[str, Any]]:
        """What is landed for `day`, without the day."""
        return self._read(self.landing.data_path(self._manifest(day)))

    def quarantined(self, day: str = DAY) -> list[tuple[int, str, str]]:
        """Line, reason and raw text of what is in quarantine beside it."""
        found = self._read(self.landing.quarantine_path(self._manifest(day)))
        return [(row["line"], row["reason"], row["raw"]) for row in found]

    def raw(self, columns: str = "_date::varchar, id, name") -> list[tuple[Any, ...]]:
        return query(self.warehouse.path, f"select {columns} from raw.things order by _date, _line")

    def _manifest(self, day: str) -> Manifest:
        manifest = self.landing.read("things", day)
        assert manifest is not None
        return manifest

    def _read(self, path: Path | None) -> list[dict[str, Any]]:
        rows = [] if path is None else pq.ParquetFile(path).read().to_pylist()
        return [{name: value for name, value in row.items() if name != "_date"} for row in rows]
