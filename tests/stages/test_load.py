"""What a load replaces, what it leaves alone, and when it refuses (cases W1, W6, W7, W8, W13)."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import duckdb
import pyarrow.parquet as pq
import pytest

from customer_pipeline.errors import StageError
from tests.support.one_feed import DAY, OneFeed
from tests.support.warehouse import contents, query

OTHER_DAY = "2026-03-03"


@pytest.fixture
def things(tmp_path: Path) -> OneFeed:
    # Quotes and wild cards in a path are characters like any others.
    folder = tmp_path / "the shop's [data]"
    folder.mkdir()
    return OneFeed(folder)


def execute(things: OneFeed, sql: str) -> None:
    with duckdb.connect(str(things.warehouse.path)) as connection:
        connection.execute(sql)


def test_loading_a_day_again_and_again_leaves_the_same_rows(things: OneFeed) -> None:
    things.land_and_load("id,name\n1,Ada\n1,Ada\n", OTHER_DAY)
    found = []
    for _ in range(3):
        things.land_and_load("id,name\n1,Ada\n2,Bob\n")
        found.append(contents(things.warehouse.path))
    assert found[0] == found[1] == found[2]
    assert things.raw() == [
        (DAY, "1", "Ada"),
        (DAY, "2", "Bob"),
        (OTHER_DAY, "1", "Ada"),
        (OTHER_DAY, "1", "Ada"),
    ]


def test_a_new_column_is_added_and_the_days_loaded_before_have_null_in_it(things: OneFeed) -> None:
    columns: dict[str, Any] = {"id": {"required": True}, "name": {}}
    for day in (DAY, OTHER_DAY):
        things.land_and_load("id,name\n1,Ada\n", day, columns=columns)
    for _ in range(2):
        things.land_and_load(
            "id,age,name\n1,36,Ada\n", columns=columns | {"age": {"type": "integer"}}
        )
    assert things.raw("_date::varchar, id, name, age") == [
        (DAY, "1", "Ada", 36),
        (OTHER_DAY, "1", "Ada", None),
    ]


def test_values_land_by_name_whatever_the_order_in_file_declaration_and_table(
    things: OneFeed,
) -> None:
    columns: dict[str, Any] = {"first_name": {}, "last_name": {}}
    things.land_and_load("first_name,last_name\nAda,Lovelace\n", columns=columns)
    things.land_and_load("last_name,first_name\nHopper,Grace\n", OTHER_DAY, columns=columns)
    swapped = dict(reversed(columns.items()))
    things.land_and_load("last_name,first_name\nLovelace,Ada\n", columns=swapped)
    assert things.raw("first_name, last_name") == [("Ada", "Lovelace"), ("Grace", "Hopper")]


def test_a_column_that_the_feed_no_longer_declares_stays_with_the_old_rows(
    things: OneFeed,
) -> None:
    things.land_and_load("id,name\n1,Ada\n")
    things.land_and_load("id\n2\n", OTHER_DAY, columns={"id": {}})
    assert things.raw() == [(DAY, "1", "Ada"), (OTHER_DAY, "2", None)]


def test_only_the_rows_of_the_day_go_even_where_the_same_ids_lie_on_other_days(
    things: OneFeed,
) -> None:
    for day in (DAY, OTHER_DAY):
        things.land_and_load("id,name\n1,Ada\n2,Bob\n", day)
    things.land_and_load("id,name\n1,Ada\n", DAY)
    things.land_and_load("id,name\n2,Bob\n", OTHER_DAY)
    assert things.raw() == [(DAY, "1", "Ada"), (OTHER_DAY, "2", "Bob")]


def test_a_day_corrected_to_empty_is_empty(things: OneFeed) -> None:
    things.land_and_load("id,name\n1,Ada\n")
    things.land_and_load("id,name\n")
    assert things.raw() == []


@pytest.mark.parametrize(
    ("retyped", "message"),
    [
        ("alter table raw.things alter column _date type varchar", "_date is VARCHAR"),
        ("alter table raw.things alter column id type bigint", "id is BIGINT"),
    ],
)
def test_a_table_whose_types_do_not_fit_is_left_as_it_is(
    things: OneFeed, retyped: str, message: str
) -> None:
    for day in (DAY, OTHER_DAY):
        things.land_and_load("id,name\n1,Ada\n", day)
    execute(things, retyped)
    before = contents(things.warehouse.path)
    with pytest.raises(StageError, match=message) as caught:
        things.land_and_load("id,name\n2,Bob\n")
    assert "alter table raw.things" in caught.value.todo
    assert contents(things.warehouse.path) == before


def test_a_column_of_another_type_is_refused_and_nothing_is_changed(things: OneFeed) -> None:
    things.land_and_load("id,name\n1,Ada\n")
    before = contents(things.warehouse.path)
    with pytest.raises(StageError, match="id is VARCHAR in the warehouse, but BIGINT is declared"):
        things.land_and_load("id,name\n2,B\n", columns={"id": {"type": "integer"}, "name": {}})
    assert contents(things.warehouse.path) == before


def test_quarantine_holds_the_unreadable_rows_of_what_is_loaded_and_of_what_was_refused(
    things: OneFeed,
) -> None:
    def quarantine() -> list[tuple]:
        return query(
            things.warehouse.path,
            "select partition_key, kind, line from ops.quarantine"
            " where feed = 'things' and reason = 'id: is empty, but it is required'"
            " and _date::varchar = partition_key order by all",
        )

    things.land_and_load("id,name\n,Ada\n", OTHER_DAY, quarantine_threshold=1)
    untouched = (OTHER_DAY, "unreadable", 2)
    things.land_and_load("id,name\n1,a\n,b\n,c\n", quarantine_threshold=1)
    loaded = [(DAY, "unreadable", 3), (DAY, "unreadable", 4)]
    assert quarantine() == [*loaded, untouched]
    # A delivery that is refused for its bad rows shows them, beside those of what stays loaded.
    for refused in ("id,name\n,a\n2,b\n,c\n", "id,name\n,a\n2,b\n"):
        assert things.land_and_load(refused).casualties
    assert quarantine() == [(DAY, "refused", 2), *loaded, untouched]
    things.land_and_load("id,name\n1,a\n")
    assert quarantine() == [untouched]


def test_what_raw_holds_is_recorded_with_the_fingerprint_of_its_source(things: OneFeed) -> None:
    things.land_and_load("id,name\n1,a\n,b\n", quarantine_threshold=1)
    things.land_and_load(None, OTHER_DAY, missing="empty")
    recorded = query(
        things.warehouse.path,
        "select partition_key, state, source_rows, quarantined_rows, raw_rows, run_id"
        " from ops.deliveries order by all",
    )
    assert recorded == [(DAY, "landed", 2, 1, 1, "run"), (OTHER_DAY, "absent", 0, 0, 0, "run")]
    fingerprints = "select fingerprint from ops.deliveries where partition_key = ?"
    before = query(things.warehouse.path, fingerprints, [DAY])
    things.land_and_load("id,name\n1,a\n,b\n", quarantine_threshold=1)
    assert query(things.warehouse.path, fingerprints, [DAY]) == before
    things.land_and_load("id,name\n1,a\n,c\n", quarantine_threshold=1)
    assert query(things.warehouse.path, fingerprints, [DAY]) != before


class TestCasualties:
    """Days that cannot be loaded keep what raw holds of them, and the others go on."""

    @pytest.fixture
    def loaded(self, things: OneFeed) -> OneFeed:
        for day in (DAY, OTHER_DAY):
            things.land_and_load("id,name\n1,Ada\n", day)
        return things

    def test_a_refused_delivery(self, loaded: OneFeed) -> None:
        before = contents(loaded.warehouse.path)["ops.deliveries"]
        loaded.land("id,name\n1,A")
        loaded.land("id,name\n2,Bob\n", OTHER_DAY)
        result = loaded.load([DAY, OTHER_DAY])
        assert [casualty.partition_key for casualty in result.casualties] == [DAY]
        assert [manifest.partition_key for manifest in result.manifests] == [OTHER_DAY]
        assert loaded.raw() == [(DAY, "1", "Ada"), (OTHER_DAY, "2", "Bob")]
        assert contents(loaded.warehouse.path)["ops.deliveries"][0] == before[0]

    def test_a_day_that_was_never_extracted(self, loaded: OneFeed) -> None:
        (casualty,) = loaded.load(["2026-03-09"]).casualties
        assert "never extracted; materialize landing/things first" in casualty.reason

    def test_a_landing_under_older_rules_of_the_feed(self, loaded: OneFeed) -> None:
        before = contents(loaded.warehouse.path)
        newer = {"columns": {"id": {"required": True}, "name": {"expression": "upper(value)"}}}
        (casualty,) = loaded.load([DAY], **newer).casualties
        assert "older rules of the feed; materialize landing/things again" in casualty.reason
        assert contents(loaded.warehouse.path) == before

    def test_a_landing_in_another_time_zone(self, loaded: OneFeed) -> None:
        elsewhere = OneFeed(loaded.root, "Asia/Tokyo")
        (casualty,) = elsewhere.load([DAY]).casualties
        assert "older rules" in casualty.reason


def test_rows_that_do_not_arrive_are_noticed_before_the_commit(things: OneFeed) -> None:
    things.land_and_load("id,name\n1,Ada\n")
    before = contents(things.warehouse.path)
    manifest = things.land("id,name\n1,Ada\n2,Bob\n")
    path = things.landing.data_path(manifest)
    assert path is not None
    pq.write_table(pq.ParquetFile(path).read().slice(length=1), path)
    with pytest.raises(StageError, match="1 rows in raw, but 2 landed: nothing was changed"):
        things.load()
    assert contents(things.warehouse.path) == before


def test_a_landed_file_that_is_gone_fails_with_what_to_do(things: OneFeed) -> None:
    things.land_and_load("id,name\n1,Ada\n")
    before = contents(things.warehouse.path)
    path = things.landing.data_path(things.land("id,name\n2,Bob\n"))
    assert path is not None
    path.unlink()
    with pytest.raises(StageError, match="materialize landing/things again"):
        things.load()
    assert contents(things.warehouse.path) == before
