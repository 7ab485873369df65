"""Putting declared expressions into DuckDB SQL.

What belongs here: what an expression stands for in a query. What does not: the queries (`casts.py`,
`query.py`), and whether an expression is one (`binding.py`).
"""

from __future__ import annotations


def let(name: str, value: str, body: str) -> str:
    """SQL for `body`, in which `name` stands for the result of `value`, computed once."""
    return f"list_transform([{value}], lambda {name}: {body})[1]"


def attempted(expression: str) -> str:
    """SQL for a list that holds the result of `expression`, or null where that raises an error."""
    return f"try([{expression}\n])"


def applied(expression: str, value: str) -> str:
    """As `attempted`, with the name `value` in `expression` standing for the SQL `value`."""
    return let("value", value, attempted(expression))
