"""A pipeline as the rules of alerts want to know it."""

from __future__ import annotations

from customer_pipeline.alerts.wording import Words
from customer_pipeline.orchestration.pipeline import Pipeline


def words_of(pipeline: Pipeline) -> Words:
    """What messages about a pipeline are made with."""
    return Words(
        pipeline.name,
        pipeline.partitions.noun,
        pipeline.settings.ui_url.rstrip("/"),
        {name: feed.owner for name, feed in pipeline.feeds.items() if feed.owner},
        pipeline.source.owner,
        pipeline.option,
    )
