"""The landing area: one folder per feed and partition, replaced whole.

A partition's folder holds a manifest and the files that it names. Data files are named by their
content and the manifest is renamed into place last, so whoever reads the manifest sees one whole
delivery, the old one or the new one, whatever was killed in between.

What belongs here: paths, the manifest, atomic replacement. What does not: reading sources and
mapping rows (`extract.py`), and the warehouse (`load.py`).
"""

from __future__ import annotations

import json
import os
from collections.abc import Callable, Iterable, Iterator
from contextlib import contextmanager
from dataclasses import MISSING, asdict, dataclass, field, fields
from hashlib import file_digest
from pathlib import Path
from typing import Any, Literal
from uuid import uuid4

from filelock import FileLock

from customer_pipeline.disk import sync
from customer_pipeline.errors import ConfigError
from customer_pipeline.partition_column import PartitionColumn
from customer_pipeline.source.drift import Drift

# What an extract found: rows; nothing, which is right by rule; or what cannot be used.
State = Literal["landed", "absent", "rejected"]
MANIFEST = "manifest.json"
_OWNER = "SOURCE"


@dataclass(frozen=True)
class Manifest:
    """What the last extract of a feed's partition found.

    source_rows = landed_rows + quarantined_rows. `other_rows` were in the delivery too, but belong
    to another feed (the feed's `where`). `declaration` is the version of the feed's rules.
    `size` is the delivery's, in bytes, and `modified_ns` when its file was last changed (nanoseconds
    since the epoch), where that tells later whether it was changed since. `version` is that of the
    file, where several may be there, and `drift` says which columns are not as declared, where any
    were seen. `complete_fingerprint` is of the newest content that was complete, which may be an
    earlier one.
    """

    feed: str
    partition_key: str
    state: State
    declaration: str
    fingerprint: str
    reason: str = ""
    source_rows: int = 0
    landed_rows: int = 0
    quarantined_rows: int = 0
    other_rows: int = 0
    size: int = 0
    data_file: str | None = None
    quarantine_file: str | None = None
    columns: dict[str, str] = field(default_factory=dict)
    warnings: tuple[str, ...] = ()
    modified_ns: int | None = None
    version: str | None = None
    drift: tuple[Drift, ...] = ()
    complete_fingerprint: str | None = None
    columns_seen: bool = True

    @classmethod
    def of(cls, content: dict[str, Any]) -> Manifest | None:
        """The manifest that was written as `content`; None when other code wrote another kind.

        What older code did not write yet has its default.
        """
        known = {one.name for one in fields(cls)}
        needed = {
            one.name
            for one in fields(cls)
            if one.default is MISSING and one.default_factory is MISSING
        }
        if not needed <= content.keys() <= known:
            return None
        drift = tuple(Drift(**one) for one in content.get("drift", ()))
        if content["state"] == "landed":
            content = {"complete_fingerprint": content["fingerprint"]} | content
        return cls(**content | {"warnings": tuple(content.get("warnings", ())), "drift": drift})


def owner_of(root: Path) -> str:
    """The source whose landing area `root` is; empty when it is nobody's yet, or whoever wrote it
    down was killed just then."""
    marker = root / _OWNER
    return marker.read_text() if marker.exists() else ""


@dataclass(frozen=True)
class Landing:
    """The landing area below `root`, for partitions kept in folders `<column>=<key>`.

    It belongs to one source: `source` is that one's name.
    """

    root: Path
    column: PartitionColumn
    source: str

    def claim(self) -> None:
        """See that nothing of another source is kept here, and keep others out from now on.

        Raises:
            ConfigError: the folder belongs to another source.
        """
        self.root.mkdir(parents=True, exist_ok=True)
        with FileLock(self.root / ".lock"):
            owner = owner_of(self.root)
            if not owner:
                (self.root / _OWNER).write_text(self.source)
                owner = self.source
        if owner != self.source:
            raise ConfigError(
                f"this data folder belongs to the source {owner!r}; data of {self.source!r} would"
                " be mixed with its data in the published tables",
                where=str(self.root.parent),
                todo="set CUSTOMER_PIPELINE_DATA_DIR to a folder of its own for each source",
            )

    def folder(self, feed: str, key: str) -> Path:
        """Where a partition of a feed is kept; the folder need not exist."""
        return self.root / feed / f"{self.column.name}={key}"

    def read(self, feed: str, key: str) -> Manifest | None:
        """The manifest of the last extract, or None when there was none that this code can read."""
        try:
            text = (self.folder(feed, key) / MANIFEST).read_text()
        except FileNotFoundError:
            return None
        return Manifest.of(json.loads(text))

    def refused(self, feeds: Iterable[str], keys: Iterable[str]) -> dict[tuple[str, str], str]:
        """The fingerprints of the deliveries that the last extract refused, by partition key and feed;
        a word where there was none."""
        return {
            (key, feed): manifest.fingerprint
            for feed in feeds
            for key in keys
            if (manifest := self.read(feed, key)) and manifest.state == "rejected"
        }

    def data_path(self, manifest: Manifest) -> Path | None:
        return self._path(manifest, manifest.data_file)

    def quarantine_path(self, manifest: Manifest) -> Path | None:
        return self._path(manifest, manifest.quarantine_file)

    @contextmanager
    def turn(self, feed: str, key: str) -> Iterator[None]:
        """One extract of a partition at a time, so that the newest read is what stays landed."""
        folder = self.folder(feed, key)
        folder.mkdir(parents=True, exist_ok=True)
        with FileLock(folder / ".lock"):
            yield

    def store(self, feed: str, key: str, name: str, write: Callable[[Path], None]) -> str:
        """Let `write` make a file in the partition's folder; returns its content-derived name."""
        folder = self.folder(feed, key)
        beside = folder / f".{uuid4().hex}.tmp"
        write(beside)
        final = f"{name}-{_digest(beside)}.parquet"
        sync(beside)
        os.replace(beside, folder / final)
        return final

    def commit(self, manifest: Manifest) -> Manifest:
        """Make `manifest` the partition's truth, then remove the files that it does not name."""
        folder = self.folder(manifest.feed, manifest.partition_key)
        beside = folder / f".{uuid4().hex}.tmp"
        beside.write_text(json.dumps(asdict(manifest), indent=1, sort_keys=True))
        sync(beside)
        os.replace(beside, folder / MANIFEST)
        sync(folder)
        named = {MANIFEST, ".lock", manifest.data_file, manifest.quarantine_file}
        for file in folder.iterdir():
            if file.name not in named:
                file.unlink()
        return manifest

    def _path(self, manifest: Manifest, name: str | None) -> Path | None:
        return None if name is None else self.folder(manifest.feed, manifest.partition_key) / name


def _digest(path: Path) -> str:
    with path.open("rb") as file:
        return file_digest(file, "sha256").hexdigest()[:16]
