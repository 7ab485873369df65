"""A Python feed's function whose source cannot be reached on some days."""

from __future__ import annotations

from collections.abc import Sequence

import pyarrow as pa

from customer_pipeline.source.partitions import Window


def deliver(window: Window, unreachable: Sequence[str]) -> pa.Table:
    if window.key in unreachable:
        raise ConnectionError("the line is down")
    return pa.table({"id": [window.key]})
