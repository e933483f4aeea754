"""The HTTP server: uvicorn with its httptools parser, plus limits per connection and client, and graceful shutdown.

uvicorn limits neither the size and time of a request head, the size of trailers, the number of pipelined requests, the
connections of one client, nor the time in which a client reads the response. It also drops the response to a client that has
half-closed the connection. :class:`Connection` adds all this to uvicorn's protocol class. The limits of a body are in
:mod:`.middleware`.
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
from contextlib import suppress
from ipaddress import ip_address, ip_network
from types import FrameType
from typing import ClassVar

import uvicorn
from starlette.types import ASGIApp
from uvicorn.protocols.http.httptools_impl import HttpToolsProtocol

from ...graph.errors import InputError
from .problems import Problem
from .service import Settings
from .telemetry import log

_SWITCH_SECONDS = 0.0002
_PIPELINED = 16
"""Pipelined requests that a connection may have open."""
_HEADER_SIGNS = len(b": \r\n")
_OTHER_FILES = 256
"""File descriptors that are reserved for the graph, models and the log."""
_WARN_SECONDS = 10.0
_GRACE_SECONDS = 0.1
_NOT_HTTP = Problem(
    400, "invalid-http", "this is not valid HTTP, or its URL and headers are too long; send long texts in the body of a POST"
)


class Connection(HttpToolsProtocol):
    """A connection with limits; see the module's docstring.

    A head has ``header_seconds`` to arrive, and what follows it ``body_seconds``, also when the request was refused meanwhile.
    Bytes that are not part of a body (heads, chunk headers, trailers) are counted, so that none of them is unlimited. Trailers
    are dropped.
    """

    settings = Settings()
    counted: ClassVar[Counter[str]] = Counter()
    """Number of open connections by client."""
    warned = float("-inf")

    def connection_made(self, transport: asyncio.Transport) -> None:  # type: ignore[override]
        """Count the connection, and expect a head."""
        super().connection_made(transport)
        self._client = client_of(self.client[0] if self.client else "")
        self._in_message, self._framing, self._fields = False, 0, 0
        self._receive_timer: asyncio.TimerHandle | None = None
        self._write_timer: asyncio.TimerHandle | None = None
        self.counted[self._client] += 1
        if self.counted[self._client] > self.settings.client_connections:
            self._warn()
            transport.abort()
        elif len(self.connections) > self.settings.connections:
            transport.abort()
        else:
            self._expect(self.settings.header_seconds)

    def data_received(self, data: bytes) -> None:
        """Close the connection when too much of what arrived is not part of a body."""
        if self._receive_timer is None and not self._in_message:
            self._expect(self.settings.header_seconds)
        self._framing += len(data)
        super().data_received(data)
        if self._framing > self.settings.header_bytes:
            self.transport.abort()

    def eof_received(self) -> bool:  # type: ignore[override]
        """Keep a half-closed connection open until its request is answered."""
        if self.cycle is None or self.cycle.response_complete or self.cycle.more_body:
            return False
        self.cycle.keep_alive = False
        return True

    def on_message_begin(self) -> None:
        """Count the bytes of the head from here on."""
        self._fields = 0
        super().on_message_begin()

    def on_url(self, url: bytes) -> None:
        """Count the bytes of the URL."""
        self._fields += len(url)
        super().on_url(url)

    def on_header(self, name: bytes, value: bytes) -> None:
        """Keep headers, drop trailers, and count the bytes of both."""
        self._fields += len(name) + len(value) + _HEADER_SIGNS
        if not self._in_message:
            super().on_header(name, value)
        elif self._fields > self.settings.header_bytes:
            self.transport.abort()

    def on_headers_complete(self) -> None:
        """Start the request; an error raised here becomes a 400 and closes the connection."""
        if len(self.pipeline) >= _PIPELINED:
            raise ValueError("too many pipelined requests on this connection")
        if self._fields > self.settings.header_bytes:  # which data_received cannot tell when the head arrives at once
            raise ValueError("the head of the request is too long")
        self._in_message, self._framing, self._fields = True, 0, 0
        self._expect(self.settings.body_seconds)
        super().on_headers_complete()

    def on_body(self, body: bytes) -> None:
        """Count the bytes from here on."""
        self._framing = 0
        super().on_body(body)

    def on_message_complete(self) -> None:
        """Stop waiting; after a request that was refused before it was complete, expect the next head."""
        self._in_message, self._framing = False, 0
        self._stop(self._receive_timer)
        self._receive_timer = None
        if self.cycle.response_complete:
            self._expect(self.settings.header_seconds)
        super().on_message_complete()

    def send_400_response(self, msg: str) -> None:  # noqa: ARG002
        """Answer what is not valid HTTP with a problem document, as every other error."""
        response = _NOT_HTTP.response({"path": ""})
        headers = [*response.raw_headers, (b"x-content-type-options", b"nosniff"), (b"connection", b"close")]
        head = b"".join(name + b": " + value + b"\r\n" for name, value in headers)
        self.transport.write(b"HTTP/1.1 400 Bad Request\r\n" + head + b"\r\n" + bytes(response.body))
        self.transport.close()

    def pause_writing(self) -> None:
        """Close the connection if the client does not read its response within ``request_seconds``."""
        super().pause_writing()
        self._write_timer = self.loop.call_later(self.settings.request_seconds, self.transport.abort)

    def resume_writing(self) -> None:
        """Stop the timer of :meth:`pause_writing`."""
        super().resume_writing()
        self._stop(self._write_timer)

    def connection_lost(self, exc: Exception | None) -> None:
        """Stop the timers, and count the connection as closed."""
        self._stop(self._receive_timer)
        self._stop(self._write_timer)
        self.counted[self._client] -= 1
        if not self.counted[self._client]:
            del self.counted[self._client]
        super().connection_lost(exc)

    def _expect(self, seconds: float) -> None:
        self._stop(self._receive_timer)
        self._receive_timer = self.loop.call_later(seconds, self._receive_timed_out)

    def _receive_timed_out(self) -> None:
        answering = self.cycle is not None and not (self.cycle.response_complete or self.cycle.more_body)
        if answering or self.flow.read_paused:  # until the previous request is answered
            self._expect(self.settings.header_seconds)
        else:  # after a short grace period, since data that arrived while the loop was busy is read after this
            self._receive_timer = self.loop.call_later(_GRACE_SECONDS, self.transport.abort)

    @staticmethod
    def _stop(timer: asyncio.TimerHandle | None) -> None:
        if timer is not None:
            timer.cancel()

    def _warn(self) -> None:
        if time.monotonic() - Connection.warned > _WARN_SECONDS:
            Connection.warned = time.monotonic()
            limit = f"{self.settings.client_connections:,}"
            log("warning", "connections", client=self._client, detail=f"more than client_connections = {limit}; closing new ones")


def client_of(address: str) -> str:
    """Return the client at ``address``: an IPv4 address, or an IPv6 /64 network, which usually belongs to one client."""
    try:
        parsed = ip_address(address.partition("%")[0])
    except ValueError:
        return address
    return address if parsed.version == 4 else str(parsed.ipv4_mapped or ip_network((parsed, 64), strict=False))


class Server(uvicorn.Server):
    """uvicorn that logs start and stop (unless ``quiet``) and exits with status 0 after a graceful shutdown."""

    def __init__(self, config: uvicorn.Config, *, quiet: bool = False) -> None:
        super().__init__(config)
        self._quiet = quiet
        self._signal = ""

    def handle_exit(self, sig: int, frame: FrameType | None) -> None:
        """Shut down gracefully; a second SIGINT stops at once."""
        super().handle_exit(sig, frame)
        self._signal = signal.Signals(sig).name
        self._captured_signals.clear()  # uvicorn would raise the signal again at the end

    async def startup(self, sockets: list[socket.socket] | None = None) -> None:
        """Start to listen, and log the URL."""
        await super().startup(sockets)
        for sock in sockets or ():
            host, port, *_ = sock.getsockname()
            self._log("listening", url=f"http://{f'[{host}]' if ':' in host else host}:{port}")

    async def shutdown(self, sockets: list[socket.socket] | None = None) -> None:
        """Refuse new connections, finish the running requests, and log both."""
        running = len(self.server_state.tasks)
        seconds = self.config.timeout_graceful_shutdown
        detail = f"{self._signal or 'stop'}: no new connections; finishing {running} request{'' if running == 1 else 's'}"
        self._log("stopping", running=running, detail=detail + (f" within {seconds} seconds" if running else ""))
        await super().shutdown(sockets)
        unfinished = len(self.server_state.tasks)
        detail = f"{unfinished} requests were cut off" if unfinished else "all requests are answered"
        self._log("stopped", unfinished=unfinished, detail=detail)

    def _log(self, event: str, **members: object) -> None:
        if not self._quiet:
            log("info", event, **members)


def bind(host: str, port: int) -> socket.socket:
    """Return a socket that is bound to an address but does not listen yet."""
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
        raise InputError(f"cannot listen on {host}:{port} ({reason.lower()}); give another --host or --port") from error
    return bound


def serve(app: ASGIApp, bound: socket.socket, settings: Settings, *, quiet: bool = False) -> None:
    """Run ``app`` on a socket from :func:`bind` until the process gets a signal; ``quiet``: log errors only."""
    _tune()
    config = server_config(app, settings)
    Server(config, quiet=quiet).run([bound])


def server_config(app: ASGIApp, settings: Settings) -> uvicorn.Config:
    """Return uvicorn's configuration for ``app``; raises the limit of open files as far as ``connections`` need it."""
    with suppress(ImportError):
        import resource

        soft, hard = resource.getrlimit(resource.RLIMIT_NOFILE)
        needed_files = settings.connections + _OTHER_FILES
        if resource.RLIM_INFINITY != soft < needed_files:
            resource.setrlimit(
                resource.RLIMIT_NOFILE, (needed_files if hard == resource.RLIM_INFINITY else min(needed_files, hard), hard)
            )
    return uvicorn.Config(
        app,
        http=type("Connection", (Connection,), {"settings": settings, "counted": Counter()}),
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


def _tune() -> None:
    """Shorten the thread switch interval, freeze the objects loaded so far and raise the GC threshold.

    With the default interval a scoring thread holds the interpreter for 5 ms at a time, which delays every response. The graph
    and the models are never garbage, but a full collection would traverse them for a third of a second.
    """
    sys.setswitchinterval(_SWITCH_SECONDS)
    gc.collect()
    gc.freeze()
    gc.set_threshold(20_000, 20, 50)
