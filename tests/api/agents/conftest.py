"""What the tests of the MCP server share: the SDK's own client, in this process, over stdio and over HTTP."""

from __future__ import annotations

import os
import subprocess
import sys
from collections.abc import Awaitable, Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import httpx2
import pytest
from anyio.from_thread import BlockingPortal, start_blocking_portal
from mcp import Client, StdioServerParameters
from mcp.client.streamable_http import streamable_http_client
from mcp.types import CallToolResult
from tacit.api.agents import create_server
from tacit.api.server import Settings, create_app
from tacit.api.server.keys import editing_keys, new_key
from tacit.graph import KnowledgeGraph
from tacit.reasoning import Reasoner

from tests.api.server.conftest import PROGRAM, Running
from tests.api.server.conftest import index as index
from tests.api.server.conftest import reasoner as reasoner

METRICS = ("--metrics", "grounding,length")


class Connected:
    """A client that is connected, called from this thread."""

    def __init__(self, client: Client, portal: BlockingPortal) -> None:
        self.client, self._portal = client, portal

    def run(self, function: Callable[..., Awaitable[Any]], *values: Any) -> Any:
        """Await ``function(*values)``, e.g. a method of the client."""
        return self._portal.call(function, *values)

    def call(self, tool: str, **arguments: Any) -> CallToolResult:
        """Call a tool."""
        result: CallToolResult = self._portal.call(self.client.call_tool, tool, arguments)
        return result

    def text(self, tool: str, **arguments: Any) -> str:
        """Return the first page of a result, which must not be an error."""
        result = self.call(tool, **arguments)
        assert not result.is_error, result.content
        return text_of(result)


def text_of(result: CallToolResult) -> str:
    """Return the text of a result's first part."""
    assert result.content[0].type == "text"
    return result.content[0].text


@contextmanager
def connected(server: Any, **options: Any) -> Iterator[Connected]:
    """Connect the SDK's client to a server, a program or an address."""
    with start_blocking_portal() as portal, portal.wrap_async_context_manager(Client(server, **options)) as client:
        yield Connected(client, portal)


@pytest.fixture(scope="session")
def near(reasoner: Reasoner, index: KnowledgeGraph) -> Iterator[Connected]:
    """A client of a server in this process, with few rows of Cypher."""
    app = create_app(reasoner, index, settings=Settings(cypher_rows=200, items=3))
    with connected(create_server(app)) as connection:
        yield connection
    app.state.service.close()


@pytest.fixture(scope="session")
def stdio(sample_graph: str) -> Iterator[Connected]:
    """A client of ``tacit mcp`` as a program."""
    words = ["-c", PROGRAM, "mcp", sample_graph, *METRICS]
    parameters = StdioServerParameters(command=sys.executable, args=words, env={"OMP_NUM_THREADS": "1", **cache()})
    with connected(parameters) as connection:
        yield connection


def cache() -> dict[str, str]:
    """The variables that the SDK does not pass on to a program by itself, and that tests need."""
    return {name: os.environ[name] for name in ("TACIT_CACHE", "XDG_CACHE_HOME", "HF_HUB_OFFLINE") if name in os.environ}


class Served(Running):
    """``tacit mcp --http`` as a process, and a key that it accepts."""

    key = ""


@pytest.fixture(scope="session")
def served(sample_graph: str, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Served]:
    """``tacit mcp GRAPH --http`` on a free port, with a key."""
    file = tmp_path_factory.mktemp("agents") / "keys"
    with serving_agents(sample_graph, file) as server:
        yield server


@contextmanager
def serving_agents(graph: str, file: Path) -> Iterator[Served]:
    """Run the server over HTTP with a new file of keys, and stop it afterwards."""
    key, entry = new_key("tests")
    with editing_keys(file, create=True) as entries:
        entries.append(entry)
    words = ["mcp", graph, *METRICS, "--http", "127.0.0.1:0", "--keys", str(file)]
    process = subprocess.Popen(
        [sys.executable, "-c", PROGRAM, *words], stderr=subprocess.PIPE, text=True, env={**os.environ, "OMP_NUM_THREADS": "1"}
    )
    try:
        server = Served(process)
        server.key = key
        yield server
    finally:
        if process.poll() is None:
            process.kill()
        process.wait()


@contextmanager
def over_http(served: Served, **options: Any) -> Iterator[Connected]:
    """A client over HTTP with the service's key."""
    http = httpx2.AsyncClient(headers={"Authorization": f"Bearer {served.key}"}, timeout=30)
    with connected(streamable_http_client(f"{served.url}/mcp", http_client=http), **options) as connection:
        yield connection


@pytest.fixture(scope="session", params=["stdio", "http", "http of 2025"])
def far(request: pytest.FixtureRequest) -> Iterator[Connected]:
    """Clients of both transports; over HTTP with the newest protocol and with the handshake of older ones."""
    if request.param == "stdio":
        yield request.getfixturevalue("stdio")
        return
    with over_http(request.getfixturevalue("served"), mode="auto" if request.param == "http" else "legacy") as connected:
        yield connected
