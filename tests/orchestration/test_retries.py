"""What may pass by itself is tried again; what a retry cannot mend is not (contract 5 and 6)."""

from __future__ import annotations

from pathlib import Path

import pytest

from customer_pipeline.errors import TransientError
from customer_pipeline.orchestration import assets
from customer_pipeline.settings import Settings
from tests.support.dagster_processes import Home
from tests.support.runs import run_days
from tests.support.scripted_feed import LINES_A_DAY, source_with
from tests.support.shop import Shop, customer
from tests.support.warehouse import query

pytestmark = pytest.mark.usefixtures("without_dbt")

DAYS = ["2026-03-03", "2026-03-04", "2026-03-05"]
DAY = DAYS[1]


class RetryingShop(Shop):
    """A shop with a scripted feed, whose steps are retried twice, at once."""

    def __init__(self, root: Path, dbt_cache: Path) -> None:
        super().__init__(root, source=source_with(root / "script"), dbt_cache=dbt_cache)
        for day in DAYS:
            self.deliver("customers", day, [customer(day, n) for n in range(3)])

    @property
    def settings(self) -> Settings:
        changes = {"max_retries": 2, "retry_delay": 0}
        return super().settings.model_copy(update=changes)

    def will(self, day: str, *words: str) -> None:
        """Have the feed do this, call by call, before it delivers `day`."""
        (self.root / "script" / day).write_text("\n".join(words))

    def attempts(self) -> list[tuple]:
        return query(
            self.settings.warehouse_path,
            "select partition_key, outcome, stage, reason from ops.attempts order by all",
        )


@pytest.fixture
def shop(tmp_path: Path, dbt_cache: Path) -> RetryingShop:
    return RetryingShop(tmp_path / "shop", dbt_cache)


@pytest.mark.parametrize("error", ["connection", "timeout"])
def test_a_source_that_hangs_up_twice_delivers_at_the_third_attempt(
    shop: RetryingShop, home: Home, error: str
) -> None:
    shop.will(DAY, error, error)
    ran = run_days(shop, home, DAYS[0], DAYS[-1])
    assert ran.succeeded
    assert ran.steps("STEP_UP_FOR_RETRY") == ["extract_orders"] * 2
    assert ran.rows("marts/fct_orders") == dict.fromkeys(DAYS, LINES_A_DAY)
    assert shop.attempts() == [(day, "published", "publish", None) for day in DAYS]


def test_a_source_that_stays_away_fails_its_day_and_the_others_go_on(
    shop: RetryingShop, home: Home
) -> None:
    shop.will(DAY, *["connection"] * 5)
    ran = run_days(shop, home, DAYS[0], DAYS[-1])
    assert not ran.succeeded
    assert ran.steps("STEP_UP_FOR_RETRY") == ["extract_orders"] * 2
    assert ran.steps("STEP_FAILURE") == ["publish_daily_customers"]
    assert ran.materialized("marts/fct_orders") == [DAYS[0], DAYS[2]]
    (failed,) = (attempt for attempt in shop.attempts() if attempt[1] == "failed")
    assert failed[:3] == (DAY, "failed", "extract")
    assert "raised ConnectionError in scripted_feed.py line " in failed[3]
    assert ": the shop hung up (" in failed[3]
    assert "the shop hung up" in ran.error


@pytest.mark.parametrize("lasting", ["mistake", "nonsense"])
def test_what_a_function_gets_wrong_is_not_tried_again(
    shop: RetryingShop, home: Home, lasting: str
) -> None:
    shop.will(DAY, lasting)
    ran = run_days(shop, home, DAY)
    assert ran.steps("STEP_UP_FOR_RETRY") == []
    assert ran.steps("STEP_FAILURE") == ["extract_orders"]
    assert ran.checks["landing/orders", "delivery_is_usable", DAY] == "FAILED"
    ((day, outcome, stage, reason),) = shop.attempts()
    assert (day, outcome, stage) == (DAY, "failed", "extract")
    assert "correct the function" in reason
    # It was called once: the next call delivers.
    assert run_days(shop, home, DAY).succeeded


def test_a_file_that_is_not_complete_yet_is_waited_for_and_then_fails_its_day_alone(
    shop: RetryingShop, home: Home
) -> None:
    declared = "path: deliveries/customers/{date}.csv"
    text = shop.source_path.read_text()
    assert declared in text
    shop.source_path.write_text(
        text.replace(declared, f"{declared}\n    ready_when: {{suffix: .done}}")
    )
    for day in DAYS:
        if day != DAY:
            Path(f"{shop.path('customers', day)}.done").touch()
    ran = run_days(shop, home, DAYS[0], DAYS[-1])
    assert ran.steps("STEP_UP_FOR_RETRY") == ["extract_customers"] * 2
    assert ran.materialized("marts/fct_orders") == [DAYS[0], DAYS[2]]
    (failed,) = (attempt for attempt in shop.attempts() if attempt[1] == "failed")
    assert "the delivery is not complete yet: there is no 2026-03-04.csv.done" in failed[3]
    Path(f"{shop.path('customers', DAY)}.done").touch()
    assert run_days(shop, home, DAY).succeeded


def test_a_missing_file_is_not_tried_again(shop: RetryingShop, home: Home) -> None:
    shop.withdraw("customers", DAY)
    ran = run_days(shop, home, DAY)
    assert ran.steps("STEP_UP_FOR_RETRY") == []
    assert ran.steps("STEP_FAILURE") == ["extract_customers"]
    assert "no such file" in ran.error


# All steps are retried in the same way; the first and the last differ most in what is left to do.
STAGES = [
    "extract",
    *(pytest.param(stage, marks=pytest.mark.slow) for stage in ("load", "transform", "validate")),
    "publish",
]


@pytest.mark.parametrize("stage", STAGES)
def test_what_nobody_foresaw_is_tried_again_and_leaves_no_trace_when_it_passes(
    shop: RetryingShop, home: Home, monkeypatch: pytest.MonkeyPatch, stage: str
) -> None:
    _raise_first(monkeypatch, stage, RuntimeError("never seen before"), times=2)
    ran = run_days(shop, home, DAYS[0], DAYS[-1])
    assert ran.succeeded
    assert len(ran.steps("STEP_UP_FOR_RETRY")) == 2
    assert shop.attempts() == [(day, "published", "publish", None) for day in DAYS]
    assert set(ran.checks.values()) == {"SUCCEEDED"}


@pytest.mark.parametrize("stage", STAGES)
def test_what_nobody_foresaw_is_recorded_when_it_does_not_pass(
    shop: RetryingShop, home: Home, monkeypatch: pytest.MonkeyPatch, stage: str
) -> None:
    _raise_first(monkeypatch, stage, RuntimeError("never seen before"), times=99)
    ran = run_days(shop, home, DAYS[0], DAYS[-1])
    assert not ran.succeeded
    reason = "RuntimeError: never seen before"
    assert shop.attempts() == [(day, "failed", stage, reason) for day in DAYS]
    for error in ran.errors.values():
        assert "never seen before" in error


def test_a_warehouse_that_is_held_for_a_while_costs_a_retry_and_nothing_else(
    shop: RetryingShop, home: Home, monkeypatch: pytest.MonkeyPatch
) -> None:
    _raise_first(monkeypatch, "load", TransientError("held"), times=1)
    _raise_first(monkeypatch, "publish", TransientError("held"), times=2)
    ran = run_days(shop, home, DAYS[0], DAYS[-1])
    assert ran.succeeded
    assert ran.steps("STEP_UP_FOR_RETRY") == ["load_customers", *["publish_daily_customers"] * 2]
    assert shop.attempts() == [(day, "published", "publish", None) for day in DAYS]


def _raise_first(
    monkeypatch: pytest.MonkeyPatch, stage: str, error: Exception, *, times: int
) -> None:
    """Have a stage raise, `times` times, and then do its work."""
    real = getattr(assets, stage)
    left = [error] * times

    def unreliable(*args, **kwargs):
        if left:
            raise left.pop()
        return real(*args, **kwargs)

    monkeypatch.setattr(assets, stage, unreliable)
