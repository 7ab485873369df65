"""What DuckDB says about the expressions in a source YAML: whether they are any, and their types.

What belongs here: asking DuckDB in memory, without data. What does not: the SQL around them
(`sql.py`), and which expressions a feed has (`yaml/feed_checks.py`).
"""

from __future__ import annotations

import json
from collections.abc import Collection, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass
from functools import lru_cache
from typing import Any

import duckdb
import pyarrow as pa

from customer_pipeline.quoting import quoted
from customer_pipeline.source.mapping.sql import applied, attempted

# What DuckDB calls consistent although it depends on the moment or the session, and what stands
# without parentheses, so that it parses as a column.
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


@dataclass(frozen=True)
class BoundTypes:
    """The DuckDB type of each delivered column, and of each expression over one; None stands for
    an expression that does not bind to what was delivered."""

    columns: Mapping[str, str]
    expressions: Mapping[tuple[str, str], str | None]


def require_pure_scalar(expression: str, columns: Collection[str]) -> None:
    """Checks that `expression` is one SQL expression whose result depends on `columns` alone.

    Raises:
        ValueError: in plain words, when it is not.
    """
    with _memory() as connection:
        tree = _parsed(connection, f"select {expression}\n")
        # In parentheses too: `value as x`, `value from t` or `1; select 2` is more than one.
        _parsed(connection, f"select ({expression}\n)")
        unstable = connection.execute(
            "select function_name from duckdb_functions() where stability <> 'CONSISTENT'"
        ).fetchall()
    if len(tree["select_list"]) != 1:
        raise ValueError("it must be a single expression")
    nodes = list(_nodes(tree["select_list"]))
    if any(node.get("class") == "STAR" for node in nodes):
        raise ValueError("it must name its columns; * is not an expression")
    functions = {node["function_name"].lower() for node in nodes if "function_name" in node}
    names = {node["column_names"][-1].lower() for node in nodes if "column_names" in node}
    functions |= names - {column.lower() for column in columns}
    if impure := sorted(functions & (_IMPURE | {name for (name,) in unstable})):
        raise ValueError(
            f"{impure[0]} does not give the same result each time, so loading the partition"
            " again could give other rows"
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
def bound_types(
    delivered: pa.Schema, expressions: tuple[tuple[str, str], ...], where: str | None
) -> BoundTypes:
    """The types of what was delivered, and of `expressions`: pairs of a column and an expression
    over its `value`.

    Raises:
        ValueError: when DuckDB cannot read a delivered type, or `where` is no condition over these.
    """
    types: dict[tuple[str, str], str | None] = {}
    with _memory() as connection:
        try:
            connection.register("delivered", delivered.empty_table())
        except duckdb.Error as error:
            raise ValueError(f"DuckDB cannot read a delivered column: {_words(error)}") from error
        described = connection.execute("describe delivered").fetchall()
        for column, expression in expressions:
            try:
                sql = f"{applied(expression, quoted(column))}[1]"
                types[column, expression] = _described(connection, sql)
            except (LookupError, ValueError):
                types[column, expression] = None
        if where is not None:
            _require_condition(connection, where)
    return BoundTypes({name: kind for name, kind, *_ in described}, types)


def _require_condition(connection: duckdb.DuckDBPyConnection, where: str) -> None:
    try:
        kind = _described(connection, f"{attempted(where)}[1]")
    except (LookupError, ValueError) as error:
        raise ValueError(f"where: {error}") from error
    if kind != "BOOLEAN":
        raise ValueError(f"where: is of type {kind}, not true or false")


def _described(connection: duckdb.DuckDBPyConnection, sql: str) -> str:
    try:
        return connection.execute(f"describe select {sql} from delivered").fetchall()[0][1]
    except duckdb.CatalogException as error:
        raise LookupError(_words(error)) from error
    except duckdb.Error as error:
        words = _words(error)
        kind = LookupError if words.startswith("Referenced column") else ValueError
        raise kind(words) from error


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
        # Any other error says that it is no query: `1; drop table t`.
        syntax = answer["error_type"] == "parser"
        raise ValueError(answer["error_message"] if syntax else "it must be a single expression")
    return answer["statements"][0]["node"]


def _nodes(tree: Any) -> Iterator[dict[str, Any]]:
    children: Any = tree
    if isinstance(tree, dict):
        yield tree
        children = tree.values()
    if isinstance(tree, dict | list):
        for child in children:
            yield from _nodes(child)


def _words(error: duckdb.Error) -> str:
    line = str(error).split("\n")[0].partition("Error: ")[2]
    return line.rstrip("!").removesuffix(" in FROM clause")
