"""The errors a user can meet. Each says what was wrong, where, and what to do next.

What belongs here: the hierarchy, and how an error reads as one line. What it quotes of others (a
driver's text, a path) may hold secrets, so these are taken out. What does not belong: catching them
(the stages turn a `DeliveryError` into a casualty, the Dagster layer turns the rest into failures).
"""

from __future__ import annotations

from customer_pipeline.redaction import known_secrets, without_secrets


class PipelineError(Exception):
    """Something a user did or a source delivered that cannot be worked with.

    Args:
        what: what was wrong, in one sentence without the place.
        where: the place, such as `orders 2026-03-04 line 17` or `sources/shop.yaml:12`.
        todo: what to do next.
    """

    def __init__(self, what: str, *, where: str = "", todo: str = "") -> None:
        secrets = known_secrets()
        self.what, self.where, self.todo = (
            without_secrets(text, secrets) for text in (what, where, todo)
        )
        place = f"{self.where}: " if where else ""
        advice = f" ({self.todo})" if todo else ""
        super().__init__(f"{place}{self.what}{advice}")


class ConfigError(PipelineError):
    """A mistake in the settings or in the source YAML. No retry mends it."""


class PartitionError(PipelineError):
    """A partition key that is malformed, outside the source's range, or not over yet."""


class DeliveryError(PipelineError):
    """A delivery that as a whole is not what it should be: it makes its partition a casualty."""


class MissingDeliveryError(DeliveryError):
    """There is no delivery for a partition (and no rule says that there need not be one)."""


class StageError(PipelineError):
    """A stage that cannot go on for the whole run, such as a model that does not compile."""


class TransientError(PipelineError):
    """Something that may pass by itself, such as a held warehouse: worth a retry."""


class NotReadyError(TransientError):
    """A delivery that is there and not complete yet. It is neither missing nor empty, nothing of it
    is taken, and a retry may find it whole."""
