"""The Python functions that a source YAML names.

What belongs here: getting at one, and whether it takes what it is given. What does not: calling it
(`readers/python_function.py`).
"""

from __future__ import annotations

import importlib
import inspect
from collections.abc import Callable, Iterable
from typing import Any

from customer_pipeline.errors import ConfigError
from customer_pipeline.redaction import discreet_error, discreet_words


def import_function(name: str, options: Iterable[str]) -> Callable[..., Any]:
    """The function `name` (package.module:function), to be called as `function(window, **options)`.

    Raises:
        ConfigError: with what is wrong and what to do, but not where, when it cannot be imported
            or does not take these options.
    """
    module, _, attribute = name.partition(":")
    try:
        function = getattr(importlib.import_module(module), attribute)
    except Exception as error:
        # Importing runs the user's module, which may raise anything.
        raise ConfigError(
            f"{name} cannot be imported: {discreet_words(error)}",
            todo="write package.module:function, importable where the pipeline runs",
        ) from discreet_error(error)
    if not callable(function):
        raise ConfigError(f"{name} is not a function but of type {type(function).__name__}")
    try:
        signature = inspect.signature(function)
    except ValueError:
        # Some functions that are written in C do not say what they take.
        return function
    try:
        signature.bind(None, **dict.fromkeys(options))
    except TypeError as error:
        raise ConfigError(
            f"{name} cannot be called as declared: {error}",
            todo="it is called as function(window, **options): correct it, or the options",
        ) from error
    return function
