"""A backfill during which a day ends: it finishes the days that were asked for, and no other (case
T8).

Midnight comes when the test wants it: the clock is the real one, but the offset of the source's zone
is chosen.
"""

from __future__ import annotations

import os
import zoneinfo
from datetime import UTC, datetime, timedelta
from pathlib import Path

import pytest

from customer_pipeline.orchestration.daemon import daemon_state
from tests.conftest import PROJECT
from tests.support.backfills import Operator, days_from
from tests.support.compiled_models import CompiledModels
from tests.support.dagster_processes import Home, home_template, kill, wait_for
from tests.support.gates import Gates
from tests.support.shop import SOURCE, Shop
from tests.support.warehouse import query
from tests.support.zones import zone_with_midnight

pytestmark = pytest.mark.slow


def test_a_backfill_over_midnight_ends_with_the_days_asked_for(
    tmp_path: Path, session_folder: Path, dbt_cache: Path
) -> None:
    midnight = datetime.now(UTC) + timedelta(seconds=75)
    zone = zone_with_midnight(midnight, tmp_path / "zones")
    today = midnight.astimezone(zone.offset).date() - timedelta(days=1)
    days = days_from((today - timedelta(days=5)).isoformat(), 5)
    source = SOURCE.replace("Europe/London", zone.name).replace("2026-03-01", days[0])
    shop = Shop(tmp_path / "shop", source=source, dbt_cache=dbt_cache)
    models, gates = session_folder / "models", Gates(tmp_path / "gates")
    CompiledModels.of(PROJECT / "dbt_project", models)
    gates.folder.mkdir()
    environment = shop.environment | {
        "PYTHONTZPATH": os.pathsep.join((str(tmp_path / "zones"), *zoneinfo.TZPATH)),
        "TEST_GATES": str(gates.folder),
        "TEST_MODELS": str(models),
    }
    home = Home(tmp_path / "home", environment, template=home_template(session_folder))
    operator = Operator(shop, home, gates)
    operator.deliver([*days, today.isoformat()])
    gates.close(days[:1])
    home.write_workspace("tests.support.location_with_gates")
    home.start_daemon(operator.daemon)
    try:
        with home.instance() as instance:
            wait_for(
                lambda: daemon_state(instance, datetime.now(UTC)).alive, seconds=60, what="a daemon"
            )
        command = operator.start("--days-per-run", "2")
        command.backfill_id()
        gates.wait_until_waiting(days[:1])
        wait_for(lambda: datetime.now(UTC) > midnight, seconds=80, what="midnight")
        gates.open(days)
        assert command.ends() == 0, command.output
    finally:
        gates.open(days)
        kill(home.daemon)
    assert "5 of 5 days done" in command.output
    assert list(operator.attempts([*days, today.isoformat()]).values()) == [
        *([("published", command.backfill_id())] for _ in days),
        [],
    ]
    ((begun, ended),) = query(
        shop.settings.warehouse_path,
        "select min(launched_at), (select max(finished_at) from ops.attempts) from ops.backfills",
    )
    assert begun < midnight < ended
