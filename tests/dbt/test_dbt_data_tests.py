"""What dbt's data tests and the reconciliation rules find, and which days they blame."""

from __future__ import annotations

from dataclasses import replace
from decimal import Decimal

import pytest
from dbt_call import DAILY
from duckdb_files import rows_of, write_candidate
from made_tables import MARTS
from probe_models import probe_failures
from shop_days import DAYS, Rows

BAD_DAY = DAYS[1]


def test_every_kind_of_test_blames_exactly_the_bad_day(dbt, tmp_path):
    candidate = write_candidate(tmp_path, Rows())
    dbt.invoke(candidate, "run", "--select", "*probe*")
    assert dbt.failing_rows(candidate, "--select", "*probe*", "--exclude", "plain") == {
        test: {BAD_DAY: rows}
        for model in ("probe_table", "probe_ephemeral")
        for test, rows in probe_failures(model).items()
    }


def test_a_model_outside_the_pipelines_is_tested_as_dbt_itself_would(dbt, tmp_path):
    candidate = write_candidate(tmp_path, Rows())
    dbt.invoke(candidate, "run", "--select", "plain", "probe_parents")
    results = dbt.invoke(candidate, "test", "--select", "plain")
    # Over all days there is a parent for each; "it's" is no accepted kind here.
    assert {result.node.name: result.failures for result in results} == probe_failures("plain") | {
        "parents_of_plain": 0
    }
    assert rows_of(candidate, "from failures.unique_plain_code") == [("x", 4)]


def test_each_data_test_of_the_project_can_fail_and_blames_only_the_day(dbt, shop, tmp_path):
    line = next(row for row in shop.orders if row._date == BAD_DAY and row.customer_id == "007")
    state = next(row for row in shop.customers if row._date == BAD_DAY)
    event = next(row for row in shop.events if row._date == BAD_DAY)
    absurd = replace(line, order_id="902", unit_price=Decimal(0), quantity=2**63 - 1)
    bad = Rows(
        [
            replace(state, _line=900, updated_at=None),
            replace(state, _line=901, customer_id="  "),
        ],
        [
            replace(line, _line=900, quantity=None),
            replace(line, _line=901, order_id=" ", unit_price=Decimal(1), quantity=-1),
            replace(line, _line=902, order_id="C900", quantity=5),
            replace(line, _line=903, order_id="901", customer_id="nobody"),
            replace(absurd, _line=904),
            replace(absurd, _line=905),
        ],
        [
            replace(event, _line=900, event_id=" "),
            replace(event, _line=901, entity_id="\t"),
            replace(event, _line=902, operation=" "),
            replace(event, _line=903, operation="renamed"),
        ],
    )
    candidate = write_candidate(tmp_path, shop.and_also(bad))
    dbt.run(candidate)
    # And what no delivery can bring about, since the models rule it out.
    for table in MARTS:
        twice = f"insert into main.{table} from main.{table} where _date = ?"
        rows_of(candidate, twice, [BAD_DAY])
    for damage in (
        "update main.fct_orders set order_lines = 0 where _date = ? and order_id = '901'",
        "update main.daily_summary set orders = order_lines + 1 where _date = ?",
        "insert into main.sales_summary values (?, null, 1, 1, 1)",
    ):
        rows_of(candidate, damage, [BAD_DAY])
    failing = dbt.failing_rows(candidate, *DAILY)
    assert {test: list(days) for test, days in failing.items()} == {
        test: [BAD_DAY] for test in dbt.own("test", "daily_customers")
    }


def test_good_days_pass_all_data_tests_and_all_reconciliation_rules(dbt, candidate):
    assert dbt.failing_rows(candidate, *DAILY) == {}
    assert dbt.broken_rules(candidate, DAYS) == set()


@pytest.mark.parametrize("model", MARTS)
def test_every_reconciliation_rule_of_a_model_notices_a_day_that_the_model_lost(
    dbt, candidate, model
):
    rows_of(candidate, f"delete from main.{model} where _date = ?", [BAD_DAY])
    broken = dbt.broken_rules(candidate, DAYS)
    stated = {rule.check for rule in dbt.rules() if rule.model == model}
    assert stated
    assert stated <= {check for check, _ in broken}
    assert {day for _, day in broken} == {str(BAD_DAY)}
