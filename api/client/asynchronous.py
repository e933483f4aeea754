"""The client for programs that do several things at once: as the plain one, awaited, with several requests on their way."""

from __future__ import annotations

import os
from asyncio import Task, create_task, gather, sleep
from collections import deque
from collections.abc import AsyncIterator, Collection, Iterable, Mapping, Sequence
from typing import Any, Self, TypeVar

import httpx

from ...cypher import Query
from ...graph.errors import InputError, TacitError
from ...graph.item import Item
from ...graph.model import Assertion, Neighbour, Path, QueryResult
from ...loaders import read_items
from ...reasoning.base import Score
from ...reasoning.explanation import Explanation
from ...reasoning.scorer import ItemScores, StreamItem
from . import calls
from .batches import Batch, Pace, at_least_one, batches, body_of
from .calls import Completion, ConceptDetails, ServiceDetails
from .exchange import TIMEOUT, URL, Exchange, Patience, TooMuch, TooSlow, settings

T = TypeVar("T")

CONCURRENCY = 4


class AsyncClient:
    """As :class:`Client`, awaited, on asyncio; for many requests at a time from one thread."""

    def __init__(
        self,
        url: str = URL,
        *,
        api_key: str | None = None,
        timeout: float = TIMEOUT,
        patience: Patience | None = None,
        transport: httpx.AsyncBaseTransport | None = None,
    ) -> None:
        """Get ready to ask, as :class:`Client` does; nothing is sent yet."""
        self._patience = patience or Patience()
        self._http = httpx.AsyncClient(transport=transport, **settings(url, api_key, timeout))

    async def score(
        self,
        history: Sequence[str],
        response: str,
        references: Sequence[str] = (),
        *,
        metrics: Sequence[str] | None = None,
        explain: bool = False,
    ) -> dict[str, Score]:
        """Return the scores of one response by metric, all that are served by default; see :meth:`Reasoner.score`."""
        [row] = await self._send(calls.score([body_of(Item(history, response, references))], metrics, explain))
        if row.error is not None:
            raise InputError(row.error)
        return row.scores

    def score_items(
        self,
        items: Iterable[StreamItem],
        *,
        metrics: Sequence[str] | None = None,
        explain: bool = False,
        batch_size: int | None = None,
        concurrency: int = CONCURRENCY,
    ) -> AsyncIterator[ItemScores]:
        """Yield as :meth:`Client.score_items` does, from up to ``concurrency`` requests at a time; so many batches are held."""
        return self._stream(items, metrics, explain, at_least_one(concurrency), self._pace(batch_size))

    def score_file(
        self,
        path: str | os.PathLike[str],
        *,
        metrics: Sequence[str] | None = None,
        explain: bool = False,
        batch_size: int | None = None,
        concurrency: int = CONCURRENCY,
        strict: bool = False,
    ) -> AsyncIterator[ItemScores]:
        """Yield as :meth:`Client.score_file` does, from up to ``concurrency`` requests at a time; so many batches are held."""
        return self._stream(read_items(path, strict=strict), metrics, explain, at_least_one(concurrency), self._pace(batch_size))

    async def explain(
        self, history: Sequence[str], response: str, references: Sequence[str] = (), *, metrics: Sequence[str] | None = None
    ) -> dict[str, Explanation]:
        """Return what each metric's score of one response rests on: its ``text()``, ``claims``, ``svg()``."""
        return await self._send(calls.explanation(Item(history, response, references), metrics))

    async def info(self) -> ServiceDetails:
        """Return what the service is made of: version, graph, metrics with their signatures, limits."""
        return await self._send(calls.info())

    async def concept(self, text: str, *, language: str = "en") -> ConceptDetails:
        """Return the concept that ``text`` names, with what is around it; InputError when it names none."""
        return await self._send(calls.concept(text, language))

    async def complete(self, prefix: str, *, limit: int = 10) -> list[Completion]:
        """Return concepts whose text begins with ``prefix``."""
        return await self._send(calls.complete(prefix, limit))

    async def neighbours(
        self, concept: str, hop: int = 1, limit: int = 10, relations: Collection[str] | None = None, *, language: str = "en"
    ) -> list[Neighbour]:
        """Return the concepts exactly ``hop`` hops from a concept (text or URI), strongest first."""
        return await self._send(calls.neighbours(concept, hop, limit, relations, language))

    async def paths(self, source: str, target: str, max_hops: int = 6, limit: int = 10, *, language: str = "en") -> list[Path]:
        """Return the shortest paths between two concepts (texts or URIs), strongest first."""
        return await self._send(calls.paths(source, target, max_hops, limit, language))

    async def tails(self, head: str, relation: str | None = None, limit: int | None = None) -> list[Assertion]:
        """Return what is known about an event; without ``limit`` as much as the service gives."""
        return await self._send(calls.tails(head, relation, limit))

    async def cypher(
        self, query: str, parameters: Mapping[str, Any] | None = None, *, limit: int = 1000, timeout: float = 10.0
    ) -> QueryResult:
        """Return the rows of a read-only query, given as Cypher or by its name in the cookbook."""
        return await self._send(calls.cypher(query, parameters, limit, timeout))

    async def cookbook(self) -> dict[str, Query]:
        """Return the exploratory queries that come with tacit, by name."""
        return await self._send(calls.cookbook())

    async def health(self) -> bool:
        """Whether the service lives; asked once."""
        return await self._asked_once("/healthz")

    async def ready(self) -> bool:
        """Whether the service can answer: its graph is there; asked once."""
        return await self._asked_once("/readyz")

    async def close(self) -> None:
        """Let go of the connections."""
        await self._http.aclose()

    async def __aenter__(self) -> Self:
        return self

    async def __aexit__(self, *exc: object) -> None:
        await self.close()

    async def _send(self, call: calls.Call[T]) -> T:
        exchange = Exchange(call, self._patience)
        while True:
            request = exchange.request(self._http)
            try:
                response = await self._http.send(request)
            except httpx.TransportError as error:
                await sleep(exchange.failed(request, error))
                continue
            wait = exchange.refused(response)
            if wait is None:
                return exchange.answer(response)
            await sleep(wait)

    async def _asked_once(self, path: str) -> bool:
        try:
            return (await self._http.get(path)).is_success
        except httpx.TransportError:
            return False

    def _pace(self, batch_size: int | None) -> Pace:
        return Pace(batch_size, self._http.timeout.read or TIMEOUT)

    async def _stream(
        self,
        items: Iterable[StreamItem],
        metrics: Sequence[str] | None,
        explain: bool,
        concurrency: int,
        pace: Pace,
    ) -> AsyncIterator[ItemScores]:
        """Rows in order, from at most ``concurrency`` requests at a time; those under way end when nobody reads on."""
        waiting: deque[tuple[Batch, Task[list[ItemScores]]]] = deque()
        await self._learn_limits(pace, concurrency)
        try:
            for batch in batches(items, pace):
                waiting.append((batch, create_task(self._rows(batch.items, metrics, explain, pace))))
                if len(waiting) >= concurrency:
                    first, task = waiting.popleft()
                    for row in first.filled(await task):
                        yield row
            while waiting:
                first, task = waiting.popleft()
                for row in first.filled(await task):
                    yield row
        finally:
            for _, task in waiting:
                task.cancel()
            await gather(*(task for _, task in waiting), return_exceptions=True)

    async def _rows(
        self, items: Sequence[dict[str, Any]], metrics: Sequence[str] | None, explain: bool, pace: Pace
    ) -> list[ItemScores]:
        """Rows in order; where the service takes less at a time, halves are sent, down to one item that is too much by itself."""
        if not items:
            return []
        try:
            return await self._send(calls.score(items, metrics, explain, pace))
        except (TooMuch, TooSlow) as error:
            pace.refused()
            if len(items) == 1:
                if isinstance(error, TooSlow):
                    raise
                return [ItemScores(None, error=str(error))]
        middle = len(items) // 2
        first = await self._rows(items[:middle], metrics, explain, pace)
        return first + await self._rows(items[middle:], metrics, explain, pace)

    async def _learn_limits(self, pace: Pace, requests: int) -> None:
        """Ask the service for its limits, once; what it does not tell is found out by what it refuses."""
        call = calls.info()
        try:
            details = Exchange(call, self._patience).answer(await self._http.get(call.path))
        except (httpx.TransportError, TacitError):
            return
        pace.keep_within(details.limits, requests)
