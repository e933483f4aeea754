"""A service in this process and at a real socket, and one way to ask it, the library, the plain and the awaited client alike."""

from __future__ import annotations

import threading
import time
from collections.abc import AsyncIterator, Callable, Iterator
from contextlib import contextmanager
from typing import Any

import httpx
import uvicorn
from anyio.from_thread import BlockingPortal, start_blocking_portal
from starlette.types import ASGIApp
from tacit.api import AsyncClient, Client


class Bridge(httpx.BaseTransport):
    """Carries a plain client's requests to an application that lives on the loop behind ``portal``."""

    def __init__(self, app: ASGIApp, portal: BlockingPortal) -> None:
        self._there = httpx.ASGITransport(app)
        self._portal = portal

    def handle_request(self, request: httpx.Request) -> httpx.Response:
        async def handle() -> httpx.Response:
            sent = httpx.Request(request.method, request.url, headers=request.headers, content=request.read())
            response = await self._there.handle_async_request(sent)
            return httpx.Response(response.status_code, headers=response.headers, content=await response.aread())

        return self._portal.call(handle)


class Awaited:
    """An awaited client used as a plain one: calls are awaited, streams are read to their ends, behind ``portal``."""

    def __init__(self, client: AsyncClient, portal: BlockingPortal) -> None:
        self._client, self._portal = client, portal

    def __getattr__(self, name: str) -> Callable[..., Any]:
        method = getattr(self._client, name)

        def call(*values: Any, **named: Any) -> Any:
            async def ask() -> Any:
                answer = method(*values, **named)
                return [row async for row in answer] if isinstance(answer, AsyncIterator) else await answer

            return self._portal.call(ask)

        return call


@contextmanager
def in_process(app: ASGIApp) -> Iterator[tuple[Client, Awaited]]:
    """Both clients of ``app``, without a socket."""
    with start_blocking_portal() as portal, Client(transport=Bridge(app, portal)) as plain:
        awaited = AsyncClient(transport=httpx.ASGITransport(app))
        yield plain, Awaited(awaited, portal)
        portal.call(awaited.close)


@contextmanager
def at_socket(app: ASGIApp) -> Iterator[str]:
    """The address at which a server in a thread of its own answers for ``app``."""
    server = uvicorn.Server(uvicorn.Config(app, port=0, log_level="error"))  # type: ignore[arg-type]
    thread = threading.Thread(target=server.run, daemon=True)
    thread.start()
    while not server.started:
        assert thread.is_alive()
        time.sleep(0.01)
    yield f"http://127.0.0.1:{server.servers[0].sockets[0].getsockname()[1]}"
    server.should_exit = True
    thread.join(10)


@contextmanager
def over_socket(url: str, **options: Any) -> Iterator[tuple[Client, Awaited]]:
    """Both clients of the service at ``url``."""
    with start_blocking_portal() as portal, Client(url, **options) as plain:
        awaited = AsyncClient(url, **options)
        yield plain, Awaited(awaited, portal)
        portal.call(awaited.close)
