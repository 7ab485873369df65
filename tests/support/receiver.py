"""A local HTTP receiver of messages, as a chat or an on-call tool is one: it accepts, refuses, takes its
time, or is not there. Each path is a channel of its own.
"""

from __future__ import annotations

import json
import threading
import time
from collections import defaultdict
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Any


@dataclass(frozen=True)
class Received:
    """A message, when it came (seconds since the epoch), and with which status it was answered."""

    title: str
    body: str
    kind: str
    at: float
    status: int

    @property
    def text(self) -> str:
        return f"{self.title}\n{self.body}"


class Receiver:
    """The server, while it runs. A path whose statuses are used up accepts."""

    def __init__(self) -> None:
        self._received: dict[str, list[Received]] = defaultdict(list)
        self._answers: dict[str, list[int]] = defaultdict(list)
        self._always: dict[str, int] = {}
        self._delays: dict[str, float] = {}
        self._lock = threading.Lock()
        receiver = self

        class Handler(BaseHTTPRequestHandler):
            def do_POST(self) -> None:
                body = self.rfile.read(int(self.headers["content-length"]))
                self.send_response(receiver._take(self.path.strip("/"), json.loads(body)))
                self.end_headers()

            def log_message(self, *_: Any) -> None:
                pass

        self._server = ThreadingHTTPServer(("127.0.0.1", 0), Handler)
        self._server.daemon_threads = True
        # It looks that often, in seconds, whether it is to stop: that is how long stopping takes.
        threading.Thread(target=self._server.serve_forever, args=(0.01,), daemon=True).start()

    def url(self, path: str, parameters: str = "") -> str:
        return f"json://127.0.0.1:{self._server.server_port}/{path}{parameters}"

    def answer(self, path: str, *statuses: int) -> None:
        """Answer the next messages so."""
        self._answers[path] = list(statuses)

    def always(self, path: str, status: int) -> None:
        self._always[path] = status

    def delay(self, path: str, seconds: float) -> None:
        self._delays[path] = seconds

    def received(self, path: str) -> list[Received]:
        """All that came, taken or not."""
        with self._lock:
            return list(self._received[path])

    def taken(self, path: str) -> list[Received]:
        return [one for one in self.received(path) if one.status == 200]

    def titles(self, path: str) -> list[str]:
        return [one.title for one in self.taken(path)]

    def stop(self) -> None:
        self._server.shutdown()
        self._server.server_close()

    def _take(self, path: str, message: dict[str, Any]) -> int:
        time.sleep(self._delays.get(path, 0))
        with self._lock:
            answers = self._answers[path]
            status = answers.pop(0) if answers else self._always.get(path, 200)
            self._received[path].append(
                Received(message["title"], message["message"], message["type"], time.time(), status)
            )
        return status


@contextmanager
def receiver() -> Iterator[Receiver]:
    running = Receiver()
    try:
        yield running
    finally:
        running.stop()
