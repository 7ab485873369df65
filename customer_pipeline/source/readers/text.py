"""A delivered text's encoding and lines: byte order marks, invalid bytes, the end of the file.

What belongs here: what CSV and JSONL share. What does not: how a line becomes a record.
"""

from __future__ import annotations

import codecs
import io
from collections.abc import Iterator
from dataclasses import dataclass

from customer_pipeline.errors import DeliveryError
from customer_pipeline.source.feed import Feed

# UTF-32 comes first: its little-endian mark begins with that of UTF-16.
_BYTE_ORDER_MARKS = (
    (codecs.BOM_UTF8, "utf-8"),
    (codecs.BOM_UTF32_LE, "utf-32"),
    (codecs.BOM_UTF32_BE, "utf-32"),
    (codecs.BOM_UTF16_LE, "utf-16"),
    (codecs.BOM_UTF16_BE, "utf-16"),
)


@dataclass(frozen=True)
class Text:
    """A text as bytes in which every line feed is the byte 0A, so that it can be cut into lines
    before it is decoded. It begins at byte `start`, after a byte order mark."""

    content: bytes
    encoding: str
    start: int

    @property
    def is_empty(self) -> bool:
        return self.start == len(self.content)


def text_of(content: bytes, encoding: str, where: str) -> Text:
    """`content`, said to be in `encoding`, as a `Text`: in UTF-8 where the whole can be decoded,
    else in its own encoding, so that only the lines with invalid bytes are lost.

    Raises:
        DeliveryError: for a byte order mark of another encoding, and for invalid bytes in an
            encoding that cannot be cut into lines before it is decoded (UTF-16, UTF-32).
    """
    declared = codecs.lookup(encoding).name
    _refuse_other_mark(content, declared, where)
    if declared in ("utf-8", "utf-8-sig"):
        start = len(codecs.BOM_UTF8) if content.startswith(codecs.BOM_UTF8) else 0
        return Text(content, "utf-8", start)
    try:
        decoded = content.decode(declared).removeprefix("\ufeff")
        return Text(decoded.encode("utf-8"), "utf-8", 0)
    except UnicodeError as error:
        if "\n".encode(declared) == b"\n":
            return Text(content, declared, 0)
        raise DeliveryError(
            f"the file is not valid {declared}: {error}",
            where=where,
            todo="have the file delivered again, or correct the feed's 'encoding'",
        ) from error


def require_final_newline(text: Text, feed: Feed, where: str) -> None:
    """A text without a final newline was cut off, be it in its header, unless the feed says
    otherwise.

    Raises:
        DeliveryError: when the last line does not end, and the feed requires that it does.
    """
    if text.is_empty or feed.final_newline == "optional" or text.content.endswith(b"\n"):
        return
    line = text.content.count(b"\n") + 1
    raise DeliveryError(
        f"the file is cut off on line {line}: that line does not end in a newline",
        where=where,
        todo="have the file delivered again; if the source really writes no final newline, set "
        "'final_newline: optional' for the feed",
    )


def readable(raw: bytes, encoding: str) -> str:
    """`raw` for people and for quarantine: nothing lost, invalid bytes and NULs as `\\xNN`, no
    line end."""
    line = raw.removesuffix(b"\n").removesuffix(b"\r")
    return line.decode(encoding, "backslashreplace").replace("\0", "\\x00")


class Lines:
    """Iterates over a text's lines, decoded, each with its line end.

    It keeps what the record under way was read from: whoever reads a record asks `take()` for its
    bytes and for what is wrong with them.
    """

    def __init__(self, text: Text, start: int) -> None:
        self.offset = start
        self._encoding = text.encoding
        self._stream = io.BytesIO(text.content)
        self._stream.seek(start)
        self._raw: list[bytes] = []
        self._invalid: str | None = None

    def __iter__(self) -> Iterator[str]:
        for raw in self._stream:
            self._raw.append(raw)
            try:
                line = raw.decode(self._encoding)
            except UnicodeDecodeError as error:
                position = self.offset + error.start
                self._invalid = self._invalid or (
                    f"byte 0x{raw[error.start]:02x} at byte offset {position} is not valid "
                    f"{self._encoding}"
                )
                # Only so that the record's end is found: such a record is always rejected.
                line = raw.decode(self._encoding, "replace")
            self.offset += len(raw)
            yield line

    def take(self) -> tuple[bytes, str | None]:
        """The bytes read since the last call, and why they are no valid text (None if they are)."""
        raw = self._raw[0] if len(self._raw) == 1 else b"".join(self._raw)
        invalid = self._invalid
        self._raw.clear()
        self._invalid = None
        return raw, invalid


def _refuse_other_mark(content: bytes, declared: str, where: str) -> None:
    found = next((name for mark, name in _BYTE_ORDER_MARKS if content.startswith(mark)), None)
    if found and not declared.startswith(found):
        raise DeliveryError(
            f"the file has the byte order mark of {found}, but the feed declares {declared}",
            where=where,
            todo=f"if the source now writes {found}, set 'encoding: {found}' for the feed",
        )
