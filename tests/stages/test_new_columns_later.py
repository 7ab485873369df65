"""A column that a feed or a model gains later: days that were published before have null in it until
they are redone, show as stale, and are otherwise in order in every table that follows (case B12)."""

from __future__ import annotations

from collections.abc import Callable

import pytest

from customer_pipeline.orchestration.pipeline import Pipeline
from customer_pipeline.planning.known import read_known
from customer_pipeline.planning.state import states
from customer_pipeline.stages import transform
from customer_pipeline.verification.findings import Finding
from tests.support.compiled_models import CompiledModels
from tests.support.lake import lake_rows_of
from tests.support.shop import SOURCE, Shop, event
from tests.support.stages import refresh_reporting, run_stages
from tests.support.warehouse import content_hashes, contents, query

DAYS = ["2026-03-03", "2026-03-04", "2026-03-05"]
OLD, REDONE = DAYS[0], DAYS[1]
MARTS = ("dim_customers", "fct_orders", "fct_events", "daily_summary")
GAINED = [f"alter table main.{mart} add column gained varchar default 'x'" for mart in MARTS]


@pytest.fixture
def gain(models: CompiledModels, monkeypatch: pytest.MonkeyPatch) -> Callable[[], None]:
    """From now on, the models have a column more."""

    def gain() -> None:
        monkeypatch.setattr(transform, "build", models.changed_by(*GAINED).build)

    return gain


@pytest.fixture
def published(shop: Shop) -> Shop:
    """Three days; the first day's message is delivered again on each of the others."""
    deliver(shop)
    run_stages(shop.pipeline, DAYS)
    return shop


def deliver(shop: Shop) -> None:
    for n, day in enumerate(DAYS):
        shop.deliver_day(day)
        shop.deliver("events", day, [event(OLD, 1), event(day, 10 + n)])


def findings(pipeline: Pipeline, *, deep: bool = False) -> list[Finding]:
    return pipeline.verifier.findings(pipeline.partitions.windows(DAYS), deep=deep)


def test_a_model_that_gains_a_column_leaves_older_days_in_order_with_null_in_it(
    published: Shop, gain: Callable[[], None]
) -> None:
    pipeline = published.pipeline
    gain()
    run_stages(pipeline, [REDONE])
    for mart in MARTS:
        found = query(
            pipeline.warehouse.path,
            f"select distinct _date::varchar, gained from marts.{mart} order by all",
        )
        assert found == [(DAYS[0], None), (REDONE, "x"), (DAYS[2], None)]
    assert findings(pipeline) == []
    lake = lake_rows_of(pipeline.lake.root, {"fct_orders": ["gained"]})["fct_orders"]
    assert lake == {(None,): 6, ("x",): 3}
    refresh_reporting(pipeline)
    current = "select distinct gained from reporting.customers_current"
    assert query(pipeline.warehouse.path, current) == [(None,)]


def test_days_that_are_redone_one_by_one_end_as_if_the_column_had_always_been_there(
    published: Shop, gain: Callable[[], None], tmp_path, dbt_cache
) -> None:
    gain()
    for day in (REDONE, OLD, DAYS[2]):
        run_stages(published.pipeline, [day])
        assert findings(published.pipeline) == []
    fresh = Shop(tmp_path / "fresh", dbt_cache=dbt_cache)
    deliver(fresh)
    run_stages(fresh.pipeline, DAYS)
    one, other = (contents(shop.settings.warehouse_path) for shop in (published, fresh))
    # Where a delivery lay is part of the rules by which it was landed.
    assert {name for name in one if one[name] != other.get(name)} == {"ops.deliveries"}
    assert content_hashes(published.settings.warehouse_path) == content_hashes(
        fresh.settings.warehouse_path
    )


def test_a_copy_of_an_older_message_is_no_conflict_because_it_has_a_column_more(
    published: Shop, gain: Callable[[], None]
) -> None:
    gain()
    run_stages(published.pipeline, [REDONE])
    path = published.settings.warehouse_path
    assert query(path, "from ops.quarantine where kind = 'conflict'") == []
    assert query(
        path, "select copies, conflicts from ops.processed_events where copies + conflicts > 0"
    ) == [(2, 0)]


def test_a_copy_that_differs_in_what_both_have_is_a_conflict_all_the_same(
    published: Shop, gain: Callable[[], None]
) -> None:
    gain()
    published.deliver("events", REDONE, [event(OLD, 1, payload="{}"), event(REDONE, 11)])
    run_stages(published.pipeline, [REDONE])
    path = published.settings.warehouse_path
    ((reason,),) = query(path, "select reason from ops.quarantine where kind = 'conflict'")
    assert ": differs from the message delivered first" in reason


def test_a_difference_in_the_new_column_is_a_conflict_once_both_days_have_it(
    published: Shop, models: CompiledModels, monkeypatch: pytest.MonkeyPatch
) -> None:
    by_day = "alter table main.fct_events add column gained varchar"
    fill = "update main.fct_events set gained = _date::varchar"
    monkeypatch.setattr(transform, "build", models.changed_by(by_day, fill).build)
    path = published.settings.warehouse_path
    conflicts = "select partition_key from ops.quarantine where kind = 'conflict' order by 1"
    for day, found in ((REDONE, []), (OLD, [REDONE]), (DAYS[2], [REDONE, DAYS[2]])):
        run_stages(published.pipeline, [day])
        assert [key for (key,) in query(path, conflicts)] == found


def test_a_feed_that_gains_a_column_has_null_in_it_for_older_days_which_are_stale(
    published: Shop,
) -> None:
    source = SOURCE.replace("      email: {}\n", "      email: {}\n      tier: {optional: true}\n")
    assert source != SOURCE
    published.source_path.write_text(source)
    pipeline = published.pipeline
    path = published.path("customers", REDONE)
    header, *lines = path.read_text().splitlines()
    path.write_text(
        "".join(f"{line}\n" for line in (f"{header},tier", *(f"{line},gold" for line in lines)))
    )
    run_stages(pipeline, [REDONE])
    found = query(
        pipeline.warehouse.path,
        "select distinct _date::varchar, tier from raw.customers order by 1",
    )
    assert found == [(DAYS[0], None), (REDONE, "gold"), (DAYS[2], None)]
    assert findings(pipeline) == []
    known = read_known(pipeline.warehouse, pipeline.name, pipeline.feeds)
    found = states(DAYS, known, code_version=pipeline.code_version, running={}, changes=(), late=())
    assert [state.kind for state in found] == ["stale", "published", "stale"]
    assert {one.partition_key for one in findings(pipeline, deep=True)} <= {DAYS[0], DAYS[2]}
