"""JSON Lines files: one JSON object a line.

What belongs here: the file, its lines, and which keys are columns. What does not: how a JSON value
becomes a text (`json_text.py`).
"""

from __future__ import annotations

from pathlib import Path

from customer_pipeline.errors import DeliveryError
from customer_pipeline.source.delivery import Delivery, RejectedRow
from customer_pipeline.source.feed import Feed
from customer_pipeline.source.readers.changed_keys import refuse_changed_keys
from customer_pipeline.source.readers.columns import match_columns, with_lines
from customer_pipeline.source.readers.delivered_file import read_file
from customer_pipeline.source.readers.json_text import BadJsonError, parse_line
from customer_pipeline.source.readers.text import (
    Lines,
    readable,
    require_final_newline,
    text_of,
)
from customer_pipeline.source.readers.text_rows import TextRows


def read_jsonl(path: Path, feed: Feed) -> Delivery:
    """Reads the JSON Lines file `path` as `feed` declares it. All columns are strings.

    Texts stay as they are (an empty one too), numbers keep their digits, booleans are `true` and
    `false`, nested values are compact JSON, JSON's null is null. A key absent on some lines is null
    there; one absent on all is an absent column. A file of zero bytes has no rows where it is known
    to be complete: by the feed's `ready_when`, or by its compression, which has an end.

    Rejected are lines that are blank, hold no JSON object or more than one, hold a NUL, a key
    twice, or bytes that the encoding does not have.

    Raises:
        MissingDeliveryError: when there is no such file.
        DeliveryError: when the file as a whole is not what it should be: cut off, or perhaps only
            just opened, a column that is absent, new, or called otherwise on some lines, not
            compressed or encoded as declared.
        TransientError: when the system fails to read it.
    """
    where = str(path)
    file = read_file(path, feed.compression)
    text = text_of(file.content, feed.encoding, where)
    require_final_newline(text, feed, where)
    if text.is_empty and feed.compression == "none" and feed.ready_when is None:
        raise DeliveryError(
            "the file is empty, and so is one that is only just being written",
            where=where,
            todo="if there are no rows, say under the feed's 'ready_when' how to tell that a file is"
            " complete, such as {quiet_for: 60}",
        )
    names = tuple(name for names in feed.delivered_names.values() for name in names)
    declared = frozenset(names)
    rows = TextRows(names)
    rejected: list[RejectedRow] = []
    first_lines: dict[str, int] = {}
    beside_new: dict[str, set[str]] = {}
    lines = Lines(text, text.start)
    for number, line in enumerate(lines, start=1):
        raw, invalid = lines.take()
        try:
            if invalid:
                raise BadJsonError(invalid)
            record, values = parse_line(line, names)
        except BadJsonError as error:
            rejected.append(RejectedRow(number, str(error), readable(raw, text.encoding)))
            continue
        rows.add(values, number)
        if not record.keys() <= first_lines.keys():
            for key in record:
                first_lines.setdefault(key, number)
        for key in record.keys() - declared:
            beside_new.setdefault(key, set()).update(record)
    table, line_numbers = rows.finish()
    # Without a single object there is nothing to say about columns.
    match = match_columns(
        tuple(first_lines or feed.delivered_columns), feed, where, first_lines=first_lines
    )
    refuse_changed_keys(beside_new, first_lines, feed, where, drift=match.drift)
    return Delivery(
        rows=with_lines(match.select(table), line_numbers),
        rejected=tuple(rejected),
        fingerprint=file.fingerprint,
        size=file.size,
        warnings=match.warnings,
        drift=match.drift,
        columns_seen=bool(first_lines),
    )
