"""What both clients do around a request: what it holds, whether to ask again, and what is made of the answer; no waiting here."""

from __future__ import annotations

import os
from time import monotonic
from typing import Any, Generic, TypeVar
from urllib.parse import urlsplit

import httpx
import orjson

from ...graph.errors import InputError
from .calls import Call
from .problems import error_of, unreachable, unreadable
from .retrying import AGAIN, Patience

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
