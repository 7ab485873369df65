"""When a delivered file counts as complete (case I10)."""

from __future__ import annotations

import hashlib
import json
import os
import time
from datetime import date
from pathlib import Path
from typing import Any
from zoneinfo import ZoneInfo

import pytest

from customer_pipeline.errors import (
    DeliveryError,
    MissingDeliveryError,
    NotReadyError,
    TransientError,
)
from customer_pipeline.source import reading
from customer_pipeline.source.calendars import DailyPartitions
from customer_pipeline.source.delivery import Delivery
from customer_pipeline.source.drift import ColumnsError
from customer_pipeline.source.feed import Feed
from customer_pipeline.source.reading import read_delivery

CSV = b"id\n1\n2\n"
WINDOW = DailyPartitions(date(2026, 1, 1), None, ZoneInfo("UTC")).window("2026-03-01")


class Folder:
    """A feed's folder, with one file for the day."""

    def __init__(self, root: Path) -> None:
        self.root = root
        self.file = root / "2026-03-01.csv"
        self.file.write_bytes(CSV)
        self.change(self.file, ago=60)

    def change(self, path: Path, *, ago: float) -> None:
        """Let `path` have been changed so many seconds ago."""
        moment = time.time() - ago
        os.utime(path, (moment, moment))

    def beside(self, name: str, content: object = "", *, ago: float = 30) -> None:
        path = self.root / name
        path.parent.mkdir(exist_ok=True)
        path.write_text(content if isinstance(content, str) else json.dumps(content))
        self.change(path, ago=ago)

    def read(self, ready_when: dict[str, Any] | None, **fields: Any) -> Delivery:
        rule = {
            name: str(self.root / value) if name in ("marker", "manifest") else value
            for name, value in (ready_when or {}).items()
        }
        declared = {"reader": "csv", "path": str(self.root / "{date}.csv"), "columns": {"id": {}}}
        declared |= {"ready_when": rule} if ready_when else {}
        return read_delivery(Feed.model_validate(declared | fields), WINDOW)


@pytest.fixture
def folder(tmp_path: Path) -> Folder:
    return Folder(tmp_path)


def test_without_a_rule_a_file_counts_as_soon_as_it_is_there(folder: Folder) -> None:
    folder.change(folder.file, ago=0)
    assert folder.read(None).row_count == 2


@pytest.mark.parametrize(("ago", "is_taken"), [(90, True), (59, False), (0, False), (-500, False)])
def test_a_quiet_file_counts_when_it_has_been_quiet_for_long_enough(
    folder: Folder, ago: float, is_taken: bool
) -> None:
    folder.change(folder.file, ago=ago)
    if is_taken:
        assert folder.read({"quiet_for": 60}).row_count == 2
    else:
        with pytest.raises(NotReadyError, match=r"accepted once it has not changed for 60 seconds"):
            folder.read({"quiet_for": 60})


MARKED = {
    "a marker": ({"marker": "{date}/_SUCCESS"}, "2026-03-01/_SUCCESS"),
    "a name at the end": ({"suffix": ".done"}, "2026-03-01.csv.done"),
}


@pytest.mark.parametrize(("rule", "name"), MARKED.values(), ids=MARKED.keys())
def test_a_marked_file_counts_when_its_marker_is_there_and_no_older_than_the_file(
    folder: Folder, rule: dict[str, Any], name: str
) -> None:
    with pytest.raises(NotReadyError, match="not complete yet: there is no "):
        folder.read(rule)
    folder.beside(name)
    assert folder.read(rule).row_count == 2
    # A correction is being written: the marker is the earlier file's.
    folder.change(folder.file, ago=10)
    with pytest.raises(NotReadyError, match=r"it was changed after .*written again"):
        folder.read(rule)
    folder.beside(name, ago=10)
    folder.change(folder.file, ago=10)
    folder.change(folder.root / name, ago=9)
    assert folder.read(rule).row_count == 2


def test_a_marker_without_a_file_is_a_missing_delivery(folder: Folder) -> None:
    folder.beside("2026-03-01.csv.done")
    folder.file.unlink()
    with pytest.raises(MissingDeliveryError):
        folder.read({"suffix": ".done"})


RULE = {"manifest": "{date}.json"}
SHA = hashlib.sha256(CSV).hexdigest()


@pytest.mark.parametrize(
    "stated",
    [
        {"rows": 2},
        {"size": len(CSV)},
        {"sha256": SHA},
        {"rows": 2, "size": len(CSV), "sha256": SHA.upper(), "written_by": "the shop"},
    ],
    ids=lambda stated: " ".join(stated),
)
def test_a_file_with_a_manifest_counts_when_it_is_what_that_states(
    folder: Folder, stated: dict[str, Any]
) -> None:
    with pytest.raises(NotReadyError, match="there is no 2026-03-01.json"):
        folder.read(RULE)
    folder.beside("2026-03-01.json", stated)
    assert folder.read(RULE).row_count == 2


@pytest.mark.parametrize(
    ("stated", "words"),
    [
        ('{"rows": 2, "si', "is not complete JSON"),
        ({"size": len(CSV) + 1}, f"states {len(CSV) + 1} bytes, the file has {len(CSV)}"),
        ({"sha256": "0" * 64}, f"states sha256 {'0' * 64}, the file has {SHA}"),
        ({"rows": 2, "sha256": "0" * 64}, "states sha256"),
        ({"rows": 3}, "not complete yet: its manifest states 3 rows, the file has 2"),
    ],
    ids=str,
)
def test_a_file_that_is_not_what_its_manifest_states_is_not_complete_yet(
    folder: Folder, stated: object, words: str
) -> None:
    folder.beside("2026-03-01.json", stated)
    with pytest.raises(NotReadyError) as raised:
        folder.read(RULE)
    assert words in raised.value.what


@pytest.mark.parametrize(
    ("stated", "words"),
    [
        ({"rows": 1}, "the manifest states 1 rows, the delivery has 2"),
        ({"rows": 3, "size": len(CSV)}, "the manifest states 3 rows, the delivery has 2"),
        ({"count": 2}, "the manifest states nothing about the delivery"),
        ([2], "the manifest states nothing about the delivery"),
        ({"rows": "2"}, "the manifest's 'rows' is '2'"),
        ({"size": True}, "the manifest's 'size' is True"),
        ({"sha256": "abc"}, "the manifest's 'sha256' is 'abc'"),
    ],
    ids=str,
)
def test_a_complete_file_with_a_wrong_manifest_is_refused_and_not_waited_for(
    folder: Folder, stated: object, words: str
) -> None:
    folder.beside("2026-03-01.json", stated)
    with pytest.raises(DeliveryError) as raised:
        folder.read(RULE)
    assert raised.value.what == words


@pytest.mark.parametrize(
    ("content", "what"),
    [
        (b"", "the file is empty: it has not even a header line"),
        (b"id", "the file is cut off on line 1"),
        (b"id\n1", "the file is cut off on line 2"),
        (b"id\n1\n", "the file has 1"),
    ],
    ids=str,
)
def test_where_only_the_rows_are_stated_a_part_of_the_file_is_waited_for(
    folder: Folder, content: bytes, what: str
) -> None:
    folder.file.write_bytes(content)
    folder.beside("2026-03-01.json", {"rows": 2})
    with pytest.raises(NotReadyError, match=f"its manifest states 2 rows, (and )?{what}"):
        folder.read(RULE)
    # Where the bytes are all there, it is what it is.
    folder.beside("2026-03-01.json", {"rows": 2, "size": len(content)})
    with pytest.raises(DeliveryError):
        folder.read(RULE)


def test_where_only_the_rows_are_stated_other_columns_are_not_waited_for(folder: Folder) -> None:
    folder.file.write_bytes(b"other\n1\n")
    folder.beside("2026-03-01.json", {"rows": 2})
    with pytest.raises(ColumnsError):
        folder.read(RULE)


def test_each_version_has_a_marker_of_its_own_and_an_older_one_is_not_taken_instead(
    folder: Folder,
) -> None:
    path = str(folder.root / "{date}-v{version}.csv")
    for version in (1, 2):
        (folder.root / f"2026-03-01-v{version}.csv").write_bytes(CSV)
    folder.beside("2026-03-01-v1.ok", ago=-60)
    rule = {"marker": "{date}-v{version}.ok"}
    with pytest.raises(NotReadyError, match=r"there is no 2026-03-01-v2\.ok"):
        folder.read(rule, path=path, versions="highest")
    folder.beside("2026-03-01-v2.ok", ago=-60)
    assert folder.read(rule, path=path, versions="highest").version == "2"


@pytest.mark.parametrize("content", [b"id\n1\n2\n3\n", b"id\n1\n2\n3"], ids=["whole", "cut off"])
def test_a_file_that_is_changed_while_it_is_read_is_not_complete_yet(
    folder: Folder, monkeypatch: pytest.MonkeyPatch, content: bytes
) -> None:
    real = reading._FILE_READERS["csv"]

    def slow(path: Path, feed: Feed) -> Delivery:
        path.write_bytes(content)
        return real(path, feed)

    monkeypatch.setitem(reading._FILE_READERS, "csv", slow)
    with pytest.raises(NotReadyError, match="it changed while it was being read"):
        folder.read(None)


def test_what_is_not_complete_yet_may_be_so_later() -> None:
    assert issubclass(NotReadyError, TransientError)
    assert not issubclass(NotReadyError, DeliveryError)
