"""What `late_data` has seen of deliveries, handed to the rules of alerts in the same pass, so that no
source is looked at twice.

What belongs here: handing it over. What does not: the rules (`customer_pipeline/alerts/`).
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from datetime import UTC, datetime

import dagster as dg

from customer_pipeline.alerts.mutes import mutes
from customer_pipeline.alerts.scene import Scene
from customer_pipeline.alerts.source_changes import watch_deliveries
from customer_pipeline.alerts.store import Store
from customer_pipeline.errors import ConfigError
from customer_pipeline.orchestration.alerting.scenes import words_of
from customer_pipeline.orchestration.pipeline import Pipeline
from customer_pipeline.planning.known import Known
from customer_pipeline.planning.source_changes import SourceChange
from customer_pipeline.source.partitions import Window


def note_deliveries(
    pipeline: Pipeline,
    calendar: Sequence[str],
    known: Known,
    looked_at: Mapping[str, Sequence[Window]],
    changes: Sequence[SourceChange],
) -> None:
    """Note once what has vanished from the source, and what is there and cannot be used.

    Args:
        calendar: the keys of all partitions that are over.
        looked_at: the windows whose deliveries were looked at, by feed.
        changes: how these differ from what is loaded.
    """
    now, store = datetime.now(UTC), Store(pipeline.settings.alerts_path)
    try:
        with store.transaction() as connection:
            scene = Scene(
                now, now, words_of(pipeline), calendar, known, mutes=mutes(connection, now)
            )
            keys = {feed: [window.key for window in of] for feed, of in looked_at.items()}
            watch_deliveries(connection, scene, keys, changes)
    except ConfigError as error:
        # `alerts_watch` fails because of it too, and that is seen; no run has to wait for it.
        dg.get_dagster_logger().warning(str(error))
