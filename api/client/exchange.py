"""What both clients do around a request: what it holds, whether to ask again, and what is made of the answer; no waiting here."""

from __future__ import annotations

import os
import random
from dataclasses import dataclass
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
from .calls import Call

T = TypeVar("T")

URL = "http://127.0.0.1:8000"
TIMEOUT = 60.0


def settings(url: str, api_key: str | None, timeout: float) -> dict[str, Any]:
    """Return what an httpx client is opened with.

    Raises:
        InputError: the URL is not one of http or https, or the key cannot be sent in a header.
    """
    if urlsplit(url).scheme not in ("http", "https") or not urlsplit(url).hostname:
        raise InputError(f"{url!r} is not the address of a service; give one such as {URL}")
    key = os.environ.get("TACIT_API_KEY") if api_key is None else api_key
    if key and not (key.isascii() and key.isprintable() and " " not in key):
        raise InputError("the API key holds characters that no key has; give it as tacit keys add printed it")
    headers = {"Accept": "application/json", "User-Agent": "tacit-client", **({"Authorization": f"Bearer {key}"} if key else {})}
    connecting = min(timeout, 10.0)
    return {"base_url": url.rstrip("/"), "headers": headers, "timeout": httpx.Timeout(timeout, connect=connecting)}


class Exchange(Generic[T]):
    """One call on its way: the request, what came back each time, and in the end the typed answer or an error."""

    def __init__(self, call: Call[T], patience: Patience) -> None:
        self.call = call
        self.patience = patience
        self.attempts = 0
        self._began = monotonic()

    def request(self, client: httpx.Client | httpx.AsyncClient) -> httpx.Request:
        """Return what to send now."""
        self.attempts += 1
        self._sent = monotonic()
        if self.call.body is None:
            return client.build_request("GET", self.call.path, params=self.call.parameters)
        headers = {"Content-Type": "application/json"}
        timeout = client.timeout
        if self.call.pace is not None:
            timeout = httpx.Timeout(self.call.pace.timeout(self.call.size), connect=timeout.connect)
        return client.build_request(
            "POST", self.call.path, content=orjson.dumps(self.call.body), headers=headers, timeout=timeout
        )

    def failed(self, request: httpx.Request, error: httpx.TransportError) -> float:
        """Return the seconds to wait after a request that got no answer.

        Raises:
            ServiceUnavailable: it is not worth asking again: a read that timed out would only cost the service the same again.
        """
        wait = None if isinstance(error, httpx.ReadTimeout) else self._wait()
        if wait is None:
            raise unreachable(request.url, error) from error
        return wait

    def refused(self, response: httpx.Response) -> float | None:
        """Return the seconds to wait where the service is busy or away, None where its answer is final."""
        if response.status_code in AGAIN and self.call.pace is not None:
            self.call.pace.refused()
        return self._wait(response.headers.get("Retry-After")) if response.status_code in AGAIN else None

    def answer(self, response: httpx.Response) -> T:
        """Return the typed answer.

        Raises:
            TacitError: the service answers with a problem, or with what it never gives.
        """
        if not response.is_success:
            raise error_of(response)
        if self.call.pace is not None:
            self.call.pace.answered(self.call.size, monotonic() - self._sent)
        try:
            return self.call.read(orjson.loads(response.content))
        except (LookupError, TypeError, ValueError, AttributeError) as error:
            raise unreadable(response.request.url, error) from error

    def _wait(self, asked: str | None = None) -> float | None:
        return self.patience.wait(self.attempts, monotonic() - self._began, asked)


# From the service's problem documents (RFC 9457) to the errors that the library would raise, with the request's id.


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


# When to ask again, and after how long: full-jitter exponential back-off within a bound of time.
#
# Every request of the service is a question, so that asking it twice does no harm. See "Exponential Backoff And Jitter", AWS
# Architecture Blog, 2015: a wait drawn evenly from zero to a bound that doubles spreads clients best.

AGAIN = (429, 503)


@dataclass(frozen=True, slots=True)
class Patience:
    """How long a client goes on asking.

    Attributes:
        retries: asks again at most so often; 0 never.
        seconds: gives up where the next wait would end later than this after the first request.
        first, longest: bound of the first wait, doubled each time, and of any, in seconds. What the service asks for in
            Retry-After comes on top of the drawn wait, so that clients sent away together do not come back together.
    """

    retries: int = 8
    seconds: float = 60.0
    first: float = 0.2
    longest: float = 10.0

    def wait(self, attempt: int, spent: float, asked: str | None = None) -> float | None:
        """Return the seconds to wait before asking again, None to give up.

        Args:
            attempt: requests made so far, >= 1; spent: seconds since the first of them.
            asked: the value of Retry-After, seconds or an HTTP date; None without one.
        """
        if attempt > self.retries:
            return None
        bound = min(self.longest, self.first * 2.0 ** min(attempt - 1, 60))
        wait = random.uniform(0.0, bound) + retry_after(asked)
        return wait if spent + wait <= self.seconds else None


def retry_after(value: str | None) -> float:
    """Return the seconds that a Retry-After header asks for, 0 where it asks for none or cannot be read."""
    if value is None:
        return 0.0
    try:
        return (
            max(0.0, float(value)) if value.strip().isdecimal() else max(0.0, parsedate_to_datetime(value).timestamp() - time())
        )
    except ValueError:
        return 0.0
