"""What the tests of the service share: the sample graph behind an application, asked in this process or over a real socket."""

from __future__ import annotations

import asyncio
import json
import os
import re
import signal
import subprocess
import sys
import threading
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from typing import Any

import httpx
import pytest
from tacit.api.server import Settings, create_app
from tacit.graph import KnowledgeGraph, open_graph, open_index
from tacit.reasoning import Reasoner

HISTORY = ["I am so hungry.", "What shall we cook tonight?"]
RESPONSE = "Let's make a soup with the carrots and onions from the fridge."
PROGRAM = "import sys; from tacit.api.main import main; sys.argv[0] = 'tacit'; main()"


class InProcessClient:
    """HTTP client of an application in this process, without a socket."""

    def __init__(self, app: Any) -> None:
        self.app = app

    def __call__(self, method: str, path: str, **content: Any) -> httpx.Response:
        return asyncio.run(self._ask(method, path, content))

    async def _ask(self, method: str, path: str, content: Mapping[str, Any]) -> httpx.Response:
        transport = httpx.ASGITransport(self.app, raise_app_exceptions=False)
        async with httpx.AsyncClient(transport=transport, base_url="http://service") as client:
            return await client.request(method, path, **content)

    def together(self, requests: Sequence[tuple[str, str, Any]]) -> list[httpx.Response]:
        """Ask all of ``(method, path, json)`` at once."""

        async def all_of_them() -> list[httpx.Response]:
            return await asyncio.gather(*(self._ask(method, path, {"json": body}) for method, path, body in requests))

        return asyncio.run(all_of_them())


@pytest.fixture(scope="session")
def index(sample_graph: str) -> Iterator[KnowledgeGraph]:
    """The index of the sample graph."""
    with open_graph(sample_graph) as store, open_index(store) as opened:
        yield opened


@pytest.fixture(scope="session")
def reasoner(index: KnowledgeGraph) -> Reasoner:
    """Two metrics over the sample graph."""
    return Reasoner(index, ["grounding", "length"])


@pytest.fixture
def service(reasoner: Reasoner) -> Iterator[Callable[..., InProcessClient]]:
    """A maker of applications over the reasoner, with settings of the test's own."""
    applications: list[Any] = []

    def make(served: Reasoner = reasoner, **settings: Any) -> InProcessClient:
        keys, logging = settings.pop("keys", None), settings.pop("logging", False)
        applications.append(create_app(served, settings=Settings(**settings), keys=keys, logging=logging))
        return InProcessClient(applications[-1])

    yield make
    for app in applications:
        app.state.service.close()


@pytest.fixture
def ask(service: Callable[..., InProcessClient]) -> InProcessClient:
    """An application with the default settings."""
    return service()


class Running:
    """``tacit serve`` as a process."""

    def __init__(self, process: subprocess.Popen[str]) -> None:
        self.process = process
        self.lines: list[str] = []
        assert process.stderr is not None
        self.port = 0
        for line in process.stderr:
            self.lines.append(line)
            match = re.search(r'"url":"http://[^"]*:(\d+)"', line)
            if match:
                self.port = int(match[1])
                break
        assert self.port, self.lines
        self.url = f"http://127.0.0.1:{self.port}"
        self._reader = threading.Thread(target=lambda: self.lines.extend(process.stderr or ()), daemon=True)
        self._reader.start()

    def stop(self) -> int:
        """Send SIGTERM and return the exit status."""
        self.process.send_signal(signal.SIGTERM)
        status = self.process.wait(60)
        self._reader.join(10)
        return status

    def events(self) -> list[dict[str, Any]]:
        """The lines of its log."""
        return [json.loads(line) for line in self.lines if line.startswith("{")]


@contextmanager
def serving(*words: str, **environment: str) -> Iterator[Running]:
    """Run ``tacit serve`` with these words on a free port of this machine, and stop it afterwards."""
    process = subprocess.Popen(
        [sys.executable, "-c", PROGRAM, "serve", *words, "--metrics", "grounding", "--port", "0"],
        stderr=subprocess.PIPE,
        text=True,
        env={**os.environ, "OMP_NUM_THREADS": "1", **environment},
    )
    try:
        yield Running(process)
    finally:
        if process.poll() is None:
            process.kill()
        process.wait()


@pytest.fixture(scope="session")
def running(sample_graph: str) -> Iterator[Running]:
    """A service over the sample graph with short patience for slow clients, shared by the tests over a socket."""
    limits = ["header_seconds=2", "body_seconds=1", "idle_seconds=1", "request_seconds=20", "body_bytes=1000000"]
    with serving(sample_graph, *(word for limit in limits for word in ("--limit", limit))) as service:
        yield service
