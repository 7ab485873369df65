"""What others' errors say of secrets is written nowhere: neither in the landing area, nor the ledger,
nor anything that Dagster keeps (contract 9)."""

from __future__ import annotations

from pathlib import Path

import pytest

from customer_pipeline.errors import StageError, TransientError
from customer_pipeline.orchestration import assets
from customer_pipeline.settings import Settings
from tests.support.dagster_processes import Home
from tests.support.runs import run_days
from tests.support.scripted_feed import source_with
from tests.support.shop import Shop, customer
from tests.support.warehouse import query

pytestmark = pytest.mark.usefixtures("without_dbt")

DAY = "2026-03-04"
IN_A_URL, IN_THE_ENVIRONMENT = "hunter2-in-a-url", "hunter2-in-the-environment"
TOLD = f"no answer from postgresql://admin:{IN_A_URL}@db/shop with {IN_THE_ENVIRONMENT}"
WITHOUT = "no answer from postgresql://***@db/shop with ***"


class SecretiveShop(Shop):
    """A shop with a scripted feed and a password, whose steps are retried once, at once."""

    def __init__(self, root: Path, dbt_cache: Path) -> None:
        super().__init__(root, source=source_with(root / "script"), dbt_cache=dbt_cache)
        self.deliver("customers", DAY, [customer(DAY, n) for n in range(3)])

    @property
    def settings(self) -> Settings:
        return super().settings.model_copy(update={"max_retries": 1, "retry_delay": 0})

    def will(self, *words: str) -> None:
        """Have the feed do this, call by call."""
        (self.root / "script" / DAY).write_text("\n".join(words))

    def reason(self) -> str:
        """Why the day has failed, as the ledger has it."""
        ((reason,),) = query(self.settings.warehouse_path, "select reason from ops.attempts")
        return reason


@pytest.fixture
def shop(tmp_path: Path, dbt_cache: Path, monkeypatch: pytest.MonkeyPatch) -> SecretiveShop:
    monkeypatch.setenv("SHOP_PASSWORD", IN_THE_ENVIRONMENT)
    return SecretiveShop(tmp_path / "shop", dbt_cache)


@pytest.mark.parametrize("word", ["", "connection "])
def test_a_feeds_function_that_tells_a_secret_has_it_written_nowhere(
    shop: SecretiveShop, home: Home, word: str
) -> None:
    shop.will(*[f"{word}{TOLD}"] * 2)
    ran = run_days(shop, home, DAY)
    assert WITHOUT in shop.reason()
    assert "in scripted_feed.py line " in shop.reason()
    assert WITHOUT in ran.error
    assert ran.steps("STEP_UP_FOR_RETRY") == (["extract_orders"] if word else [])
    _assert_nothing_holds_a_secret(shop, home)


@pytest.mark.parametrize(
    ("stage", "kind"),
    [("extract", RuntimeError), ("load", TransientError), ("publish", StageError)],
)
def test_an_error_of_a_stage_tells_where_it_was_raised_without_the_secrets_of_its_causes(
    shop: SecretiveShop,
    home: Home,
    monkeypatch: pytest.MonkeyPatch,
    stage: str,
    kind: type[Exception],
) -> None:
    def broken(*_: object, **__: object) -> None:
        try:
            raise KeyError(TOLD)
        except KeyError as error:
            raise kind(f"broken: {TOLD}") from error

    monkeypatch.setattr(assets, stage, broken)
    ran = run_days(shop, home, DAY)
    assert shop.reason().removeprefix("RuntimeError: ") == f"broken: {WITHOUT}"
    shown = [
        *(one.step_failure_data.error_display_string for one in ran.events("STEP_FAILURE")),
        *(one.step_retry_data.error.to_string() for one in ran.events("STEP_UP_FOR_RETRY")),
    ]
    assert all(WITHOUT in one for one in ran.errors.values())
    assert any("test_secrets.py" in one for one in shown), "where it was raised"
    _assert_nothing_holds_a_secret(shop, home)


def _assert_nothing_holds_a_secret(shop: SecretiveShop, home: Home) -> None:
    kept = [shop.settings.data_path, home.folder]
    files = [file for folder in kept for file in folder.rglob("*") if file.is_file()]
    assert any(b"STEP_FAILURE" in file.read_bytes() for file in files), "what Dagster keeps is read"
    for secret in (IN_A_URL, IN_THE_ENVIRONMENT):
        assert [file for file in files if secret.encode() in file.read_bytes()] == []
