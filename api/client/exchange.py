"""Shared logic of both clients without I/O: settings, retries with back-off, conversion of responses and errors."""

from __future__ import annotations

import os
import random
from collections.abc import Callable
from dataclasses import dataclass
from email.utils import parsedate_to_datetime
from time import time
from typing import Any, TypeVar
from urllib.parse import urlsplit

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

T = TypeVar("T")

URL = "http://127.0.0.1:8000"
TIMEOUT = 60.0


def settings(url: str, api_key: str | None, timeout: float) -> dict[str, Any]:
    """Return the keyword arguments of an httpx client."""
    if urlsplit(url).scheme not in ("http", "https") or not urlsplit(url).hostname:
        raise InputError(f"{url!r} is not the address of a service; give one such as {URL}")
    key = os.environ.get("TACIT_API_KEY") if api_key is None else api_key
    if key and not (key.isascii() and key.isprintable() and " " not in key):
        raise InputError("the API key has characters that no key has; give it as tacit keys add printed it")
    headers = {"Accept": "application/json", "User-Agent": "tacit-client", **({"Authorization": f"Bearer {key}"} if key else {})}
    connect_timeout = min(timeout, 10.0)
    return {"base_url": url.rstrip("/"), "headers": headers, "timeout": httpx.Timeout(timeout, connect=connect_timeout)}


def check_open(http: httpx.Client | httpx.AsyncClient) -> None:
    """Raise :class:`InputError` when ``http`` was closed, as a graph does that is used after its ``with`` block."""
    if http.is_closed:
        raise InputError("the client is closed; open a new one")


def answer_of(response: httpx.Response, read: Callable[[Any], T]) -> T:
    """Return the JSON of a response as ``read`` converts it, or raise the error that it reports."""
    if not response.is_success:
        raise error_of(response)
    try:
        return read(orjson.loads(response.content))
    except (LookupError, TypeError, ValueError, AttributeError) as error:
        raise unreadable(response.request.url, error) from error


# Errors of the library from problem documents (RFC 9457).


class TooMuch(InputError):
    """The request is larger than the service's limits; a smaller batch may succeed."""


class TooSlow(ServiceError):
    """The request timed out in the service; a smaller batch may succeed."""


_BY_NAME: dict[str, type[TacitError]] = {
    "unknown-concept": UnknownName,
    "not-linked": GraphError,
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
    """Return the error for a response with an error status."""
    try:
        problem = orjson.loads(response.content)
    except orjson.JSONDecodeError:
        problem = None
    if not isinstance(problem, dict):
        problem = {}
    status = response.status_code
    detail = problem.get("detail") or problem.get("title") or f"the service answers {status} {response.reason_phrase}".strip()
    name = str(problem.get("type", "")).replace(":", "/").rsplit("/", 1)[-1]
    kind = _BY_NAME.get(name) or _BY_STATUS.get(status) or (InputError if 400 <= status < 500 else ServiceError)
    return kind(f"{str(detail).rstrip('.')}{_request(problem, response)}")


def _request(problem: dict[str, Any], response: httpx.Response) -> str:
    identity = problem.get("request_id") or response.headers.get("X-Request-ID")
    return f" (request {identity})" if identity else ""


def unreachable(url: httpx.URL, error: httpx.TransportError) -> ServiceUnavailable:
    """Return the error for a request without a response."""
    if isinstance(error, httpx.TimeoutException):
        return ServiceUnavailable(f"the service at {_safe_url(url)} did not answer in time; try again, or give a longer timeout")
    reason = str(error) or type(error).__name__
    return ServiceUnavailable(f"the service at {_safe_url(url)} cannot be reached ({reason}); is tacit serve running there?")


def unreadable(url: httpx.URL, error: Exception) -> ServiceError:
    """Return the error for a response that is not one of tacit's service."""
    return ServiceError(
        f"the response of {_safe_url(url)} is not one of tacit's service ({type(error).__name__}: {error}); check the address"
    )


def _safe_url(url: httpx.URL) -> str:
    return str(url.copy_with(username=None, password=None, query=None, fragment=None))


# Retries: exponential back-off with full jitter ("Exponential Backoff And Jitter", AWS Architecture Blog, 2015). All requests
# are read-only, so a retry does no harm.

RETRY_STATUSES = (429, 503)


@dataclass(frozen=True, slots=True)
class RetryPolicy:
    """Retry policy of a client.

    Attributes:
        retries: maximum number of retries.
        seconds: no retry later than this after the first request.
        first, longest: upper bound in seconds of the first wait, which doubles each time, and of every wait. The service's
            Retry-After is added to the random wait, so that clients do not return all at once.
    """

    retries: int = 8
    seconds: float = 60.0
    first: float = 0.2
    longest: float = 10.0

    def wait(self, attempt: int, spent: float, header: str | None = None) -> float | None:
        """Return the seconds to wait before the next attempt, None to give up.

        ``attempt`` requests were sent in ``spent`` seconds; ``header`` is the value of Retry-After, if any.
        """
        if attempt > self.retries:
            return None
        bound = min(self.longest, self.first * 2.0 ** min(attempt - 1, 60))
        wait = random.uniform(0.0, bound) + retry_after(header)
        return wait if spent + wait <= self.seconds else None


def retry_after(value: str | None) -> float:
    """Return the seconds of a Retry-After header, 0 if there is none or it cannot be parsed."""
    if value is None:
        return 0.0
    try:
        return (
            max(0.0, float(value)) if value.strip().isdecimal() else max(0.0, parsedate_to_datetime(value).timestamp() - time())
        )
    except ValueError:
        return 0.0
