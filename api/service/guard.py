"""What every request passes first: a name of its own, its key, the size and time limits, and at the end its line in the log.

The body is read here, whole and within bounds, before a route sees the request, so that a slow client holds no thread and a large
one no memory.
"""

from __future__ import annotations

import asyncio
import re
import secrets
import time
from itertools import count
from typing import TYPE_CHECKING, Any

from starlette.requests import Request
from starlette.types import ASGIApp, Message, Receive, Scope, Send

from .observing import fault, log
from .problems import Problem

if TYPE_CHECKING:
    from .service import Service

OPEN = frozenset({"/", "/healthz", "/readyz", "/openapi.json", "/docs", "/favicon.ico"})
"""Paths that no key is asked for; what lies under ``/static/`` is open too."""

_SANE = re.compile(rb"[A-Za-z0-9._:/+=@-]{1,128}")
_WITH_BODY = frozenset({"POST", "PUT", "PATCH", "DELETE", "QUERY"})
_DRAINED = 64 << 20
_SHOWN_TEXT = 2_000
_RUN, _NUMBERS = secrets.token_hex(8), count(1)  # a random name for each request would cost a system call


class Guard:
    """The outermost room of the application, as pure ASGI."""

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
        visit = _Visit(scope, send)
        try:
            async with asyncio.timeout(self._settings.request_seconds) as limit:
                await self._serve(visit, receive)
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
            self._note(visit, time.perf_counter() - begun)

    async def _serve(self, visit: _Visit, receive: Receive) -> None:
        scope = visit.scope
        path = scope["path"]
        if self._service.keys is not None and path not in OPEN and not path.startswith("/static/"):
            visit.key = self._service.keys.admit(visit.headers)
        if scope["method"] in _WITH_BODY:
            await self._read(visit, receive)
            receive = visit.receive
        direct = self._service.direct.get((scope["method"], path))
        if direct is None:
            await self._app(scope, receive, visit.send)
        else:  # the way through the framework's rooms would cost as much as the scoring of a short item
            response = await direct(Request(scope, receive))
            await response(scope, receive, visit.send)

    async def _read(self, visit: _Visit, receive: Receive) -> None:
        """Read the body, within the limits of size and time."""
        most = self._settings.body_bytes
        declared = visit.headers.get(b"content-length", b"")
        too_large = Problem(
            413, "too-large", f"the body is larger than {most:,} bytes; send less at once", headers={"Connection": "close"}
        )
        over = declared.isdigit() and int(declared) > most
        if over and (int(declared) > _DRAINED or visit.headers.get(b"expect", b"").lower() == b"100-continue"):
            raise too_large
        if self.held > self._settings.bodies_bytes:
            raise Problem(429, "busy", "the service holds as many requests as it can; ask again in a moment")
        parts: list[bytes] = []
        size = 0
        try:
            async with asyncio.timeout(self._settings.body_seconds):
                more = True
                while more:
                    message = await receive()
                    if message["type"] == "http.disconnect":
                        raise Problem(400, "gone", "the client went away before its request was whole")
                    part, more = message.get("body", b""), message.get("more_body", False)
                    size += len(part)
                    if not over and size <= most:
                        parts.append(part)
                        self.held += len(part)
                        continue
                    over = True  # the rest is read and forgotten, since a client that is still sending does not listen
                    self.held -= sum(map(len, parts))
                    parts.clear()
                    if size > _DRAINED:
                        raise too_large
        except TimeoutError:
            self.held -= sum(map(len, parts))
            raise Problem(
                408,
                "slow-body",
                f"the body did not come in within {self._settings.body_seconds:g} seconds; send it again",
                headers={"Connection": "close"},
            ) from None
        except BaseException:
            self.held -= sum(map(len, parts))
            raise
        if over:
            raise too_large
        visit.body = b"".join(parts)

    async def _failed(self, visit: _Visit, error: Exception) -> None:
        """An error that nobody expected: the client learns its request's id, the log where it arose."""
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
        """What stands for the path of a request that took no route of the framework."""
        path: str = scope["path"]
        if path in OPEN or (scope["method"], path) in self._service.direct:
            return path
        return "/static" if path.startswith("/static/") else "other"


class _Visit:
    """One request and its answer, as far as it went."""

    def __init__(self, scope: Scope, send: Send) -> None:
        self.scope = scope
        self.headers: dict[bytes, bytes] = dict(scope["headers"])
        given = self.headers.get(b"x-request-id", b"")
        self.request_id = given.decode() if _SANE.fullmatch(given) else f"{_RUN}-{next(_NUMBERS):08x}"
        scope["tacit.request_id"] = self.request_id
        self.body = b""
        self.key: str | None = None
        self.status = 0
        self.sent = 0
        self._send = send
        self._read = False

    async def receive(self) -> Message:
        """Give the body that was read."""
        if self._read:
            await asyncio.Event().wait()  # the client stays until it is answered; who waits for its end is cancelled
        self._read = True
        return {"type": "http.request", "body": self.body, "more_body": False}

    async def send(self, message: Message) -> None:
        """Pass a part of the answer on, with the request's id in its head."""
        if message["type"] == "http.response.start":
            self.status = message["status"]
            message["headers"] = [*message.get("headers", ()), (b"x-request-id", self.request_id.encode())]
        else:
            self.sent += len(message.get("body", b""))
        await self._send(message)

    async def answer(self, problem: Problem) -> None:
        """Answer with a problem, unless the answer has begun already."""
        if not self.status:
            await problem.response(self.scope)(self.scope, self.receive, self.send)
