"""The server: uvicorn with its httptools parser, plus limits for slow or greedy clients and a graceful stop.

uvicorn does not limit the size or the time of a head, the size of trailers, the number of pipelined requests, the connections of
one client, or the time in which an answer is read. It also drops the answer to a client that has closed its sending side.
:class:`Connection` adds all this to uvicorn's protocol class; the parsing stays there. The limits of a body are in :mod:`.guard`.
"""

from __future__ import annotations

import asyncio
import gc
import os
import signal
import socket
import sys
import time
from collections import Counter
from dataclasses import replace
from ipaddress import ip_address, ip_network
from types import FrameType

import uvicorn
from starlette.types import ASGIApp
from uvicorn.protocols.http.httptools_impl import HttpToolsProtocol

from ...graph.errors import InputError
from .observing import log
from .service import Settings

_SWITCH_SECONDS = 0.0002
_PIPELINED = 16
"""Requests that a connection may send before the first of them is answered."""
_OTHER_FILES = 256
"""File descriptors that are kept free for the graph, models and the log."""
_WARN_SECONDS = 10.0
_GRACE_SECONDS = 0.1


class Connections:
    """Open connections by client: an IPv4 address, or an IPv6 network of 64 bits, which one client usually has to itself."""

    def __init__(self) -> None:
        self._open: Counter[str] = Counter()
        self._warned = float("-inf")

    def add(self, client: str, most: int) -> bool:
        """Count a connection; return whether the client has no more than ``most`` now."""
        self._open[client] += 1
        if self._open[client] <= most:
            return True
        if time.monotonic() - self._warned > _WARN_SECONDS:
            self._warned = time.monotonic()
            log("warning", "connections", client=client, detail=f"more than client_connections = {most:,}; closing new ones")
        return False

    def remove(self, client: str) -> None:
        """Forget a connection."""
        self._open[client] -= 1
        if self._open[client] <= 0:
            del self._open[client]

    @staticmethod
    def client(address: str) -> str:
        """Return the name under which connections from ``address`` are counted."""
        try:
            found = ip_address(address.partition("%")[0])
        except ValueError:
            return address
        if found.version == 6:
            return str(found.ipv4_mapped or ip_network((found, 64), strict=False))
        return address


class Connection(HttpToolsProtocol):
    """A connection with limits; see the module's text.

    Bytes of a head, of chunk headers and of trailers are counted since the last byte of a body, so that no part of a request can
    grow without end. Trailers are dropped.
    """

    settings = Settings()
    counted = Connections()

    def connection_made(self, transport: asyncio.Transport) -> None:  # type: ignore[override]
        """Count the connection, and wait for the first head."""
        super().connection_made(transport)
        self._client = Connections.client(self.client[0] if self.client else "")
        self._in_head, self._framing = True, 0
        self._stalled: asyncio.TimerHandle | None = None
        self._late: asyncio.TimerHandle | None = None
        allowed = self.counted.add(self._client, self.settings.client_connections)
        if not allowed or len(self.connections) > self.settings.connections:
            transport.abort()
        else:
            self._expect_head()

    def data_received(self, data: bytes) -> None:
        """Count what is not part of a body."""
        if self._in_head and self._late is None:
            self._expect_head()
        self._framing += len(data)
        super().data_received(data)
        if self._framing > self.settings.header_bytes:
            self.transport.abort()

    def eof_received(self) -> bool:  # type: ignore[override]
        """Answer a client that has sent its request and closed its sending side; close the connection after that."""
        if self.cycle is None or self.cycle.response_complete or self.cycle.more_body:
            return False
        self.cycle.keep_alive = False
        return True

    def on_header(self, name: bytes, value: bytes) -> None:
        """Keep a header of the head, drop one of the trailers."""
        if self._in_head:
            super().on_header(name, value)

    def on_headers_complete(self) -> None:
        """Begin to answer; an error raised here is a 400 and closes the connection."""
        if len(self.url) + sum(len(name) + len(value) for name, value in self.headers) > self.settings.header_bytes:
            raise ValueError("the head is too large")
        if len(self.pipeline) >= _PIPELINED:
            raise ValueError("too many requests wait on this connection")
        self._in_head, self._framing = False, 0
        self._cancel_late()
        super().on_headers_complete()

    def on_body(self, body: bytes) -> None:
        """Begin to count anew."""
        self._framing = 0
        super().on_body(body)

    def on_message_complete(self) -> None:
        """The request is whole, another one may follow."""
        self._in_head, self._framing = True, 0
        super().on_message_complete()

    def pause_writing(self) -> None:
        """The client does not read its answer: give it as long as a request may take."""
        super().pause_writing()
        self._stalled = self.loop.call_later(self.settings.request_seconds, self.transport.abort)

    def resume_writing(self) -> None:
        """The client reads again."""
        super().resume_writing()
        if self._stalled is not None:
            self._stalled.cancel()

    def connection_lost(self, exc: Exception | None) -> None:
        """Stop the timers, and forget the connection."""
        self._cancel_late()
        if self._stalled is not None:
            self._stalled.cancel()
        self.counted.remove(self._client)
        super().connection_lost(exc)

    def _expect_head(self) -> None:
        self._late = self.loop.call_later(self.settings.header_seconds, self._head_is_late)

    def _head_is_late(self) -> None:
        if self.cycle is not None and not self.cycle.response_complete:
            self._expect_head()  # reading is paused until the request before it is answered
        else:  # after a moment, since what arrived while the loop was busy is read after this
            self._late = self.loop.call_later(_GRACE_SECONDS, self.transport.abort)

    def _cancel_late(self) -> None:
        if self._late is not None:
            self._late.cancel()
            self._late = None


class Server(uvicorn.Server):
    """uvicorn that logs where it listens and how it stops (unless ``quiet``), and exits with status 0 after a graceful stop."""

    def __init__(self, config: uvicorn.Config, *, quiet: bool = False) -> None:
        super().__init__(config)
        self._quiet = quiet
        self._signal = ""

    def handle_exit(self, sig: int, frame: FrameType | None) -> None:
        """Stop gracefully; a second SIGINT stops at once."""
        super().handle_exit(sig, frame)
        self._signal = signal.Signals(sig).name
        self._captured_signals.clear()  # otherwise uvicorn raises the signal again at the end

    async def startup(self, sockets: list[socket.socket] | None = None) -> None:
        """Listen."""
        await super().startup(sockets)
        for one in sockets or ():
            host, port, *_ = one.getsockname()
            self._say("listening", url=f"http://{f'[{host}]' if ':' in host else host}:{port}")

    async def shutdown(self, sockets: list[socket.socket] | None = None) -> None:
        """Take no new connection, finish the requests that run, and say both."""
        running = len(self.server_state.tasks)
        seconds = self.config.timeout_graceful_shutdown
        told = f"{self._signal or 'stop'}: no new connections; finishing {running} request{'' if running == 1 else 's'}"
        self._say("stopping", running=running, detail=told + (f" within {seconds} seconds" if running else ""))
        await super().shutdown(sockets)
        left = len(self.server_state.tasks)
        self._say("stopped", unfinished=left, detail="all requests are answered" if not left else f"{left} requests were cut off")

    def _say(self, event: str, **members: object) -> None:
        if not self._quiet:
            log("info", event, **members)


def bind(host: str, port: int) -> socket.socket:
    """Return a socket that is bound to an address and does not listen yet.

    Raises:
        InputError: this machine has no such address, or the port is in use.
    """
    try:
        family, kind, protocol, _, address = socket.getaddrinfo(host, port, type=socket.SOCK_STREAM, flags=socket.AI_PASSIVE)[0]
        bound = socket.socket(family, kind, protocol)
        try:
            if os.name == "posix":
                bound.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
            bound.bind(address)
        except OSError:
            bound.close()
            raise
    except OSError as error:
        reason = error.strerror or str(error)
        raise InputError(f"cannot listen at {host}:{port} ({reason.lower()}); give another --host or --port") from error
    return bound


def serve(app: ASGIApp, bound: socket.socket, settings: Settings, *, quiet: bool = False) -> None:
    """Run ``app`` at a socket of :func:`bind` until the process is told to stop; ``quiet``: log only what goes wrong."""
    _tune()
    config = server_config(app, settings)
    Server(config, quiet=quiet).run([bound])


def server_config(app: ASGIApp, settings: Settings) -> uvicorn.Config:
    """Return uvicorn's configuration for ``app``; the limits of connections are lowered where the system allows fewer files."""
    connections = _open_files(settings.connections)
    own = min(settings.client_connections, max(1, connections // 2))
    limits = replace(settings, connections=connections, client_connections=own)
    return uvicorn.Config(
        app,
        http=type("Connection", (Connection,), {"settings": limits, "counted": Connections()}),
        ws="none",
        loop="auto",
        lifespan="on",
        log_config=None,
        access_log=False,
        proxy_headers=False,
        server_header=False,
        timeout_keep_alive=int(settings.idle_seconds) or 1,
        timeout_graceful_shutdown=int(settings.shutdown_seconds) or 1,
    )


def _open_files(connections: int) -> int:
    """Let this process open a file for each of ``connections``, and return how many connections it can have."""
    try:
        import resource
    except ImportError:
        return connections
    soft, hard = resource.getrlimit(resource.RLIMIT_NOFILE)
    wanted = connections + _OTHER_FILES
    if soft != resource.RLIM_INFINITY and soft < wanted:
        soft = wanted if hard == resource.RLIM_INFINITY else min(wanted, hard)
        resource.setrlimit(resource.RLIMIT_NOFILE, (soft, hard))
        return min(connections, max(2, soft - _OTHER_FILES))
    return connections


def _tune() -> None:
    """Switch threads often, and run the garbage collector rarely.

    By default a scoring thread keeps the interpreter for 5 ms at a time, and each answer waits that long. The opened graph and
    models are never garbage, but a full collection walks through all of them for a third of a second.
    """
    sys.setswitchinterval(_SWITCH_SECONDS)
    gc.collect()
    gc.freeze()
    gc.set_threshold(20_000, 20, 50)
