"""Names and texts inside SQL.

Values are bound wherever DuckDB takes parameters; `literal` is for the places where it does not.
"""

from __future__ import annotations


def quoted(name: str) -> str:
    """`name` as an SQL identifier; dots are not special."""
    return '"' + name.replace('"', '""') + '"'


def literal(text: str) -> str:
    """`text` as an SQL string literal."""
    return "'" + text.replace("'", "''") + "'"
