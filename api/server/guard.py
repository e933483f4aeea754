"""ASGI middleware around the application: request id, Host and Origin checks, key, limits of size and time, access log.

A body is read here, whole and within the limits, before a route sees the request, so that a slow client occupies no thread and a
large one no memory. Where a request is refused before its body was read, the answer says ``Connection: close``; what the client
still sends is dropped for at most ``body_seconds``, since a client that is sending does not listen, and the connection is closed.
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
from .messages import Problem, require_json
from .observing import fault, log

if TYPE_CHECKING:
    from .service import Service

OPEN = frozenset({"/", "/healthz", "/readyz", "/openapi.json", "/docs", "/favicon.ico"})
"""Paths that need no key, beside those under ``/static/``."""

_SANE = re.compile(rb"[A-Za-z0-9._:/+=@-]{1,128}")
_HOST = re.compile(r"(\[[0-9A-Fa-f:.]+\]|[^\[\]:/@\s]+)(?::([0-9]{1,5}))?")
_LOOPBACK = frozenset({"localhost", "127.0.0.1", "::1"})
_DRAINED = 64 << 20
_SHOWN_TEXT = 2_000
_HEADERS = [(b"x-content-type-options", b"nosniff"), (b"cross-origin-resource-policy", b"same-origin")]
_RUN, _NUMBERS = secrets.token_hex(8), count(1)  # a random name for each request would cost a system call


class Sites:
    """Which hosts a request may name, and which web pages may send one.

    A web page of another site can make a browser send requests to a service on this machine or in its network. Two checks stop
    that, with keys and without: Host has to be an address of this service, which defeats DNS rebinding (421); and a request that
    a browser sends for a page of another site, as Origin or else Sec-Fetch-Site tells, is refused (403).

    Args:
        names: the names under which others reach the service, e.g. through a proxy: ``tacit.example.org`` or, where the port is
            neither 80 nor 443, ``tacit.example.org:8443``.

    Raises:
        InputError: one of them is not a host name.
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
        """Return when a request comes to this service, and from no other site.

        Raises:
            Problem: 400, it names no host or several; 421, another host; 403, it comes from another site.
        """
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
            if name is None or server is None or name != _plain(str(server[0])):
                raise Problem(
                    421,
                    "misdirected",
                    "this service does not answer for the host of the request; use its address, or serve with --host-name NAME",
                )


def _site(origin: bytes) -> str:
    """Return ``host[:port]`` of an Origin, empty where it has none."""
    try:
        return urlsplit(origin.decode("latin-1").lower()).netloc
    except ValueError:
        return ""


@lru_cache(256)
def _hostname(host: str) -> str | None:
    """Return the name or address in ``host[:port]``, None where it is neither."""
    match = _HOST.fullmatch(host)
    return _plain(match[1].removeprefix("[").removesuffix("]")) if match else None


def _plain(name: str) -> str:
    """Return a host name or address in the one way in which it is compared."""
    try:
        address = ip_address(name.partition("%")[0])
    except ValueError:
        return name.lower().removesuffix(".")
    return str(getattr(address, "ipv4_mapped", None) or address)


class Guard:
    """The middleware, as pure ASGI."""

    def __init__(self, app: ASGIApp, service: Service) -> None:
        self._app = app
        self._service = service
        self._settings = service.settings
        self.held = 0

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        if scope["type"] != "http":
            await self._app(scope, receive, send)
            return
        begun = time.perf_counter()
        visit = _Visit(scope, receive, send)
        try:
            async with asyncio.timeout(self._settings.request_seconds) as limit:
                await self._serve(visit)
        except Problem as problem:
            await visit.answer(problem)
        except TimeoutError as error:
            if not limit.expired():
                await self._failed(visit, error)
            else:
                await visit.answer(
                    Problem(
                        504, "timeout", f"the answer took longer than {self._settings.request_seconds:g} seconds; ask for less"
                    )
                )
        except asyncio.CancelledError:
            visit.status = visit.status or 499
            raise
        except Exception as error:
            await self._failed(visit, error)
        finally:
            self.held -= len(visit.body)
            self._note(visit, (visit.answered or time.perf_counter()) - begun)
        if visit.unread and visit.closing is not None:
            await self._drain(visit)

    async def _serve(self, visit: _Visit) -> None:
        scope = visit.scope
        path = scope["path"]
        self._service.sites.check(scope, visit.headers)
        if self._service.keys is not None and path not in OPEN and not path.startswith("/static/"):
            visit.key = self._service.keys.admit(visit.headers)
        if visit.unread:
            require_json(visit.headers.get(b"content-type", b""))
            await self._read(visit)
        direct = self._service.direct.get((scope["method"], path))
        if direct is None:
            await self._app(scope, visit.receive, visit.send)
        else:  # FastAPI's own way to the route would cost as much as the scoring of a short item
            response = await direct(Request(scope, visit.receive))
            await response(scope, visit.receive, visit.send)

    async def _read(self, visit: _Visit) -> None:
        """Read the body, within the limits of size and time."""
        most = self._settings.body_bytes
        too_large = Problem(413, "too-large", f"the body is larger than {most:,} bytes; send less at once")
        declared = visit.headers.get(b"content-length", b"")
        if declared.isdigit() and int(declared[:20]) > most:
            raise too_large
        if self.held > self._settings.bodies_bytes:
            raise Problem(429, "busy", "the service holds as many requests as it can; ask again in a moment")
        try:
            async with asyncio.timeout(self._settings.body_seconds):
                while visit.unread:
                    part = await visit.part()
                    if len(visit.body) + len(part) > most:
                        raise too_large
                    visit.body += part
                    self.held += len(part)
        except TimeoutError:
            raise Problem(
                408, "slow-body", f"the body did not come in within {self._settings.body_seconds:g} seconds; send it again"
            ) from None

    async def _drain(self, visit: _Visit) -> None:
        """Drop what a client that was refused still sends, for a while; then close the connection."""
        dropped = 0
        try:
            async with asyncio.timeout(self._settings.body_seconds):
                while visit.unread and dropped < _DRAINED:
                    dropped += len(await visit.part())
        except (TimeoutError, Problem):
            pass
        finally:
            assert visit.closing is not None
            await visit.closing({"type": "http.response.body", "body": b"", "more_body": False})

    async def _failed(self, visit: _Visit, error: Exception) -> None:
        """Answer an unexpected error with the request's id, and log where it was raised."""
        log("error", "failure", request_id=visit.request_id, **fault(error))
        await visit.answer(Problem(500, "failure", f"an unexpected failure in tacit; its log names it as {visit.request_id}"))

    def _note(self, visit: _Visit, seconds: float) -> None:
        scope = visit.scope
        route = getattr(scope.get("route"), "path", None) or self._kind(scope)
        method = scope["method"] if route != "other" else "any"
        self._service.instruments.request(route, method, visit.status, seconds)
        level = "info" if visit.status < 500 else "warning"
        if level == "info" and not self._service.logging:
            return
        text: dict[str, Any] = {}
        if self._settings.log_text:
            text = {
                "path": scope["path"],
                "query": scope.get("query_string", b"").decode("latin-1") or None,
                "body": visit.body[:_SHOWN_TEXT].decode("utf-8", "replace") or None,
            }
        log(
            level,
            "request",
            request_id=visit.request_id,
            method=scope["method"],
            route=route,
            status=visit.status,
            seconds=round(seconds, 6),
            bytes_in=len(visit.body),
            bytes_out=visit.sent,
            items=scope.get("tacit.items"),
            client=scope["client"][0] if scope.get("client") else None,
            key=visit.key,
            **text,
        )

    def _kind(self, scope: Scope) -> str:
        """The route's name in the log, for a request that FastAPI did not route."""
        path: str = scope["path"]
        if path in OPEN or (scope["method"], path) in self._service.direct:
            return path
        return "/static" if path.startswith("/static/") else "other"


class _Visit:
    """One request and its answer.

    Attributes:
        unread: whether a part of the body has not been received yet.
        closing: what ends the answer and the connection, where an answer was sent while the body was unread.
        answered: when the answer was sent, by ``time.perf_counter``.
    """

    def __init__(self, scope: Scope, receive: Receive, send: Send) -> None:
        self.scope = scope
        self.headers: dict[bytes, bytes] = dict(scope["headers"])
        given = self.headers.get(b"x-request-id", b"")
        self.request_id = given.decode() if _SANE.fullmatch(given) else f"{_RUN}-{next(_NUMBERS):08x}"
        scope["tacit.request_id"] = self.request_id
        self.unread = b"transfer-encoding" in self.headers or self.headers.get(b"content-length", b"0").strip(b"0") != b""
        self.body = bytearray()
        self.key: str | None = None
        self.status = 0
        self.sent = 0
        self.answered = 0.0
        self.closing: Send | None = None
        self._receive, self._send = receive, send
        self._given = False

    async def part(self) -> bytes:
        """Return the next part of the body.

        Raises:
            Problem: the client went away.
        """
        message = await self._receive()
        if message["type"] == "http.disconnect":
            self.unread = False
            raise Problem(400, "gone", "the client closed the connection before its request was whole")
        self.unread = message.get("more_body", False)
        part: bytes = message.get("body", b"")
        return part

    async def receive(self) -> Message:
        """Give the body that was read."""
        if self._given:
            await asyncio.Event().wait()  # who waits for the client to go away is cancelled when the answer was sent
        self._given = True
        return {"type": "http.request", "body": bytes(self.body), "more_body": False}

    async def send(self, message: Message) -> None:
        """Pass a part of the answer on, with headers that every answer has."""
        if message["type"] == "http.response.start":
            self.status = message["status"]
            message["headers"] = [*message.get("headers", ()), (b"x-request-id", self.request_id.encode()), *_HEADERS]
        else:
            self.sent += len(message.get("body", b""))
            self.answered = time.perf_counter()
        await self._send(message)

    async def answer(self, problem: Problem) -> None:
        """Answer with a problem, unless the answer has begun already."""
        if self.status:
            return
        if not self.unread:
            await problem.response(self.scope)(self.scope, self.receive, self.send)
            return
        problem.headers["Connection"] = "close"
        await problem.response(self.scope)(self.scope, self.receive, self._send_open)
        expecting = self.headers.get(b"expect", b"").lower() == b"100-continue"
        if expecting:  # the client waits for leave to send its body, which it does not get
            await self._send({"type": "http.response.body", "body": b"", "more_body": False})
        else:
            self.closing = self._send

    async def _send_open(self, message: Message) -> None:
        if message["type"] == "http.response.body":
            message["more_body"] = True
        await self.send(message)
