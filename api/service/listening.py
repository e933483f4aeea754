"""The server under the application: uvicorn, with patience that ends for clients that send or read too slowly, and a quiet end.

uvicorn waits for ever for the head of a connection's first request and for a client that does not read its answer; the protocol
here does not. On SIGTERM or SIGINT it takes no new connection, finishes what runs, and ends with status 0.
"""

from __future__ import annotations

import asyncio
import gc
import os
import socket
import sys
from types import FrameType

import uvicorn
from starlette.types import ASGIApp
from uvicorn.protocols.http.httptools_impl import HttpToolsProtocol

from ...graph.errors import InputError
from .observing import log
from .settings import Settings

_TURN_SECONDS = 0.0002


class PatientProtocol(HttpToolsProtocol):
    """A connection: its next head has to be whole in time and within bounds, and its answers have to be read."""

    settings = Settings()

    def connection_made(self, transport: asyncio.Transport) -> None:  # type: ignore[override]
        """Begin to wait for the first head."""
        super().connection_made(transport)
        self._in_head, self._head_bytes = True, 0
        self._stalled: asyncio.TimerHandle | None = None
        self._late: asyncio.TimerHandle | None = self.loop.call_later(self.settings.header_seconds, self._hang_up)

    def data_received(self, data: bytes) -> None:
        """Count the bytes of a head."""
        if self._in_head:
            self._head_bytes += len(data)
            if self._late is None:
                self._late = self.loop.call_later(self.settings.header_seconds, self._hang_up)
        super().data_received(data)
        if self._in_head and self._head_bytes > self.settings.header_bytes:
            self._hang_up()

    def on_headers_complete(self) -> None:
        """The head is whole."""
        self._in_head, self._head_bytes = False, 0
        self._forget_head()
        super().on_headers_complete()

    def on_message_complete(self) -> None:
        """The request is whole; another head may follow."""
        self._in_head = True
        super().on_message_complete()

    def pause_writing(self) -> None:
        """The client does not read as fast as it is answered."""
        super().pause_writing()
        self._stalled = self.loop.call_later(self.settings.request_seconds, self._hang_up)

    def resume_writing(self) -> None:
        """The client reads again."""
        super().resume_writing()
        if self._stalled is not None:
            self._stalled.cancel()

    def connection_lost(self, exc: Exception | None) -> None:
        """Wait for nothing more."""
        self._forget_head()
        if self._stalled is not None:
            self._stalled.cancel()
        super().connection_lost(exc)

    def _forget_head(self) -> None:
        if self._late is not None:
            self._late.cancel()
            self._late = None

    def _hang_up(self) -> None:
        self.transport.abort()


class Server(uvicorn.Server):
    """uvicorn that ends with status 0 when it was told to stop and did, and that says where it listens unless it is ``quiet``."""

    def __init__(self, config: uvicorn.Config, *, quiet: bool = False) -> None:
        super().__init__(config)
        self._quiet = quiet

    def handle_exit(self, sig: int, frame: FrameType | None) -> None:
        """Stop gracefully; a second SIGINT stops at once."""
        super().handle_exit(sig, frame)
        self._captured_signals.clear()  # else the signal would be raised again once all is done

    async def startup(self, sockets: list[socket.socket] | None = None) -> None:
        """Listen."""
        await super().startup(sockets)
        for one in () if self._quiet else sockets or ():
            host, port, *_ = one.getsockname()
            log("info", "listening", url=f"http://{f'[{host}]' if ':' in host else host}:{port}")


def bind(host: str, port: int) -> socket.socket:
    """Return a socket that is bound to an address and does not listen yet.

    Raises:
        InputError: there is no such address here, or something else listens at it.
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
        raise InputError(f"{host}:{port} cannot be listened at ({reason.lower()}); give another --host or --port") from error
    return bound


def serve(app: ASGIApp, bound: socket.socket, settings: Settings, *, quiet: bool = False) -> None:
    """Run ``app`` at a socket of :func:`bind` until the process is told to stop; ``quiet``: do not log where."""
    _keep_steady()
    protocol = type("Protocol", (PatientProtocol,), {"settings": settings})
    config = uvicorn.Config(
        app,
        http=protocol,
        ws="none",
        loop="auto",
        lifespan="on",
        log_config=None,
        access_log=False,
        proxy_headers=False,
        server_header=False,
        limit_concurrency=settings.connections,
        timeout_keep_alive=int(settings.idle_seconds) or 1,
        timeout_graceful_shutdown=int(settings.shutdown_seconds) or 1,
    )
    Server(config, quiet=quiet).run([bound])


def _keep_steady() -> None:
    """Let the thread that scores and the one that answers take turns often, and look for reference cycles rarely.

    A thread that scores keeps the interpreter for 5 ms at a time by default, and each answer that is sent then waits so long.
    What was opened (graph, pipeline, models) is never garbage, yet a full search for cycles walks through all of it, for a third
    of a second.
    """
    sys.setswitchinterval(_TURN_SECONDS)
    gc.collect()
    gc.freeze()
    gc.set_threshold(20_000, 20, 50)
