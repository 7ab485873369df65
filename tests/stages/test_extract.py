"""What of a delivery is landed, what is quarantined, and what is refused (cases T2, T4, I1 to I12)."""

from __future__ import annotations

import threading
from concurrent.futures import ThreadPoolExecutor
from datetime import UTC, date, datetime, timedelta
from pathlib import Path
from typing import Any
from zoneinfo import ZoneInfo

import pyarrow.parquet as pq
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from customer_pipeline.errors import ConfigError, TransientError
from tests.support.one_feed import DAY, OneFeed

STAMPED = {"id": {}, "at": {"type": "timestamp"}}
HALF_AN_HOUR = timedelta(minutes=30)


@pytest.fixture
def things(tmp_path: Path) -> OneFeed:
    return OneFeed(tmp_path)


class TestWhichPartitionARowBelongsTo:
    @pytest.mark.parametrize(
        ("zone", "day", "hours"),
        [
            ("UTC", date(2026, 3, 2), 24),
            ("Asia/Tokyo", date(2026, 3, 2), 24),
            ("America/New_York", date(2026, 3, 8), 23),
            ("Europe/London", date(2026, 3, 29), 23),
            ("Europe/London", date(2026, 10, 25), 25),
        ],
    )
    def test_each_instant_lands_in_exactly_one_day_and_midnight_in_the_later_one(
        self, tmp_path: Path, zone: str, day: date, hours: int
    ) -> None:
        things = OneFeed(tmp_path, zone)
        first, last = (
            datetime.combine(day + timedelta(days=n), datetime.min.time(), ZoneInfo(zone))
            for n in (0, 1)
        )
        begin, end = first.astimezone(UTC), last.astimezone(UTC)
        assert end - begin == timedelta(hours=hours)
        halves = [begin + n * HALF_AN_HOUR for n in range(-4, 2 * hours + 5)]
        moment = timedelta(microseconds=1)
        stamps = sorted({*halves, begin - moment, end - moment, begin, end})
        content = "".join(f"{n},{stamp.isoformat()}\n" for n, stamp in enumerate(stamps))

        days = [(day + timedelta(days=n)).isoformat() for n in (-1, 0, 1)]
        rules: dict[str, Any] = {
            "columns": STAMPED,
            "window_column": "at",
            "quarantine_threshold": 1.0,
        }
        landed: list[tuple[str, datetime]] = []
        for key in days:
            manifest = things.land("id,at\n" + content, key, **rules)
            assert manifest.source_rows == len(stamps)
            assert all(
                "outside the partition" in reason for _, reason, _ in things.quarantined(key)
            )
            landed += [(key, row["at"]) for row in things.rows(key)]
        assert sorted(stamp for _, stamp in landed) == stamps
        assert landed == [
            (stamp.astimezone(ZoneInfo(zone)).date().isoformat(), stamp) for stamp in stamps
        ]

    def test_half_past_eleven_on_the_day_the_clocks_change_is_that_day(
        self, tmp_path: Path
    ) -> None:
        things = OneFeed(tmp_path, "America/New_York")
        content = "id,at\n1,2026-03-08T23:30:00\n"
        manifest = things.land(content, "2026-03-08", columns=STAMPED, window_column="at")
        assert manifest.state == "landed"
        assert things.rows("2026-03-08")[0]["at"] == datetime(2026, 3, 9, 3, 30, tzinfo=UTC)

    def test_running_the_day_before_again_leaves_a_midnight_row_where_it_is(
        self, things: OneFeed
    ) -> None:
        rules: dict[str, Any] = {"columns": STAMPED, "window_column": "at"}
        for day in ("2026-03-01", "2026-03-02"):
            things.land(f"id,at\n1,{day}T00:00:00\n", day, **rules)
        things.load(["2026-03-01", "2026-03-02"], **rules)
        things.load(["2026-03-01"], **rules)
        assert things.raw('_date::varchar, "at"::date::varchar') == [
            ("2026-03-01", "2026-03-01"),
            ("2026-03-02", "2026-03-02"),
        ]


class TestADeliveryWithoutRows:
    """Missing, zero bytes and a header alone are three things (case I11)."""

    @pytest.mark.parametrize(
        ("content", "missing", "state", "reason"),
        [
            (None, "fail", "rejected", "there is no such file"),
            (None, "empty", "absent", "empty by rule"),
            (None, {"weekdays": ["monday"]}, "absent", "empty by rule"),
            (None, {"weekdays": ["tuesday"]}, "rejected", "there is no such file"),
            (None, {"dates": [DAY]}, "absent", "empty by rule"),
            (None, {"dates": ["2026-03-03"]}, "rejected", "there is no such file"),
            ("", "fail", "rejected", "not even a header"),
            ("", "empty", "rejected", "not even a header"),
            ("id,name", "empty", "rejected", "cut off on line 1"),
            ("id,name\n", "fail", "landed", ""),
            ("id,name\n", "empty", "landed", ""),
            ("id,name\n1,Ada\n", "empty", "landed", ""),
        ],
    )
    def test_what_it_means_is_the_feeds_rule(
        self, things: OneFeed, content: str | None, missing: Any, state: str, reason: str
    ) -> None:
        manifest = things.land(content, missing=missing)
        assert manifest.state == state
        assert reason in manifest.reason
        assert manifest.landed_rows == len(things.rows()) == (content or "").count("Ada")

    def test_a_file_of_lines_that_was_only_just_opened_wipes_nothing(self, things: OneFeed) -> None:
        lines: dict[str, Any] = {
            "reader": "jsonl",
            "path": str(things.root / "{date}.csv"),
            "missing": "empty",
        }
        things.land_and_load('{"id": "1", "name": "Ada"}\n', **lines)
        assert "the file is empty" in things.land("", **lines).reason
        things.load(**lines)
        assert things.raw() == [(DAY, "1", "Ada")]
        # Where a marker says that it is complete, it says that there are no rows.
        things.deliver("")
        (things.root / f"{DAY}.csv.done").touch()
        marked: dict[str, Any] = lines | {"ready_when": {"suffix": ".done"}}
        (manifest,) = things.extract(**marked)
        things.load(**marked)
        assert (manifest.state, things.raw()) == ("landed", [])


class TestWhatIsRefusedAsAWhole:
    ROWS = "".join(f"{n},name {n}\n" for n in range(100))

    @pytest.mark.parametrize(
        ("content", "reason"),
        [
            ("id,name\n1,Ada\n2,Gra", "cut off on line 3"),
            ("id,name\n" + ROWS[: int(len(ROWS) * 0.6) - 3], "cut off on line 62"),
            ("id\n1\n", "'name'"),
            ("name\nAda\n", "'id'"),
            ("id,names\n1,Ada\n", "set 'from: [names, name]'"),
            ("id,name,loyalty\n1,Ada,9\n", "'loyalty'"),
            ("id,name,name\n1,Ada,Bob\n", "'name' twice"),
            ("id,name,Name\n1,Ada,Bob\n", "both 'name' and 'Name'"),
        ],
    )
    def test_a_delivery_that_is_not_as_declared_is_refused_and_says_why(
        self, things: OneFeed, content: str, reason: str
    ) -> None:
        manifest = things.land(content)
        assert manifest.state == "rejected"
        assert reason in manifest.reason
        assert DAY in manifest.reason
        assert "\n" not in manifest.reason

    @pytest.mark.parametrize(("bad", "state"), [(3, "landed"), (5, "landed"), (6, "rejected")])
    def test_up_to_the_threshold_bad_rows_are_quarantined_above_it_the_day_is_refused(
        self, things: OneFeed, bad: int, state: str
    ) -> None:
        rows = "".join(f"{n},x\n" for n in range(100 - bad)) + ",x\n" * bad
        manifest = things.land("id,name\n" + rows, quarantine_threshold=0.05)
        assert manifest.state == state
        assert (manifest.source_rows, manifest.quarantined_rows) == (100, bad)
        assert len(things.quarantined()) == bad
        assert len(things.rows()) == (100 - bad if state == "landed" else 0)
        if state == "rejected":
            assert "6 of 100 rows cannot be loaded (6.0%, 5.0% allowed)" in manifest.reason
            assert "line 96: id: is empty, but it is required" in manifest.reason

    def test_one_bad_day_does_not_keep_the_others_from_landing(self, things: OneFeed) -> None:
        days = [f"2026-03-{day:02}" for day in range(1, 8)]
        for day in days:
            things.deliver("id,name\n1,Ada\n", day)
        things.deliver("id,name\n1,A", days[3])
        states = [manifest.state for manifest in things.extract(days)]
        assert states == ["landed"] * 3 + ["rejected"] + ["landed"] * 3

    def test_a_refused_delivery_replaces_what_was_landed_before(self, things: OneFeed) -> None:
        things.land_and_load("id,name\n1,Ada\n")
        loaded = things.land_and_load("id,name\n1,Bo")
        assert things.rows() == []
        assert [casualty.partition_key for casualty in loaded.casualties] == [DAY]
        assert "cut off" in loaded.casualties[0].reason
        assert things.raw() == [(DAY, "1", "Ada")]


class TestDrift:
    @pytest.mark.parametrize(
        ("content", "fields", "rows", "warning"),
        [
            ("id,name,loyalty\n1,Ada,9\n", {"new_columns": "ignore"}, [("1", "Ada")], "'loyalty'"),
            ("id,name,loyalty\n1,Ada,9\n", {"ignored_columns": ["loyalty"]}, [("1", "Ada")], ""),
            (
                "id\n1\n",
                {"columns": {"id": {}, "name": {"optional": True}}},
                [("1", None)],
                "'name' is absent",
            ),
            ("name,id\nAda,1\n", {}, [("1", "Ada")], ""),
            ("\ufeffid,name\n1,Ada\n", {}, [("1", "Ada")], ""),
        ],
    )
    def test_allowed_drift_is_landed_by_name_and_told(
        self,
        things: OneFeed,
        content: str,
        fields: dict[str, Any],
        rows: list[tuple],
        warning: str,
    ) -> None:
        manifest = things.land(content, **fields)
        assert manifest.state == "landed"
        assert [(row["id"], row["name"]) for row in things.rows()] == rows
        assert len(manifest.warnings) == (1 if warning else 0)
        assert warning in "".join(manifest.warnings)

    @pytest.mark.parametrize("values", [["", ""], ["1", ""], ["9007199254740993", "-0"]])
    def test_a_column_has_the_same_type_on_every_day(
        self, things: OneFeed, values: list[str]
    ) -> None:
        columns = {"id": {}, "at": {"type": "timestamp"}, "n": {"type": "integer"}}
        content = "id,at,n\n" + "".join(f"00{n},,{value}\n" for n, value in enumerate(values))
        path = things.landing.data_path(things.land(content, columns=columns))
        assert path is not None
        schema = pq.read_schema(path)
        assert [str(schema.field(name).type) for name in ("id", "at", "n")] == [
            "string",
            "timestamp[us, tz=UTC]",
            "int64",
        ]
        assert [row["n"] for row in things.rows()] == [
            int(value) if value else None for value in values
        ]
        assert [row["id"] for row in things.rows()] == ["000", "001"]


class TestQuarantine:
    def test_a_row_is_kept_with_its_line_the_reason_and_its_raw_text(self, things: OneFeed) -> None:
        content = b'id,name\n1,Ada\n2\n\n,"x, y"\nJos\xe9,z\nlast,one\n'
        things.land(content, quarantine_threshold=1.0)
        assert [row["_line"] for row in things.rows()] == [2, 7]
        assert things.quarantined() == [
            (3, "1 field instead of 2", "2"),
            (4, "a blank line", ""),
            (5, "id: is empty, but it is required", '{"id": null, "name": "x, y"}'),
            (6, "byte 0xe9 at byte offset 28 is not valid utf-8", "Jos\\xe9,z"),
        ]

    def test_texts_that_look_like_nothing_are_texts(self, things: OneFeed) -> None:
        texts = ["NULL", "null", "None", "NA", "nan", "Null", "n/a", "-"]
        things.land("id,name\n" + "".join(f"{text},{text}\n" for text in texts) + "x,\n")
        assert [row["name"] for row in things.rows()] == [*texts, None]

    @settings(max_examples=60, deadline=None)
    @given(
        lines=st.lists(
            st.sampled_from(
                [b"1,2", b"1,", b",2", b"x,y", b"1,2,3", b"", b"\xff,1", b"id,n", b'"1","2"']
            ),
            max_size=30,
        ),
        ending=st.sampled_from([b"\n", b"\r\n"]),
    )
    def test_each_source_row_is_landed_or_quarantined_exactly_once(
        self, tmp_path_factory: pytest.TempPathFactory, lines: list[bytes], ending: bytes
    ) -> None:
        things = OneFeed(tmp_path_factory.mktemp("things"))
        columns = {"id": {"required": True}, "n": {"type": "integer"}}
        content = b"".join(line + ending for line in [b"id,n", *lines])
        manifest = things.land(content, columns=columns, quarantine_threshold=1.0)
        landed = [row["_line"] for row in things.rows()]
        quarantined = [line for line, _, _ in things.quarantined()]
        assert sorted(landed + quarantined) == list(range(2, len(lines) + 2))
        assert (manifest.landed_rows, manifest.quarantined_rows) == (len(landed), len(quarantined))
        assert manifest.source_rows == len(lines)
        assert {lines[line - 2] for line in landed} <= {b"1,2", b"1,", b'"1","2"'}


class TestASourceThatCannotBeReached:
    DAYS = ("2026-03-01", "2026-03-02", "2026-03-03")

    def python(self, *unreachable: str) -> dict[str, Any]:
        return {
            "reader": "python",
            "function": "tests.support.flaky_source:deliver",
            "options": {"unreachable": list(unreachable)},
            "columns": {"id": {}},
        }

    def test_the_other_days_are_landed_and_then_the_error_is_raised(self, things: OneFeed) -> None:
        things.extract([DAY], **self.python())
        with pytest.raises(TransientError, match="2026-03-02.*the line is down"):
            things.extract(self.DAYS, give_up=False, **self.python(DAY))
        assert [things.rows(day)[0]["id"] for day in self.DAYS] == list(self.DAYS)

    def test_at_the_last_attempt_the_day_is_refused(self, things: OneFeed) -> None:
        things.extract([DAY], **self.python())
        manifests = things.extract(self.DAYS, give_up=True, **self.python(DAY))
        assert [manifest.state for manifest in manifests] == ["landed", "rejected", "landed"]
        assert "the line is down" in manifests[1].reason
        assert things.rows(DAY) == []

    def test_a_feed_that_cannot_work_is_a_mistake_in_the_configuration(
        self, things: OneFeed
    ) -> None:
        with pytest.raises(ConfigError, match="no_such_function"):
            things.extract(
                self.DAYS,
                reader="python",
                function="tests.support.flaky_source:no_such_function",
                columns={"id": {}},
            )


class TestTheLandingArea:
    def test_nothing_is_left_but_the_manifest_and_the_files_that_it_names(
        self, things: OneFeed
    ) -> None:
        for content in ("id,name\n1,a\n", "id,name\n1,b\n,c\n", "id,name\n2,b\n"):
            manifest = things.land(content, quarantine_threshold=1.0)
        folder = things.landing.folder("things", DAY)
        (folder / "rows-of-a-killed-run.tmp").touch()
        manifest = things.land("id,name\n3,b\n,c\n", quarantine_threshold=1.0)
        names = {path.name for path in folder.iterdir()}
        assert names == {"manifest.json", ".lock", manifest.data_file, manifest.quarantine_file}

    def test_landing_the_same_delivery_again_changes_no_byte(self, things: OneFeed) -> None:
        folder = things.landing.folder("things", DAY)
        found = []
        for _ in range(2):
            things.land("id,name\n1,Ada\n,x\n", quarantine_threshold=1.0)
            found.append({path.name: path.read_bytes() for path in folder.iterdir()})
        assert found[0] == found[1]

    def test_a_claim_that_was_killed_half_way_keeps_nobody_out(self, things: OneFeed) -> None:
        things.landing.root.mkdir()
        (things.landing.root / "SOURCE").touch()
        assert things.land("id,name\n1,Ada\n").state == "landed"

    def test_two_extracts_of_a_day_at_once_leave_the_newest_delivery_whole(
        self, things: OneFeed
    ) -> None:
        def contents_of(version: int) -> str:
            return "id,name\n" + f"{version},x\n" * (version + 1)

        things.land(contents_of(0))
        stop = threading.Event()
        torn: list[str] = []

        def look() -> None:
            while not stop.is_set():
                manifest = things.landing.read("things", DAY)
                path = things.landing.data_path(manifest) if manifest else None
                try:
                    rows = pq.ParquetFile(path).read().num_rows if path else -1
                except FileNotFoundError:
                    continue  # replaced since the manifest was read
                if manifest is None or rows != manifest.landed_rows:
                    torn.append(f"{rows} rows for {manifest}")

        looker = threading.Thread(target=look)
        looker.start()
        try:
            for version in range(1, 9):
                things.deliver(contents_of(version))
                with ThreadPoolExecutor() as pool:
                    list(pool.map(lambda _: things.extract(), range(2)))
                assert [row["id"] for row in things.rows()] == [str(version)] * (version + 1)
        finally:
            stop.set()
            looker.join()
        assert torn == []
