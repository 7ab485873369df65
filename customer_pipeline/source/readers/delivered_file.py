"""A delivered file as bytes: read once, fingerprinted, unpacked.

What belongs here: what is true of every file whatever its format, and the errors of getting at it.
What does not: text encodings (`text.py`) and formats (`csv_file.py`, `jsonl_file.py`, ...).
"""

from __future__ import annotations

import hashlib
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Literal

import pyarrow as pa

from customer_pipeline.errors import DeliveryError, MissingDeliveryError, TransientError

Compression = Literal["none", "gzip", "zstd"]

_MAGIC = {"gzip": b"\x1f\x8b", "zstd": b"\x28\xb5\x2f\xfd"}
# A zstd stream may also begin with a skippable frame (0x184D2A50 to 0x184D2A5F, little-endian).
_ZSTD_SKIPPABLE = b"\x2a\x4d\x18"


@dataclass(frozen=True)
class DeliveredFile:
    """A file's unpacked `content`; `fingerprint` (SHA-256) and `size` are of its bytes as they lie
    on disk, taken from the same single read, so a file replaced meanwhile cannot mix."""

    content: bytes
    fingerprint: str
    size: int


@dataclass(frozen=True)
class FileState:
    """What a look at a file tells without reading it: its bytes, and when it was last changed
    (nanoseconds since the epoch)."""

    size: int
    modified_ns: int


def state_of(path: Path) -> FileState:
    """How the file `path` is now. Raises the same errors as `read_file`, but those of unpacking."""
    with getting_at(path):
        found = path.stat()
        return FileState(found.st_size, found.st_mtime_ns)


def read_file(path: Path, compression: Compression) -> DeliveredFile:
    """Reads `path` and unpacks it.

    Raises:
        MissingDeliveryError: when there is no such file.
        DeliveryError: when it may not be read, is not packed as declared, is packed although
            declared `none`, is cut off or damaged, or goes on after the packed data.
        TransientError: when the system fails to read it.
    """
    packed = read_bytes(path)
    content = _unpack(packed, compression, str(path))
    return DeliveredFile(content, hashlib.sha256(packed).hexdigest(), len(packed))


def fingerprint_of(path: Path) -> str:
    """The fingerprint that `read_file` would give, without keeping or unpacking the content.

    Raises the same errors, but those of unpacking.
    """
    with getting_at(path), path.open("rb") as file:
        return hashlib.file_digest(file, "sha256").hexdigest()


def read_bytes(path: Path) -> bytes:
    """The bytes of `path`. Raises the same errors as `read_file`, but those of unpacking."""
    with getting_at(path):
        return path.read_bytes()


@contextmanager
def getting_at(path: Path) -> Iterator[None]:
    """What goes wrong in here is told as an error of the delivery, or of the system."""
    try:
        yield
    except (FileNotFoundError, NotADirectoryError) as error:
        raise MissingDeliveryError(
            "there is no such file",
            where=str(path),
            todo="have it delivered, or correct the feed's path",
        ) from error
    except (PermissionError, IsADirectoryError) as error:
        raise DeliveryError(
            f"the file cannot be opened: {error.strerror}",
            where=str(path),
            todo="make it a file that the pipeline's user may read",
        ) from error
    except OSError as error:
        raise TransientError(
            f"the file could not be read: {error.strerror or error}",
            where=str(path),
            todo="run the partition again; if it keeps failing, check the disk or mount",
        ) from error


def _unpack(packed: bytes, compression: Compression, where: str) -> bytes:
    found = _packed_as(packed)
    if found != compression:
        declared = "uncompressed" if compression == "none" else compression
        actual = "uncompressed" if found == "none" else found
        raise DeliveryError(
            f"the feed declares {declared} data, but the file is {actual if packed else 'empty'}",
            where=where,
            todo="correct the feed's 'compression', or have the file delivered again",
        )
    if compression == "none":
        return packed
    try:
        # Reads all members or frames; raises on a cut, a wrong checksum, and trailing bytes.
        with pa.CompressedInputStream(pa.BufferReader(packed), compression) as stream:
            return stream.read()
    except (OSError, pa.ArrowException) as error:
        raise DeliveryError(
            f"the {compression} data is cut off or damaged: {error}",
            where=where,
            todo="have the file delivered again",
        ) from error


def _packed_as(content: bytes) -> Compression:
    if content.startswith(_MAGIC["gzip"]):
        return "gzip"
    skippable = content[1:4] == _ZSTD_SKIPPABLE and content[0] & 0xF0 == 0x50
    return "zstd" if content.startswith(_MAGIC["zstd"]) or skippable else "none"
