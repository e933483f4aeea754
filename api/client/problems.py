"""From the service's problem documents (RFC 9457) to the errors that the library would raise, with the request's id."""

from __future__ import annotations

from typing import Any

import httpx
import orjson

from ...graph.errors import (
    GraphError,
    GraphUnavailable,
    InputError,
    QueryInvalid,
    QueryRefused,
    QueryTimeout,
    ServiceError,
    ServiceUnavailable,
    TacitError,
    UnknownName,
)


class TooMuch(InputError):
    """More in one request than the service takes: fewer items at a time may pass."""


class TooSlow(ServiceError):
    """The service ran out of time over a request: fewer items at a time may pass."""


_BY_NAME: dict[str, type[TacitError]] = {
    "unknown-concept": UnknownName,
    "query-refused": QueryRefused,
    "query-invalid": QueryInvalid,
    "query-timeout": QueryTimeout,
    "graph-unavailable": GraphUnavailable,
    "query-failed": GraphError,
    "timeout": TooSlow,
    "too-large": TooMuch,
    "too-many-items": TooMuch,
    "too-many-values": TooMuch,
}
_BY_STATUS: dict[int, type[TacitError]] = {
    413: TooMuch,
    429: ServiceUnavailable,
    502: ServiceUnavailable,
    503: ServiceUnavailable,
    504: ServiceUnavailable,
}


def error_of(response: httpx.Response) -> TacitError:
    """Return the error that an answer other than success stands for."""
    try:
        problem = orjson.loads(response.content)
    except orjson.JSONDecodeError:
        problem = None
    if not isinstance(problem, dict):
        problem = {}
    status = response.status_code
    told = problem.get("detail") or problem.get("title") or f"the service answers {status} {response.reason_phrase}".strip()
    name = str(problem.get("type", "")).replace(":", "/").rsplit("/", 1)[-1]
    kind = _BY_NAME.get(name) or _BY_STATUS.get(status) or (InputError if 400 <= status < 500 else ServiceError)
    return kind(f"{str(told).rstrip('.')}{_request(problem, response)}")


def _request(problem: dict[str, Any], response: httpx.Response) -> str:
    identity = problem.get("request_id") or response.headers.get("X-Request-ID")
    return f" (request {identity})" if identity else ""


def unreachable(url: httpx.URL, error: httpx.TransportError) -> ServiceUnavailable:
    """Return the error for a service that gave no answer."""
    if isinstance(error, httpx.TimeoutException):
        return ServiceUnavailable(f"the service at {_place(url)} did not answer in time; try again, or give a longer timeout")
    reason = str(error) or type(error).__name__
    return ServiceUnavailable(f"the service at {_place(url)} cannot be reached ({reason}); is tacit serve running there?")


def unreadable(url: httpx.URL, error: Exception) -> ServiceError:
    """Return the error for an answer that is not what the service gives."""
    return ServiceError(f"the answer of {_place(url)} is not tacit's ({type(error).__name__}: {error}); check the address")


def _place(url: httpx.URL) -> str:
    return str(url.copy_with(username=None, password=None, query=None, fragment=None))
