"""The blocking client: runs the coroutines of :class:`Methods` over a blocking HTTP client; they never suspend.

They run in the caller's thread without an event loop, so that threads, ``fork``, interrupts and synchronous transports behave as
with httpx.
"""

from __future__ import annotations

import os
from collections.abc import Callable, Coroutine, Iterable, Iterator, Sequence
from functools import wraps
from time import sleep
from typing import Any, Concatenate, ParamSpec, Self, TypeVar

import httpx

from ...loaders import read_items
from ...reasoning.scorer import ItemScores, StreamItem
from .batches import BatchSizer, batches
from .exchange import TIMEOUT, URL, RetryPolicy, check_open, settings
from .methods import Methods

Arguments = ParamSpec("Arguments")
Answer = TypeVar("Answer")


class _Blocking(Methods):
    """The methods over a blocking HTTP client."""

    def __init__(self, http: httpx.Client, retry: RetryPolicy) -> None:
        self._http: httpx.Client = http
        self._retry = retry

    async def _transmit(self, request: httpx.Request) -> httpx.Response:
        check_open(self._http)
        return self._http.send(request)

    async def _pause(self, seconds: float) -> None:
        sleep(seconds)


def _finished(coroutine: Coroutine[Any, Any, Answer]) -> Answer:
    """Run a coroutine that never suspends, and return its result."""
    try:
        coroutine.send(None)
    except StopIteration as stop:
        answer: Answer = stop.value
        return answer
    coroutine.close()
    raise RuntimeError("a method of the blocking client was suspended")


def _blocking(
    method: Callable[Concatenate[Methods, Arguments], Coroutine[Any, Any, Answer]],
) -> Callable[Concatenate[Client, Arguments], Answer]:
    """Return ``method`` as a blocking method of :class:`Client`."""

    @wraps(method)
    def call(self: Client, /, *args: Arguments.args, **kwargs: Arguments.kwargs) -> Answer:
        return _finished(method(self._methods, *args, **kwargs))

    return call


class Client:
    """A client of a service (``tacit serve``); a context manager, and thread-safe.

    Results equal the library's: scores those of :class:`tacit.reasoning.Reasoner` (their evidence is returned only with
    ``explain``), neighbours, paths and assertions those of :class:`tacit.graph.KnowledgeGraph`. Methods raise what the library
    raises for the same fault, ServiceUnavailable if the service does not answer or stays busy, and ServiceError if it fails.
    Messages end with the request ID, which is also in the service's log.
    """

    def __init__(
        self,
        url: str = URL,
        *,
        api_key: str | None = None,
        timeout: float = TIMEOUT,
        retry: RetryPolicy | None = None,
        transport: httpx.BaseTransport | None = None,
    ) -> None:
        """Open a client; no request is sent yet.

        Args:
            url: the service's address.
            api_key: the API key, if the service needs one; default: the environment variable TACIT_API_KEY.
            timeout: seconds without a response after which a request fails.
            retry: how often and how long to retry while the service is busy or unreachable.
            transport: an httpx transport, e.g. to an application in this process; default: the network.

        Raises:
            InputError: the address is not an HTTP URL, or the key has characters that no key has.
        """
        self._http = httpx.Client(transport=transport, **settings(url, api_key, timeout))
        self._methods = _Blocking(self._http, retry or RetryPolicy())

    score = _blocking(Methods.score)
    explain = _blocking(Methods.explain)
    info = _blocking(Methods.info)
    concept = _blocking(Methods.concept)
    complete = _blocking(Methods.complete)
    neighbours = _blocking(Methods.neighbours)
    hops = _blocking(Methods.hops)
    paths = _blocking(Methods.paths)
    tails = _blocking(Methods.tails)
    concept_tails = _blocking(Methods.concept_tails)
    linked_paths = _blocking(Methods.linked_paths)
    infer = _blocking(Methods.infer)
    choose = _blocking(Methods.choose)
    cypher = _blocking(Methods.cypher)
    cookbook = _blocking(Methods.cookbook)
    health = _blocking(Methods.health)
    ready = _blocking(Methods.ready)

    def score_items(
        self,
        items: Iterable[StreamItem],
        *,
        metrics: Sequence[str] | None = None,
        explain: bool = False,
        batch_size: int | None = None,
    ) -> Iterator[ItemScores]:
        """Yield the scores of each ``(id, history, response[, references])``, in order; see :meth:`Reasoner.stream`.

        Holds one batch in memory. An item that cannot be scored gives a row with ``error``.

        Args:
            items: the items; metrics, explain: as for :meth:`score`.
            batch_size: maximum number of items per request; default: as many as the service allows and scores in about five
                seconds.

        Raises:
            InputError: ``batch_size`` is below 1.
        """
        return self._stream(items, metrics, explain, self._methods._sizer(batch_size))

    def score_file(
        self,
        path: str | os.PathLike[str],
        *,
        metrics: Sequence[str] | None = None,
        explain: bool = False,
        batch_size: int | None = None,
        strict: bool = False,
    ) -> Iterator[ItemScores]:
        """Yield the scores of a dialogue file's items, in order, in constant memory; see :func:`tacit.loaders.read_items`.

        A line without an item gives a row without ID whose error names the line; with ``strict`` it raises.

        Raises:
            InputError: ``batch_size`` is below 1, or the file cannot be read.
        """
        return self._stream(read_items(path, strict=strict), metrics, explain, self._methods._sizer(batch_size))

    def close(self) -> None:
        """Close the connections."""
        self._http.close()

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *exc: object) -> None:
        self.close()

    def _stream(
        self, items: Iterable[StreamItem], metrics: Sequence[str] | None, explain: bool, sizer: BatchSizer
    ) -> Iterator[ItemScores]:
        _finished(self._methods._apply_limits(sizer, 1))
        for batch in batches(items, sizer):
            yield from batch.filled(_finished(self._methods._rows(batch.items, metrics, explain, sizer)))
