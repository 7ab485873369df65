"""A data folder belongs to one source, so that two shops' days are never published side by side."""

from __future__ import annotations

from pathlib import Path

import pytest

from customer_pipeline.errors import ConfigError
from tests.support.shop import SOURCE, Shop
from tests.support.stages import extract_and_load


def test_another_source_is_kept_out_and_nothing_of_it_lands(tmp_path: Path) -> None:
    shop = Shop(tmp_path)
    shop.deliver_day("2026-03-01")
    extract_and_load(shop.pipeline, ["2026-03-01"])
    before = shop.pipeline.landing.read("orders", "2026-03-01")
    shop.source_path.write_text(SOURCE.replace("name: shop", "name: other_shop"))
    shop.deliver_day("2026-03-01", orders=9)
    with pytest.raises(
        ConfigError, match="belongs to the source 'shop'.*CUSTOMER_PIPELINE_DATA_DIR"
    ):
        extract_and_load(shop.pipeline, ["2026-03-01"])
    assert shop.pipeline.landing.read("orders", "2026-03-01") == before
