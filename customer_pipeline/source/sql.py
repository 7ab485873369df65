"""Putting names and texts into DuckDB SQL, and asking DuckDB about the SQL in a source YAML.

What belongs here: quoting, and whether an expression parses, binds and always gives the same
result. What does not: the SQL that loads a feed (`casts.py`, `mapping.py`).
"""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from functools import lru_cache
from typing import Any

import duckdb
import pyarrow as pa

# They stand without parentheses, so they parse as columns, or they depend on the session and yet
# count as consistent.
_IMPURE = {
    "current_catalog",
    "current_localtime",
    "current_localtimestamp",
    "current_role",
    "current_setting",
    "current_time",
    "current_timestamp",
    "current_user",
    "getenv",
    "getvariable",
    "localtime",
    "localtimestamp",
    "session_user",
    "user",
}


def quoted(name: str) -> str:
    """`name` as a quoted SQL identifier."""
    return '"' + name.replace('"', '""') + '"'


def literal(text: str) -> str:
    """`text` as a SQL string literal."""
    return "'" + text.replace("'", "''") + "'"


def attempted(expression: str) -> str:
    """SQL for a list that holds the result of `expression`, or null where it raises an error."""
    return f"try([{expression}\n])"


def let(name: str, value: str, body: str) -> str:
    """SQL for `body`, in which `name` stands for the result of `value`, computed once."""
    return f"list_transform([{value}], lambda {name}: {body})[1]"


def applied(expression: str, value: str) -> str:
    """As `attempted`, with the name `value` in `expression` standing for the SQL `value`."""
    return let("value", value, attempted(expression))


def require_pure_scalar(expression: str) -> None:
    """Checks that `expression` is one SQL expression whose result depends on its inputs alone.

    Raises:
        ValueError: in plain words, when it is not.
    """
    with _memory() as connection:
        tree = _parsed(connection, f"select {expression}\n")
        # In parentheses too: `value as x` or `value from t` is more than an expression.
        _parsed(connection, f"select ({expression}\n)")
        unstable = connection.execute(
            "select function_name from duckdb_functions() where stability <> 'CONSISTENT'"
        ).fetchall()
    if len(tree["select_list"]) != 1:
        raise ValueError("it must be a single expression")
    names = set(_names(tree["select_list"]))
    if "*" in names:
        raise ValueError("it must name its columns; * is not an expression")
    if impure := sorted(names & (_IMPURE | {name for (name,) in unstable})):
        raise ValueError(
            f"{impure[0]} does not give the same result each time, so the partition could not be"
            " loaded again as it was"
        )


def bound_type(sql: str, columns: Mapping[str, str]) -> str:
    """The DuckDB type of the expression `sql` over columns of the given DuckDB types.

    Raises:
        ValueError: with DuckDB's words, when it does not bind.
        LookupError: likewise, when a column, function or type in it does not exist.
    """
    nulls = [f"null::{kind} as {quoted(name)}" for name, kind in columns.items()]
    with _memory() as connection:
        connection.execute(f"create table delivered as select {', '.join(nulls) or 'null'}")
        return _described(connection, sql)


@lru_cache(maxsize=128)
def value_types(
    delivered: pa.Schema, expressions: tuple[tuple[str, str], ...]
) -> tuple[dict[str, str], dict[tuple[str, str], str | None]]:
    """The DuckDB type of each delivered column, and of each expression: pairs of a column and an
    expression over its `value`. None stands for one that does not bind to what was delivered."""
    of_expressions: dict[tuple[str, str], str | None] = {}
    with _memory() as connection:
        connection.register("delivered", delivered.empty_table())
        described = connection.execute("describe delivered").fetchall()
        for column, expression in expressions:
            sql = f"{applied(expression, quoted(column))}[1]"
            try:
                of_expressions[column, expression] = _described(connection, sql)
            except (LookupError, ValueError):
                of_expressions[column, expression] = None
    return {name: kind for name, kind, *_ in described}, of_expressions


def _described(connection: duckdb.DuckDBPyConnection, sql: str) -> str:
    try:
        return connection.execute(f"describe select {sql} from delivered").fetchall()[0][1]
    except duckdb.CatalogException as error:
        raise LookupError(_first_line(error)) from error
    except duckdb.Error as error:
        words = _first_line(error)
        raise (LookupError if words.startswith("Referenced column") else ValueError)(words) from error


@contextmanager
def _memory() -> Iterator[duckdb.DuckDBPyConnection]:
    connection = duckdb.connect(config={"enable_external_access": False, "threads": 1})
    try:
        yield connection
    finally:
        connection.close()


def _parsed(connection: duckdb.DuckDBPyConnection, query: str) -> dict[str, Any]:
    (text,) = connection.execute("select json_serialize_sql(?)", [query]).fetchall()[0]
    answer = json.loads(text)
    if answer["error"]:
        raise ValueError(answer["error_message"])
    if len(answer["statements"]) != 1:
        raise ValueError("it must be a single expression")
    return answer["statements"][0]["node"]


def _names(node: Any) -> Iterator[str]:
    """The names of functions and unqualified columns in a parsed expression, `*` for a star."""
    if isinstance(node, list):
        for child in node:
            yield from _names(child)
    elif isinstance(node, dict):
        if node.get("class") == "STAR":
            yield "*"
        if "function_name" in node:
            yield node["function_name"].lower()
        if len(node.get("column_names", ())) == 1:
            yield node["column_names"][0].lower()
        for child in node.values():
            yield from _names(child)


def _first_line(error: duckdb.Error) -> str:
    return str(error).split("\n")[0].partition("Error: ")[2]
