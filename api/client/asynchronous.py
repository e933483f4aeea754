"""The asyncio client: the methods of the blocking client as coroutines, and files scored with several concurrent requests."""

from __future__ import annotations

import os
from asyncio import Task, create_task, gather, sleep
from collections import deque
from collections.abc import AsyncIterator, Collection, Iterable, Mapping, Sequence
from typing import Any, Self, TypeVar, overload

import httpx

from ...cypher import Query
from ...graph.errors import InputError, TacitError
from ...graph.item import Item
from ...graph.links import ConceptTail
from ...graph.model import Assertion, Neighbour, Path, QueryResult
from ...graph.questions import Instance
from ...loaders import read_items
from ...reasoning.base import Score
from ...reasoning.explanation import Explanation
from ...reasoning.inference.answers import DialogueAnswers
from ...reasoning.inference.choosing import Chosen
from ...reasoning.scorer import ItemScores, StreamItem
from ..schema import Completion, ConceptDetails, ServiceDetails
from . import calls
from .batches import Batch, BatchSizer, batches, body_of, check_concurrency
from .exchange import TIMEOUT, URL, Exchange, Patience, TooMuch, TooSlow, settings

T = TypeVar("T")

CONCURRENCY = 4


class AsyncClient:
    """The methods of :class:`Client` for asyncio, with concurrent requests; an async context manager."""

    def __init__(
        self,
        url: str = URL,
        *,
        api_key: str | None = None,
        timeout: float = TIMEOUT,
        patience: Patience | None = None,
        transport: httpx.AsyncBaseTransport | None = None,
    ) -> None:
        """See :class:`Client`; no request is sent yet."""
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
        """Return the scores of one response by metric; see :meth:`Client.score`."""
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
        """Yield as :meth:`Client.score_items`, with up to ``concurrency`` concurrent requests and batches in memory.

        Raises:
            InputError: ``batch_size`` or ``concurrency`` is below 1.
        """
        return self._stream(items, metrics, explain, check_concurrency(concurrency), self._sizer(batch_size))

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
        """Yield as :meth:`Client.score_file`, with up to ``concurrency`` concurrent requests and batches in memory.

        Raises:
            InputError: ``batch_size`` or ``concurrency`` is below 1.
        """
        return self._stream(
            read_items(path, strict=strict), metrics, explain, check_concurrency(concurrency), self._sizer(batch_size)
        )

    @overload
    async def explain(
        self,
        history: Sequence[str],
        response: str,
        references: Sequence[str] = (),
        *,
        metrics: Sequence[str] | None = None,
        other: None = None,
    ) -> dict[str, Explanation]: ...

    @overload
    async def explain(
        self,
        history: Sequence[str],
        response: str,
        references: Sequence[str] = (),
        *,
        metrics: Sequence[str] | None = None,
        other: str,
    ) -> tuple[dict[str, Explanation], dict[str, Explanation]]: ...

    async def explain(
        self,
        history: Sequence[str],
        response: str,
        references: Sequence[str] = (),
        *,
        metrics: Sequence[str] | None = None,
        other: str | None = None,
    ) -> dict[str, Explanation] | tuple[dict[str, Explanation], dict[str, Explanation]]:
        """Return the explanation of each metric's score of one response: ``text()``, ``claims``, ``svg()``.

        Args:
            other: another response to the same history; then the explanations of both are returned, of ``response`` first.

        Raises:
            InputError: a text is not one, or the service cannot score one of the responses.
        """
        item = Item(history, response, references)
        if other is None:
            return await self._send(calls.explanation(item, metrics))
        return await self._send(calls.two_explanations(item, Item(history, other, references), metrics))

    async def info(self) -> ServiceDetails:
        """Return the service's version, graph, metrics with their signatures, and limits."""
        return await self._send(calls.info())

    async def concept(self, text: str, *, language: str = "en") -> ConceptDetails:
        """Return the concept that ``text`` names, with its neighbours; :class:`UnknownName` if it is not in the graph."""
        return await self._send(calls.concept(text, language))

    async def complete(self, prefix: str, *, limit: int = 10) -> list[Completion]:
        """Return concepts whose text begins with ``prefix``."""
        return await self._send(calls.complete(prefix, limit))

    async def neighbours(
        self, concept: str, hop: int = 1, limit: int = 10, relations: Collection[str] | None = None, *, language: str = "en"
    ) -> list[Neighbour]:
        """Return the concepts exactly ``hop`` hops from a concept (text or URI), strongest first."""
        return await self._send(calls.neighbours(concept, hop, limit, relations, language))

    async def hops(self, source: str, targets: Sequence[str], max_hops: int = 6, *, language: str = "en") -> list[int]:
        """Return the hops from a concept to each of at most 100 others (texts or URIs); -1: no path within ``max_hops``."""
        return await self._send(calls.hops(source, targets, max_hops, language))

    async def paths(self, source: str, target: str, max_hops: int = 6, limit: int = 10, *, language: str = "en") -> list[Path]:
        """Return the shortest paths between two concepts (texts or URIs), strongest first."""
        return await self._send(calls.paths(source, target, max_hops, limit, language))

    async def tails(self, head: str, relation: str | None = None, limit: int | None = None) -> list[Assertion]:
        """Return assertions about an event, best first; without ``limit`` the service's default number."""
        return await self._send(calls.tails(head, relation, limit))

    async def concept_tails(
        self, concept: str, relation: str | None = None, limit: int | None = None, *, language: str = "en"
    ) -> list[ConceptTail]:
        """Return the tails of the events that mention a concept (text or URI), best first; the graph needs links."""
        return await self._send(calls.concept_tails(concept, relation, limit, language))

    async def linked_paths(
        self, source: str, target: str, max_hops: int = 6, limit: int = 10, *, language: str = "en"
    ) -> list[Path]:
        """Return the shortest paths between two concepts or events through both, best first; the graph needs links."""
        return await self._send(calls.paths(source, target, max_hops, limit, language, events=True))

    async def infer(
        self,
        dialogue: Sequence[str],
        target: int | None = None,
        questions: Sequence[str] | None = None,
        *,
        limit: int = 3,
    ) -> DialogueAnswers:
        """Return the answers to CICERO's questions about a turn, or every turn; see :meth:`Inference.answer`."""
        return await self._send(calls.infer(dialogue, target, questions, limit))

    async def choose(self, instance: Instance, answers: int | None = None) -> Chosen:
        """Return the judged choices of an instance; ``answers``: how many are right; see :meth:`Chooser.choose`."""
        return await self._send(calls.choose(instance, answers))

    async def cypher(
        self, query: str, parameters: Mapping[str, Any] | None = None, *, limit: int = 1000, timeout: float = 10.0
    ) -> QueryResult:
        """Return the rows of a read-only query: Cypher, or the name of a query of the cookbook."""
        return await self._send(calls.cypher(query, parameters, limit, timeout))

    async def cookbook(self) -> dict[str, Query]:
        """Return the queries of the service's cookbook, by name."""
        return await self._send(calls.cookbook())

    async def health(self) -> bool:
        """Return whether the service is running; without retries."""
        return await self._succeeds("/healthz")

    async def ready(self) -> bool:
        """Return whether the service is ready, i.e. its graph answers; without retries."""
        return await self._succeeds("/readyz")

    async def close(self) -> None:
        """Close the connections."""
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

    async def _succeeds(self, path: str) -> bool:
        try:
            return (await self._http.get(path)).is_success
        except httpx.TransportError:
            return False

    def _sizer(self, batch_size: int | None) -> BatchSizer:
        return BatchSizer(batch_size, self._http.timeout.read or TIMEOUT)

    async def _stream(
        self,
        items: Iterable[StreamItem],
        metrics: Sequence[str] | None,
        explain: bool,
        concurrency: int,
        sizer: BatchSizer,
    ) -> AsyncIterator[ItemScores]:
        """Yield rows in order, with at most ``concurrency`` concurrent requests; closing the generator cancels them."""
        waiting: deque[tuple[Batch, Task[list[ItemScores]]]] = deque()
        await self._apply_limits(sizer, concurrency)
        try:
            for batch in batches(items, sizer):
                waiting.append((batch, create_task(self._rows(batch.items, metrics, explain, sizer))))
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
        self, items: Sequence[dict[str, Any]], metrics: Sequence[str] | None, explain: bool, sizer: BatchSizer
    ) -> list[ItemScores]:
        """Return the rows in order; a batch that is too large or too slow is split in halves, down to single items."""
        if not items:
            return []
        try:
            return await self._send(calls.score(items, metrics, explain, sizer))
        except (TooMuch, TooSlow) as error:
            sizer.reduce()
            if len(items) == 1:
                if isinstance(error, TooSlow):
                    raise
                return [ItemScores(None, error=str(error))]
        middle = len(items) // 2
        first = await self._rows(items[:middle], metrics, explain, sizer)
        return first + await self._rows(items[middle:], metrics, explain, sizer)

    async def _apply_limits(self, sizer: BatchSizer, requests: int) -> None:
        """Set the limits of the service on ``sizer``, if the service returns them; without retries."""
        call = calls.info()
        try:
            details = Exchange(call, self._patience).answer(await self._http.get(call.path))
        except (httpx.TransportError, TacitError):
            return
        sizer.keep_within(details.limits, requests)
