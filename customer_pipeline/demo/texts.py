"""Columns of text made out of numbers and other texts.

What belongs here: how texts are put together, for whole columns at a time. What does not: which
texts an export has.
"""

# PyArrow makes its compute functions when it is imported, where no type checker sees them.
# pyright: reportAttributeAccessIssue=false

from __future__ import annotations

import pyarrow as pa
import pyarrow.compute as pc

from customer_pipeline.demo.chance import Flags, Ints


def joined(*parts: pa.Array | str, separator: str = "") -> pa.Array:
    """Row by row, the parts in one text. A part that is one text is the same in every row."""
    return pc.binary_join_element_wise(*parts, separator)


def digits(numbers: Ints, width: int) -> pa.Array:
    """Numbers as text of at least `width` digits, with leading zeros."""
    return pc.utf8_lpad(plain(numbers), width, "0")


def plain(numbers: Ints) -> pa.Array:
    return pc.cast(pa.array(numbers), pa.string())


def texts_at(texts: list[str] | pa.Array, positions: Ints) -> pa.Array:
    return pa.array(texts, pa.string()).take(pa.array(positions))


def either(which: Flags, texts: pa.Array | str | None, others: pa.Array | str) -> pa.Array:
    """Row by row, one text where the flag is true and the other where it is not."""
    chosen = pa.scalar(None, pa.string()) if texts is None else texts
    return pc.if_else(pa.array(which), chosen, others)


def replaced(texts: pa.Array, part: str, by: str) -> pa.Array:
    return pc.replace_substring(texts, part, by)


def clock_texts(days: Ints, seconds: Ints) -> pa.Array:
    """`YYYY-MM-DDTHH:MM:SS` for each day (since 1970) and second of that day."""
    instants = (days * 86_400 + seconds).astype("datetime64[s]")
    return pc.strftime(pa.array(instants), format="%Y-%m-%dT%H:%M:%S")
