"""Dagster as users run it: its commands in processes of their own, its daemon, its web server."""

from __future__ import annotations

import os
import shutil
import signal
import socket
import subprocess
import sys
import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import Any
from unittest.mock import patch

import dagster as dg
import httpx
import psutil
from filelock import FileLock

PROJECT = Path(__file__).resolve().parents[2]
BIN = Path(sys.executable).parent

_REPOSITORY = {"repositoryLocationName": "customer_pipeline", "repositoryName": "__repository__"}
# By so much a busy machine may be slower.
PATIENCE = 3
_ENDED = ("SUCCESS", "FAILURE", "CANCELED")


class Home:
    """A Dagster home of its own, and the environment in which its commands run.

    With a `template` (see `home_template`) it is a copy, which takes no time.
    """

    def __init__(
        self, folder: Path, environment: Mapping[str, str], *, template: Path | None = None
    ) -> None:
        self.folder = folder
        self.environment = {
            **os.environ,
            "PATH": f"{BIN}{os.pathsep}{os.environ['PATH']}",
            "DAGSTER_HOME": str(folder),
            **environment,
        }
        if template is not None:
            shutil.copytree(template, folder)
            return
        folder.mkdir(parents=True, exist_ok=True)
        shutil.copy(PROJECT / "dagster.yaml", folder)
        self.run("dagster", "instance", "migrate")

    @contextmanager
    def instance(self) -> Iterator[dg.DagsterInstance]:
        """The instance, in this process, with the environment of a command."""
        with patch.dict(os.environ, self.environment), dg.DagsterInstance.get() as instance:
            yield instance

    @property
    def index(self) -> Path:
        """The SQLite file in which Dagster mirrors the asset events of all runs."""
        return self.folder / "history" / "runs" / "index.db"

    def start(
        self, *command: str, cwd: Path = PROJECT, log: Path | None = None
    ) -> subprocess.Popen[str]:
        """Start a command in a process group of its own."""
        output = subprocess.PIPE if log is None else log.open("w")
        return subprocess.Popen(
            command,
            cwd=cwd,
            env=self.environment,
            stdout=output,
            stderr=subprocess.STDOUT,
            text=True,
            start_new_session=True,
        )

    def run(
        self, *command: str, cwd: Path = PROJECT, check: bool = True, timeout: float = 240
    ) -> subprocess.CompletedProcess[str]:
        """Run a command to its end; its output is in `stdout`."""
        process = self.start(*command, cwd=cwd)
        try:
            output, _ = process.communicate(timeout=timeout)
        except subprocess.TimeoutExpired:
            kill(process)
            raise
        done = subprocess.CompletedProcess(command, process.returncode, output)
        assert not check or done.returncode == 0, f"{' '.join(command)}\n{output[-4000:]}"
        return done

    def materialize(
        self, *arguments: str, select: str = "*", check: bool = True
    ) -> subprocess.CompletedProcess[str]:
        """`dagster asset materialize`, as the README says it."""
        return self.run(
            *("dagster", "asset", "materialize", "--select", select),
            *("-m", "customer_pipeline.definitions"),
            *arguments,
            check=check,
        )

    @contextmanager
    def services(
        self,
        module: str = "customer_pipeline.definitions",
        *,
        daemon: Sequence[str] = ("dagster-daemon",),
    ) -> Iterator[Api]:
        """The web server and the daemon over the location in `module`, until the block ends.

        Args:
            daemon: how the daemon's command begins.
        """
        port = _free_port()
        workspace = self.write_workspace(module)
        web = self.start(
            *("dagster-webserver", "-h", "127.0.0.1", "-p", str(port), "-w", str(workspace)),
            log=self.folder / "webserver.log",
        )
        self.start_daemon(daemon)
        try:
            api = Api(f"http://127.0.0.1:{port}/graphql")
            api.wait_until_loaded(web)
            yield api
        finally:
            for process in (self.daemon, web):
                kill(process, signal.SIGTERM)
            self._end_what_is_left()

    def write_workspace(self, module: str) -> Path:
        """The workspace of `services`: the location in `module`."""
        workspace = self.folder / "workspace.yaml"
        workspace.write_text(
            (PROJECT / "workspace.yaml")
            .read_text()
            .replace("customer_pipeline.definitions", module)
        )
        return workspace

    def _end_what_is_left(self) -> None:
        """What a test has orphaned by killing its parent would work on for ever."""
        for process in psutil.process_iter():
            with suppress(psutil.Error):
                if process.environ().get("DAGSTER_HOME") == str(self.folder):
                    process.kill()

    def start_daemon(self, command: Sequence[str] = ("dagster-daemon",)) -> None:
        """The daemon of `services`, which a test may have killed."""
        self.daemon = self.start(
            *(*command, "run", "-w", str(self.folder / "workspace.yaml")),
            log=self.folder / "daemon.log",
        )

    @property
    def output(self) -> str:
        """What the web server and the daemon, and the runs that they started, have printed."""
        return "".join(log.read_text() for log in self.folder.glob("*.log"))


def home_template(session_folder: Path) -> Path:
    """A Dagster home that is set up as `make install` does it, once for all processes."""
    template = session_folder / "dagster_home"
    with FileLock(session_folder / ".dagster_home.lock"):
        if not template.exists():
            beside = Home(session_folder / "dagster_home_in_the_making", {})
            beside.folder.rename(template)
    return template


class Api:
    """The web server's GraphQL, with the very queries that the UI sends."""

    def __init__(self, url: str) -> None:
        self.url = url

    def ask(self, query: str, **variables: Any) -> dict[str, Any]:
        answer = httpx.post(self.url, json={"query": query, "variables": variables}, timeout=60)
        body = answer.json()
        assert "errors" not in body, body
        return body["data"]

    def wait_until_loaded(self, web: subprocess.Popen[str]) -> None:
        def loaded() -> bool:
            assert web.poll() is None, "the web server ended"
            try:
                entries = self.ask(
                    "{workspaceOrError{...on Workspace{locationEntries{name loadStatus"
                    " locationOrLoadError{__typename}}}}}"
                )["workspaceOrError"]["locationEntries"]
            except httpx.TransportError:
                return False
            return [
                (entry["name"], entry["loadStatus"], entry["locationOrLoadError"]["__typename"])
                for entry in entries
            ] == [("customer_pipeline", "LOADED", "RepositoryLocation")]

        wait_for(loaded, seconds=120, what="the code location")

    def launch_backfill(self, assets: Sequence[Sequence[str]], keys: Sequence[str]) -> str:
        """What the UI's "Launch backfill" sends; returns the backfill's id."""
        answer = self.ask(
            """
            mutation LaunchPartitionBackfill($backfillParams: LaunchBackfillParams!) {
              launchPartitionBackfill(backfillParams: $backfillParams) {
                __typename
                ... on LaunchBackfillSuccess { backfillId }
                ... on Error { message }
              }
            }
            """,
            backfillParams={
                "assetSelection": [{"path": list(path)} for path in assets],
                "partitionNames": list(keys),
                "fromFailure": False,
                "tags": [],
            },
        )["launchPartitionBackfill"]
        assert answer["__typename"] == "LaunchBackfillSuccess", answer
        return answer["backfillId"]

    def cancel_backfill(self, backfill_id: str) -> None:
        """What "Cancel backfill submission" sends."""
        answer = self.ask(
            "mutation($id: String!){cancelPartitionBackfill(backfillId: $id){__typename}}",
            id=backfill_id,
        )["cancelPartitionBackfill"]
        assert answer["__typename"] == "CancelBackfillSuccess", answer

    def wait_for_backfill(self, backfill_id: str, *, seconds: float = 240) -> str:
        """Wait until a backfill has ended; returns its status."""

        def status() -> str | None:
            found = self.backfill(backfill_id)["status"]
            return (
                found if found not in ("REQUESTED", "CANCELING", "COMPLETING", "FAILING") else None
            )

        return wait_for(status, seconds=seconds, what=f"backfill {backfill_id}")

    def backfill(self, backfill_id: str) -> dict[str, Any]:
        return self.ask(
            "query($id: String!){partitionBackfillOrError(backfillId: $id){...on PartitionBackfill"
            "{status error{message} runs(limit: 500){id status tags{key value}}}}}",
            id=backfill_id,
        )["partitionBackfillOrError"]

    def asset_keys(self) -> list[list[str]]:
        nodes = self.ask("{assetNodes{assetKey{path}}}")["assetNodes"]
        return sorted(node["assetKey"]["path"] for node in nodes)

    def launch_days(
        self, job: str, keys: Sequence[str], tags: Mapping[str, str] | None = None
    ) -> list[str]:
        """A run of a job for each day, all asked for at once; returns their ids."""
        more_tags = [{"key": key, "value": value} for key, value in (tags or {}).items()]
        answer = self.ask(
            """
            mutation LaunchMultipleRuns($executionParamsList: [ExecutionParams!]!) {
              launchMultipleRuns(executionParamsList: $executionParamsList) {
                __typename
                ... on LaunchMultipleRunsResult {
                  launchMultipleRunsResult {
                    __typename
                    ... on LaunchRunSuccess { run { runId } }
                    ... on PythonError { message }
                  }
                }
              }
            }
            """,
            executionParamsList=[
                {
                    "selector": _REPOSITORY | {"pipelineName": job},
                    "mode": "default",
                    "executionMetadata": {
                        "tags": [{"key": "dagster/partition", "value": key}, *more_tags]
                    },
                }
                for key in keys
            ],
        )["launchMultipleRuns"]
        launched = answer["launchMultipleRunsResult"]
        assert {one["__typename"] for one in launched} == {"LaunchRunSuccess"}, launched
        return [one["run"]["runId"] for one in launched]

    def start_schedule(self, name: str) -> None:
        """What the switch beside a schedule sends."""
        answer = self.ask(
            "mutation($selector: ScheduleSelector!){startSchedule(scheduleSelector: $selector)"
            "{__typename ...on ScheduleStateResult{scheduleState{status}}}}",
            selector=_REPOSITORY | {"scheduleName": name},
        )["startSchedule"]
        assert answer["scheduleState"]["status"] == "RUNNING", answer

    def start_sensor(self, name: str) -> None:
        """What the switch beside a sensor sends."""
        answer = self.ask(
            "mutation($selector: SensorSelector!){startSensor(sensorSelector: $selector)"
            "{__typename ...on Sensor{sensorState{status}}}}",
            selector=_REPOSITORY | {"sensorName": name},
        )["startSensor"]
        assert answer["sensorState"]["status"] == "RUNNING", answer

    def ticks(self, schedule: str) -> list[dict[str, Any]]:
        """The ticks of a schedule that have ended, oldest first."""
        found = self.ask(
            "query($selector: ScheduleSelector!){scheduleOrError(scheduleSelector: $selector)"
            "{...on Schedule{scheduleState{ticks{status runKeys runIds skipReason timestamp}}}}}",
            selector=_REPOSITORY | {"scheduleName": schedule},
        )["scheduleOrError"]["scheduleState"]["ticks"]
        return [tick for tick in reversed(found) if tick["status"] != "STARTED"]

    def sensor_ticks(self, sensor: str) -> list[dict[str, Any]]:
        """The ticks of a sensor that have ended, oldest first."""
        found = self.ask(
            "query($selector: SensorSelector!){sensorOrError(sensorSelector: $selector)"
            "{...on Sensor{sensorState{ticks(limit: 20){status runIds skipReason timestamp"
            " error{message}}}}}}",
            selector=_REPOSITORY | {"sensorName": sensor},
        )["sensorOrError"]["sensorState"]["ticks"]
        return [tick for tick in reversed(found) if tick["status"] != "STARTED"]

    def runs(self) -> dict[str, dict[str, Any]]:
        """All runs by id: job, status, start and end (in seconds since the epoch), tags by name."""
        found = self.ask(
            "{runsOrError{...on Runs{results{runId jobName status startTime endTime"
            " tags{key value}}}}}"
        )
        return {
            run["runId"]: {
                "job": run["jobName"],
                "status": run["status"],
                "started": run["startTime"],
                "ended": run["endTime"],
                "tags": {tag["key"]: tag["value"] for tag in run["tags"]},
            }
            for run in found["runsOrError"]["results"]
        }

    def wait_for_runs(self, count: int, *, seconds: float = 240) -> dict[str, dict[str, Any]]:
        """Wait until there are `count` runs and all have ended. (What follows when something was
        published does not count: that is a refresh by the sensor, now or a little later.)"""

        def ended() -> dict[str, dict[str, Any]] | None:
            every = self.runs()
            runs = {key: run for key, run in every.items() if run["job"] != "reporting_refresh"}
            over = [run for run in runs.values() if run["status"] in _ENDED]
            return runs if len(over) == len(runs) >= count else None

        return wait_for(ended, seconds=seconds, what=f"{count} runs to end")

    def partition_statuses(self, path: Sequence[str]) -> dict[str, list[str]]:
        """The days of an asset, as the UI colours them: `materialized`, `failed`."""
        found = self.ask(
            """
            query($key: AssetKeyInput!) {
              assetNodeOrError(assetKey: $key) {
                ... on AssetNode {
                  assetPartitionStatuses {
                    ... on TimePartitionStatuses {
                      ranges { status startKey endKey }
                    }
                  }
                }
              }
            }
            """,
            key={"path": list(path)},
        )["assetNodeOrError"]["assetPartitionStatuses"]["ranges"]
        ranges: dict[str, list[str]] = {}
        for one in found:
            keys = _days(one["startKey"], one["endKey"])
            ranges.setdefault(one["status"].lower(), []).extend(keys)
        return ranges


def wait_for(condition: Callable[[], Any], *, seconds: float, what: str, pause: float = 0.5) -> Any:
    """Ask again and again, every `pause` seconds, until `condition` gives something true, and return
    that; after `seconds`, and a few times that on a busy machine, it is an error."""
    until = time.monotonic() + PATIENCE * seconds
    while time.monotonic() < until:
        if found := condition():
            return found
        time.sleep(pause)
    raise AssertionError(f"waited {seconds:g} s for {what}")


def kill(process: subprocess.Popen[str], how: signal.Signals = signal.SIGKILL) -> None:
    """End a command and everything it has started."""
    try:
        os.killpg(process.pid, how)
        process.wait(timeout=20)
    except ProcessLookupError:
        pass
    except subprocess.TimeoutExpired:
        os.killpg(process.pid, signal.SIGKILL)
        process.wait()


def _days(first: str, last: str) -> list[str]:
    from datetime import date, timedelta

    start, end = date.fromisoformat(first), date.fromisoformat(last)
    return [(start + timedelta(days=n)).isoformat() for n in range((end - start).days + 1)]


def _free_port() -> int:
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        return probe.getsockname()[1]
