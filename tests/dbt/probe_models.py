"""Extra models for a copy of the project, whose rows break every kind of test on one day of three.

The models in the folder `probe` belong to a pipeline; the one in `plain` belongs to none.
"""

from __future__ import annotations

from pathlib import Path

from shop_days import DAYS

_LINES = f"""
select
    cast(_date as date) as _date,
    code,
    kind,
    parent,
    amount
from (
    values
    ('{DAYS[0]}', 'x', 'red', 'p1', 1),
    ('{DAYS[1]}', 'x', 'it''s', 'p1', 1),
    ('{DAYS[1]}', 'x', 'blue', 'p3', -1),
    ('{DAYS[1]}', null, 'red', 'p2', null),
    ('{DAYS[2]}', 'x', 'red', 'p2', 1)
) as lines (_date, code, kind, parent, amount)
"""

# On the middle day neither p2 nor p3 is there.
_PARENTS = f"""
select
    cast(_date as date) as _date,
    parent
from (
    values
    ('{DAYS[0]}', 'p1'),
    ('{DAYS[0]}', 'p3'),
    ('{DAYS[1]}', 'p1'),
    ('{DAYS[2]}', 'p2')
) as parents (_date, parent)
"""

_TESTS = """
  - name: {model}
    columns:
      - name: code
        data_tests:
          - not_null
          - unique
          - unique:
              name: unique_where_{model}
              config: {{where: amount is not null}}
      - name: kind
        data_tests:
          - accepted_values:
              name: kinds_of_{model}
              arguments: {{values: {kinds}}}
      - name: amount
        data_tests:
          - accepted_values:
              name: amounts_of_{model}
              arguments: {{values: [1], quote: false}}
      - name: parent
        data_tests:
          - relationships:
              name: parents_of_{model}
              arguments: {{to: ref('probe_parents'), field: parent}}
    data_tests:
      - row_satisfies:
          name: amounts_are_positive_in_{model}
          arguments: {{expression: amount > 0}}
"""


def probe_failures(model: str) -> dict[str, int]:
    """Failing rows on the middle day, by test, of a probe in a pipeline."""
    return {
        f"not_null_{model}_code": 1,
        f"unique_{model}_code": 1,
        f"unique_where_{model}": 1,
        f"kinds_of_{model}": 1,
        f"amounts_of_{model}": 1,
        f"parents_of_{model}": 2,
        f"amounts_are_positive_in_{model}": 2,
    }


def add_probe_models(models: Path) -> None:
    """Write the extra models into the folder `models` of a copy of the project."""
    probe, plain = models / "daily_customers" / "probe", models / "plain"
    files = {
        probe / "probe_parents.sql": _PARENTS,
        probe / "probe_table.sql": _LINES,
        probe / "probe_ephemeral.sql": "{{ config(materialized='ephemeral') }}" + _LINES,
        probe / "probe.yml": "models:"
        + _TESTS.format(model="probe_table", kinds='[red, "it\'s"]')
        + _TESTS.format(model="probe_ephemeral", kinds='[red, "it\'s"]'),
        plain / "plain.sql": _LINES,
        # dbt's own test would not survive the apostrophe.
        plain / "plain.yml": "models:" + _TESTS.format(model="plain", kinds="[red, blue]"),
    }
    for path, text in files.items():
        path.parent.mkdir(exist_ok=True)
        path.write_text(text)
