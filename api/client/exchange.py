"""Shared logic of both clients without I/O: building requests, retries with back-off, conversion of responses and errors."""

from __future__ import annotations

import os
import random
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from email.utils import parsedate_to_datetime
from time import monotonic, time
from typing import Any, Generic, TypeVar
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
from .batches import BatchSizer

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
    connecting = min(timeout, 10.0)
    return {"base_url": url.rstrip("/"), "headers": headers, "timeout": httpx.Timeout(timeout, connect=connecting)}


@dataclass(frozen=True, slots=True)
class Call(Generic[T]):
    """One call of the API."""

    path: str
    read: Callable[[Any], T]  # converts the JSON response
    body: Mapping[str, Any] | None = None  # sent as JSON by POST; None: a GET
    parameters: Mapping[str, Any] = field(default_factory=dict)  # of a GET
    sizer: BatchSizer | None = None  # gives the timeout, and gets the duration
    size: int = 0  # items of the request


class Exchange(Generic[T]):
    """One call with its retries: builds the requests, decides about retries, and converts the response or raises an error."""

    def __init__(self, call: Call[T], patience: Patience) -> None:
        self.call = call
        self.patience = patience
        self.attempts = 0
        self._began = monotonic()

    def request(self, client: httpx.Client | httpx.AsyncClient) -> httpx.Request:
        """Return the next request to send."""
        self.attempts += 1
        self._sent = monotonic()
        if self.call.body is None:
            return client.build_request("GET", self.call.path, params=self.call.parameters)
        headers = {"Content-Type": "application/json"}
        timeout = client.timeout
        if self.call.sizer is not None:
            timeout = httpx.Timeout(self.call.sizer.timeout(self.call.size), connect=timeout.connect)
        return client.build_request(
            "POST", self.call.path, content=orjson.dumps(self.call.body), headers=headers, timeout=timeout
        )

    def failed(self, request: httpx.Request, error: httpx.TransportError) -> float:
        """Return the seconds to wait after a request without a response.

        After a read timeout there is no retry, which would cost the service the same again.
        """
        wait = None if isinstance(error, httpx.ReadTimeout) else self._wait()
        if wait is None:
            raise unreachable(request.url, error) from error
        return wait

    def refused(self, response: httpx.Response) -> float | None:
        """Return the seconds to wait before the next attempt if the service is busy; None if the response is final."""
        if response.status_code in RETRY_STATUSES and self.call.sizer is not None:
            self.call.sizer.reduce()
        return self._wait(response.headers.get("Retry-After")) if response.status_code in RETRY_STATUSES else None

    def answer(self, response: httpx.Response) -> T:
        """Return the converted response."""
        if not response.is_success:
            raise error_of(response)
        if self.call.sizer is not None:
            self.call.sizer.succeeded(self.call.size, monotonic() - self._sent)
        try:
            return self.call.read(orjson.loads(response.content))
        except (LookupError, TypeError, ValueError, AttributeError) as error:
            raise unreadable(response.request.url, error) from error

    def _wait(self, header: str | None = None) -> float | None:
        return self.patience.wait(self.attempts, monotonic() - self._began, header)


# Errors of the library from problem documents (RFC 9457).


class TooMuch(InputError):
    """The request is larger than the service's limits; a smaller batch may succeed."""


class TooSlow(ServiceError):
    """The request timed out in the service; a smaller batch may succeed."""


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
        return ServiceUnavailable(f"the service at {_shown(url)} did not answer in time; try again, or give a longer timeout")
    reason = str(error) or type(error).__name__
    return ServiceUnavailable(f"the service at {_shown(url)} cannot be reached ({reason}); is tacit serve running there?")


def unreadable(url: httpx.URL, error: Exception) -> ServiceError:
    """Return the error for a response that is not one of tacit's service."""
    return ServiceError(
        f"the response of {_shown(url)} is not one of tacit's service ({type(error).__name__}: {error}); check the address"
    )


def _shown(url: httpx.URL) -> str:
    return str(url.copy_with(username=None, password=None, query=None, fragment=None))


# Retries: exponential back-off with full jitter ("Exponential Backoff And Jitter", AWS Architecture Blog, 2015). All requests
# are read-only, so a retry does no harm.

RETRY_STATUSES = (429, 503)


@dataclass(frozen=True, slots=True)
class Patience:
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
