"""CSV files: the file as a whole, and which of two parsers reads its records.

The dialect is RFC 4180 with a free delimiter: lines end in LF or CRLF (mixed or not), a field that
begins with a double quote ends with one, and a double quote inside it is doubled. A quote later in
a field is a character like any other. Nothing is trimmed. The empty field, quoted or not, is null,
and nothing else is.

What belongs here: header, end, columns. What does not: records (`csv_strict.py` defines how one is
read; `csv_fast.py` reads the same, faster).
"""

from __future__ import annotations

from pathlib import Path

from customer_pipeline.source.delivery import Delivery
from customer_pipeline.source.feed import Feed
from customer_pipeline.source.readers.columns import match_columns, with_lines
from customer_pipeline.source.readers.csv_fast import parse_fast
from customer_pipeline.source.readers.csv_strict import parse_strict, read_header
from customer_pipeline.source.readers.delivered_file import read_file
from customer_pipeline.source.readers.text import require_final_newline, text_of


def read_csv(path: Path, feed: Feed) -> Delivery:
    """Reads the CSV file `path` as `feed` declares it. All columns are strings.

    Rejected, each with the line on which it begins, are records with too few or too many fields,
    blank lines, bytes that the encoding does not have, NULs, text after a closing quote, carriage
    returns outside quotes that end no line, and the header in the middle of the data.

    Raises:
        MissingDeliveryError: when there is no such file.
        DeliveryError: when the file as a whole is not what it should be: no header or a wrong one,
            cut off, a quote that is never closed, not compressed or encoded as declared.
        TransientError: when the system fails to read it.
    """
    where = str(path)
    file = read_file(path, feed.compression)
    text = text_of(file.content, feed.encoding, where)
    header = read_header(text, feed.delimiter, where)
    # First: what a header lacks that is cut off is not the source's change.
    require_final_newline(text, feed, where)
    match = match_columns(header.names, feed, where)
    parsed = parse_fast(text, header, feed.delimiter)
    if parsed is None:
        parsed = parse_strict(text, header, feed.delimiter, where)
    return Delivery(
        rows=with_lines(match.select(parsed.rows), parsed.lines),
        rejected=parsed.rejected,
        fingerprint=file.fingerprint,
        size=file.size,
        warnings=match.warnings,
        drift=match.drift,
    )
