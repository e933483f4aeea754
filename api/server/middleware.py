"""ASGI middleware: request ID, Host and Origin checks, API key, limits of size and time, access log.

The middleware reads the whole body, within the limits, before it calls a route, so that a slow client does not occupy a
thread, nor a large body memory. :mod:`.listening` discards the body of a request that is refused before, and limits the time of
all bodies.
"""

from __future__ import annotations

import asyncio
import re
import secrets
import time
from collections.abc import Mapping, Sequence
from functools import lru_cache
from ipaddress import ip_address
from itertools import count
from typing import TYPE_CHECKING, Any
from urllib.parse import urlsplit

from starlette.requests import Request
from starlette.types import ASGIApp, Message, Receive, Scope, Send

from ...graph.errors import InputError
from .bodies import require_json
from .problems import Problem
from .telemetry import error_fields, log

if TYPE_CHECKING:
    from .service import Service

OPEN = frozenset({"/", "/healthz", "/readyz", "/openapi.json", "/docs", "/favicon.ico"})
"""Paths that need no key, in addition to those under ``/static/``."""

_SAFE_ID = re.compile(rb"[A-Za-z0-9._:/+=@-]{1,128}")
_HOST = re.compile(r"(\[[0-9A-Fa-f:.]+\]|[^\[\]:/@\s]+)(?::([0-9]{1,5}))?")
_LOOPBACK = frozenset({"localhost", "127.0.0.1", "::1"})
_SHOWN_TEXT = 2_000
_HEADERS = [(b"x-content-type-options", b"nosniff"), (b"cross-origin-resource-policy", b"same-origin")]
_RUN, _NUMBERS = secrets.token_hex(8), count(1)  # a random ID for each request would cost a system call


class HostPolicy:
    """Checks of the Host and Origin headers.

    A web page of another site can make a browser send requests to a service on this machine or in its network. Two checks prevent
    that, with and without API keys: Host must be an address of this service (else 421), which defeats DNS rebinding; and
    cross-site requests of browsers, recognised by Origin or Sec-Fetch-Site, are refused (403).

    Args:
        names: host names of the service, e.g. behind a proxy: ``tacit.example.org``, or ``tacit.example.org:8443`` when the port
            is neither 80 nor 443.
    """

    def __init__(self, names: Sequence[str] = ()) -> None:
        self._origins = {name.lower() for name in names}
        self._names = set(_LOOPBACK)
        for name in names:
            host = _hostname(name)
            if host is None:
                raise InputError(f"{name!r} is not a host name; give one such as tacit.example.org, without http://")
            self._names.add(host)

    def check(self, scope: Scope, headers: Mapping[bytes, bytes]) -> None:
        """Check that a request has one Host (400) of this service (421), and does not come from another site (403)."""
        hosts = [value for name, value in scope["headers"] if name == b"host"]
        if len(hosts) > 1 or (not hosts and scope.get("http_version") != "1.0"):
            raise Problem(400, "host", f"the request has {len(hosts)} Host headers; send one")
        host = hosts[0].decode("latin-1").lower() if hosts else ""
        if hosts:
            self._check_host(host, scope)
        origin = headers.get(b"origin")
        if origin is not None:
            site = _site(origin)
            if not site or (site != host and site not in self._origins):
                raise Problem(403, "cross-site", "the request comes from a page of another site; allow it with --host-name NAME")
        elif headers.get(b"sec-fetch-site") in (b"cross-site", b"same-site") and headers.get(b"sec-fetch-mode") != b"navigate":
            raise Problem(403, "cross-site", "the request comes from a page of another site; use the service's own page")

    def _check_host(self, host: str, scope: Scope) -> None:
        name = _hostname(host)
        if name is None or name not in self._names:
            server = scope.get("server")
            if name is None or server is None or name != _normalised_host(str(server[0])):
                raise Problem(
                    421,
                    "misdirected",
                    "the Host header is not a name of this service; use its address, or serve with --host-name NAME",
                )


def _site(origin: bytes) -> str:
    """Return ``host[:port]`` of an Origin, empty if it has none."""
    try:
        return urlsplit(origin.decode("latin-1").lower()).netloc
    except ValueError:
        return ""


@lru_cache(256)
def _hostname(host: str) -> str | None:
    """Return the name or address in ``host[:port]``, None if it is neither."""
    match = _HOST.fullmatch(host)
    return _normalised_host(match[1].removeprefix("[").removesuffix("]")) if match else None


def _normalised_host(name: str) -> str:
    """Return a host name or address in normal form."""
    try:
        address = ip_address(name.partition("%")[0])
    except ValueError:
        return name.lower().removesuffix(".")
    return str(getattr(address, "ipv4_mapped", None) or address)


class RequestMiddleware:
    """The middleware of the service; a HEAD request is handled as GET, and answered without the body (RFC 9110, 9.3.2)."""

    def __init__(self, app: ASGIApp, service: Service) -> None:
        self._app = app
        self._service = service
        self._settings = service.settings
        self.bytes_in_memory = 0  # of all request bodies

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        if scope["type"] != "http":
            await self._app(scope, receive, send)
            return
        started = time.perf_counter()
        cycle = _Cycle(scope, receive, send)
        scope = cycle.scope
        scope["tacit.error_form"] = self._service.error_forms.get(scope["path"].lstrip("/").partition("/")[0])
        try:
            async with asyncio.timeout(self._settings.request_seconds) as limit:
                await self._serve(cycle)
        except Problem as problem:
            await cycle.answer(problem)
        except TimeoutError as error:
            if not limit.expired():
                await self._failed(cycle, error)
            else:
                await cycle.answer(
                    Problem(
                        504,
                        "timeout",
                        f"the request took longer than {self._settings.request_seconds:g} seconds; send less at once",
                    )
                )
        except asyncio.CancelledError:
            cycle.status = cycle.status or 499
            raise
        except Exception as error:
            await self._failed(cycle, error)
        finally:
            self.bytes_in_memory -= len(cycle.body)
            self._record(cycle, (cycle.answered or time.perf_counter()) - started)

    async def _serve(self, cycle: _Cycle) -> None:
        scope = cycle.scope
        path = scope["path"]
        self._service.host_policy.check(scope, cycle.headers)
        if self._service.keys is not None and path not in OPEN and not path.startswith("/static/"):
            cycle.key = self._service.keys.admit(cycle.headers)
        if cycle.unread:
            require_json(cycle.headers.get(b"content-type", b""))
            await self._read(cycle)
        direct = self._service.direct.get((scope["method"], path))
        if direct is None:
            await self._app(scope, cycle.receive, cycle.send)
        else:  # FastAPI's routing would cost as much as scoring a short item
            response = await direct(Request(scope, cycle.receive))
            await response(scope, cycle.receive, cycle.send)

    async def _read(self, cycle: _Cycle) -> None:
        """Read the body within the limits of size."""
        max_bytes = self._settings.body_bytes
        too_large = Problem(413, "too-large", f"the body is larger than {max_bytes:,} bytes; send less at once")
        declared = cycle.headers.get(b"content-length", b"")
        if declared.isdigit() and int(declared[:20]) > max_bytes:
            raise too_large
        while cycle.unread:
            part = await cycle.part()
            if len(cycle.body) + len(part) > max_bytes:
                raise too_large
            if self.bytes_in_memory + len(part) > self._settings.bodies_bytes:
                raise Problem(429, "busy", "the service is processing as many requests as it can hold; try again in a moment")
            cycle.body += part
            self.bytes_in_memory += len(part)

    async def _failed(self, cycle: _Cycle, error: Exception) -> None:
        """Respond with 500 and the request ID, and log where the error was raised."""
        log("error", "failure", request_id=cycle.request_id, **error_fields(error))
        await cycle.answer(
            Problem(500, "failure", f"an unexpected error in tacit; see the service's log for request {cycle.request_id}")
        )

    def _record(self, cycle: _Cycle, seconds: float) -> None:
        scope = cycle.scope
        route = getattr(scope.get("route"), "path", None) or self._kind(scope)
        method = cycle.method if route != "other" else "any"
        self._service.instruments.request(route, method, cycle.status, seconds)
        level = "info" if cycle.status < 500 else "warning"
        if level == "info" and not self._service.logging:
            return
        text: dict[str, Any] = {}
        if self._settings.log_text:
            text = {
                "path": scope["path"],
                "query": scope.get("query_string", b"").decode("latin-1") or None,
                "body": cycle.body[:_SHOWN_TEXT].decode("utf-8", "replace") or None,
            }
        log(
            level,
            "request",
            request_id=cycle.request_id,
            method=cycle.method,
            route=route,
            status=cycle.status,
            seconds=round(seconds, 6),
            bytes_in=len(cycle.body),
            bytes_out=cycle.sent,
            items=scope.get("tacit.items"),
            client=scope["client"][0] if scope.get("client") else None,
            key=cycle.key,
            **text,
        )

    def _kind(self, scope: Scope) -> str:
        """The label in the log and the measurements of a request that FastAPI did not route."""
        path: str = scope["path"]
        if path in OPEN or (scope["method"], path) in self._service.direct:
            return path
        return "/static" if path.startswith("/static/") else "other"


class _Cycle:
    """One request and its response."""

    def __init__(self, scope: Scope, receive: Receive, send: Send) -> None:
        self.method: str = scope["method"]
        # a copy for HEAD, since the server reads the method of its own
        self.scope = {**scope, "method": "GET"} if self.method == "HEAD" else scope
        self.headers: dict[bytes, bytes] = dict(scope["headers"])
        sent_id = self.headers.get(b"x-request-id", b"")
        self.request_id = sent_id.decode() if _SAFE_ID.fullmatch(sent_id) else f"{_RUN}-{next(_NUMBERS):08x}"
        self.scope["tacit.request_id"] = self.request_id
        # whether a part of the body has not been received yet
        self.unread = b"transfer-encoding" in self.headers or self.headers.get(b"content-length", b"0").strip(b"0") != b""
        self.body = bytearray()
        self.key: str | None = None
        self.status = 0
        self.sent = 0
        self.answered = 0.0  # when the response was sent, by time.perf_counter
        self._receive, self._send = receive, send
        self._delivered = False

    async def part(self) -> bytes:
        """Return the next part of the body; 400 if the client disconnected."""
        message = await self._receive()
        if message["type"] == "http.disconnect":
            self.unread = False
            raise Problem(400, "gone", "the client closed the connection before it had sent the whole request")
        self.unread = message.get("more_body", False)
        part: bytes = message.get("body", b"")
        return part

    async def receive(self) -> Message:
        """ASGI ``receive``: the body that was read."""
        if self._delivered:
            await asyncio.Event().wait()  # a caller that waits for the client to disconnect is cancelled after the response
        self._delivered = True
        return {"type": "http.request", "body": bytes(self.body), "more_body": False}

    async def send(self, message: Message) -> None:
        """ASGI ``send``: adds the headers that every response has."""
        if message["type"] == "http.response.start":
            self.status = message["status"]
            message["headers"] = [*message.get("headers", ()), (b"x-request-id", self.request_id.encode()), *_HEADERS]
        else:
            if self.method == "HEAD":
                message["body"] = b""
            self.sent += len(message.get("body", b""))
            self.answered = time.perf_counter()
        await self._send(message)

    async def answer(self, problem: Problem) -> None:
        """Respond with a problem document, unless a response has been started."""
        if self.status:
            return
        if self.unread and self.headers.get(b"expect", b"").lower() == b"100-continue":
            problem.headers["Connection"] = "close"  # the client will not send the body, for which the next request is taken else
        await problem.response(self.scope)(self.scope, self.receive, self.send)
