"""Deliveries made by a user's own Python function.

What belongs here: calling the function, and what its errors mean. What does not: getting at it
(`functions.py`), and the frames that it returns (`frames.py`).
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import Any

from customer_pipeline.errors import (
    DeliveryError,
    MissingDeliveryError,
    PipelineError,
    TransientError,
)
from customer_pipeline.source.delivery import Delivery
from customer_pipeline.source.feed import Feed
from customer_pipeline.source.functions import import_function
from customer_pipeline.source.partitions import Window
from customer_pipeline.source.readers.frames import delivery_of_frames, is_frame

# Errors of the system that no retry mends.
_LASTING = (
    FileNotFoundError,
    FileExistsError,
    PermissionError,
    IsADirectoryError,
    NotADirectoryError,
)


def read_python(feed: Feed, window: Window) -> Delivery:
    """Calls the feed's function as `function(window, **options)` and takes what it returns or
    yields: pandas DataFrames, Arrow Tables or RecordBatches. `_line` is the row's number from 1.

    No rows are an empty delivery; returning None says that there is no delivery.

    Raises:
        ConfigError: when there is no such function, or it does not take the feed's options.
        MissingDeliveryError: when the function returns None.
        DeliveryError: when it raises anything that is not named here, returns something else, or
            returns frames that lack columns or do not fit together.
        TransientError: when it raises an error of connection, time or input/output that may pass.
        PipelineError: when the function raises one, it is passed on as it is.
    """
    function = import_function(feed.function or "", feed.options)
    where = f"{feed.function} {window.key}"
    try:
        returned = function(window, **feed.options)
        if returned is None:
            raise MissingDeliveryError(
                "the function returned None: there is no delivery",
                where=where,
                todo="have it delivered; for a day without rows return an empty frame instead",
            )
        frames = _frames(returned, where)
    except PipelineError:
        raise
    except Exception as error:
        what = f"the function raised {type(error).__name__}: {error}"
        if isinstance(error, OSError) and not isinstance(error, _LASTING):
            raise TransientError(
                what, where=where, todo="run the partition again; it may pass by itself"
            ) from error
        raise DeliveryError(
            what, where=where, todo="correct the function or its options"
        ) from error
    return delivery_of_frames(frames, feed, where)


def _frames(returned: Any, where: str) -> list[Any]:
    is_one = is_frame(returned) or isinstance(returned, str | bytes | Mapping)
    frames = [returned] if is_one or not isinstance(returned, Iterable) else [*returned]
    for frame in frames:
        if not is_frame(frame):
            raise DeliveryError(
                f"the function gave a {type(frame).__name__}",
                where=where,
                todo="return or yield pandas DataFrames, Arrow Tables or Arrow RecordBatches",
            )
    return frames
