"""The two sensors of alerts: one looks and notes, the other tells what is noted.

They are apart so that the one may fail without the other, and each is watched: the one that tells also
notes when a sensor keeps failing, and `customer-pipeline alerts list` shows what is not told.
"""

from __future__ import annotations

from collections.abc import Sequence

import dagster as dg

from customer_pipeline.alerts.channels import Channel, parse_channels
from customer_pipeline.alerts.sending import deliver
from customer_pipeline.orchestration.alerting.watch import Watch
from customer_pipeline.orchestration.pipeline import Pipeline

WATCH, DELIVER = "alerts_watch", "alerts_deliver"


def alert_sensors(
    pipelines: Sequence[Pipeline], *, watch_interval: int = 30, deliver_interval: int = 15
) -> list[dg.SensorDefinition]:
    """Both sensors. Intervals are seconds between two looks, at least.

    Raises:
        ConfigError: `CUSTOMER_PIPELINE_ALERT_URLS` names something that is no channel.
    """
    watch = Watch(tuple(pipelines))
    channels = parse_channels(pipelines[0].settings.channel_urls)
    return [
        _watch_sensor(watch, watch_interval),
        _deliver_sensor(watch, channels, deliver_interval),
    ]


def _watch_sensor(watch: Watch, interval: int) -> dg.SensorDefinition:
    @dg.sensor(
        name=WATCH,
        minimum_interval_seconds=interval,
        default_status=dg.DefaultSensorStatus.RUNNING,
        description="Records each failure once: partitions, runs, backfills, checks, what is late or slow.",
    )
    def _sensor(context: dg.SensorEvaluationContext) -> dg.SkipReason:
        watch.look(context.instance)
        return dg.SkipReason("done; alerts_deliver sends what was recorded")

    return _sensor


def _deliver_sensor(
    watch: Watch, channels: tuple[Channel, ...], interval: int
) -> dg.SensorDefinition:
    @dg.sensor(
        name=DELIVER,
        minimum_interval_seconds=interval,
        default_status=dg.DefaultSensorStatus.RUNNING,
        description="Sends what alerts_watch has recorded through the channels in"
        " CUSTOMER_PIPELINE_ALERT_URLS, or to the log if there are none.",
    )
    def _sensor(context: dg.SensorEvaluationContext) -> dg.SkipReason:
        watch.note_automation(context.instance)
        done = deliver(watch.store, channels, context.log.warning)
        if done.refused:
            answers = "; ".join(f"{label}: {answer}" for label, answer in done.refused.items())
            return dg.SkipReason(f"{done.told} sent; rejected, to be retried: {answers}")
        return dg.SkipReason(f"{done.told} sent")

    return _sensor
