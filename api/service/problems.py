"""What goes wrong, as RFC 9457 problem documents: one sentence for people, a type and a status for programs."""

from __future__ import annotations

from collections.abc import Mapping
from http import HTTPStatus
from typing import Any

import orjson
from pydantic import ValidationError
from starlette.responses import Response
from starlette.types import Scope

from ...graph.errors import (
    GraphBusy,
    GraphError,
    GraphNotFound,
    GraphUnavailable,
    InputError,
    QueryInvalid,
    QueryRefused,
    QueryTimeout,
    TacitError,
)

MEDIA_TYPE = "application/problem+json"
RETRY_SECONDS = 1

SHOWN_ERRORS = 20
"""Most errors that a problem document lists."""

_STATUS: tuple[tuple[type[TacitError], int, str], ...] = (
    (QueryRefused, 400, "query-refused"),
    (QueryInvalid, 422, "query-invalid"),
    (InputError, 422, "invalid-input"),
    (QueryTimeout, 504, "query-timeout"),
    (GraphBusy, 429, "busy"),
    (GraphUnavailable, 503, "graph-unavailable"),
    (GraphNotFound, 503, "graph-unavailable"),
)


class Problem(Exception):
    """A request that ends with an error status.

    Attributes:
        status: the HTTP status; kind: the last word of the problem's type; detail: one sentence on what is wrong and what to do.
        headers: beside the usual ones; extra: further members of the document.
    """

    def __init__(
        self,
        status: int,
        kind: str,
        detail: str,
        *,
        headers: Mapping[str, str] | None = None,
        extra: Mapping[str, Any] | None = None,
    ) -> None:
        super().__init__(detail)
        self.status, self.kind, self.detail = status, kind, detail
        self.headers = dict(headers or {})
        self.extra = dict(extra or {})
        if status in (429, 503):
            self.headers.setdefault("Retry-After", str(RETRY_SECONDS))

    def response(self, scope: Scope) -> Response:
        """Return the document as a response to the request of ``scope``."""
        body = {
            "type": f"urn:tacit:problem:{self.kind}",
            "title": HTTPStatus(self.status).phrase,
            "status": self.status,
            "detail": self.detail,
            "instance": scope["path"].encode("utf-8", "replace").decode(),
            "request_id": request_id(scope),
            **self.extra,
        }
        return Response(orjson.dumps(body), self.status, self.headers, MEDIA_TYPE)


def require_json(content_type: bytes) -> None:
    """Return when a body is declared as JSON: a page of another site cannot send that without asking first.

    Raises:
        Problem: it is declared as something else, or not at all.
    """
    kind = content_type.partition(b";")[0].strip().lower()
    if kind != b"application/json":
        told = kind.decode("latin-1")[:100] or "missing"
        raise Problem(415, "not-json", f"the Content-Type is {told}; send JSON as Content-Type: application/json")


def request_id(scope: Scope) -> str:
    """Return the id of the request, which the guard gave it."""
    return str(scope.get("tacit.request_id", ""))


def problem_of(error: TacitError, *, cypher: bool = False) -> Problem:
    """Return what an error of tacit is to a client; with ``cypher`` a failure of the engine is one of the client's query."""
    for kind, status, name in _STATUS:
        if isinstance(error, kind):
            return Problem(status, name, str(error))
    if cypher and isinstance(error, GraphError):
        return Problem(422, "query-failed", str(error))
    return Problem(500, "failure", str(error))


def invalid(error: ValidationError) -> Problem:
    """Return what is wrong with a body that does not have the form it should: the places and the reasons, never the values."""
    found = error.errors(include_url=False, include_context=False, include_input=False)
    errors = [{"at": ".".join(map(str, one["loc"])), "reason": one["msg"]} for one in found]
    first = errors[0]
    where = f" at {first['at']}" if first["at"] else ""
    more = f", and {len(errors) - 1} more" if len(errors) > 1 else ""
    return Problem(
        422,
        "invalid-body",
        f"the body does not have the form of this request{where} ({first['reason']}{more}); see /openapi.json",
        extra={"errors": errors[:SHOWN_ERRORS]},
    )
