"""The client for plain programs: each method asks, waits, and returns what the library would."""

from __future__ import annotations

import os
from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from time import sleep
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
from .batches import Pace, batches, body_of
from .calls import Completion, ConceptDetails, ServiceDetails
from .exchange import TIMEOUT, URL, Exchange, Patience, TooMuch, TooSlow, settings

T = TypeVar("T")


class Client:
    """A connection to a service (``tacit serve``); a context manager that closes itself, safe to share between threads.

    Answers equal the library's: scores with ``explain`` as :class:`tacit.reasoning.Reasoner` gives them (without, their evidence
    stays at the service), neighbours, paths and assertions as :class:`tacit.graph.KnowledgeGraph` does. All methods raise what
    the library raises for the same fault, and ServiceUnavailable where the service does not answer or stays too busy,
    ServiceError where it fails. Messages end with the request's id, which the service's log holds too.
    """

    def __init__(
        self,
        url: str = URL,
        *,
        api_key: str | None = None,
        timeout: float = TIMEOUT,
        patience: Patience | None = None,
        transport: httpx.BaseTransport | None = None,
    ) -> None:
        """Get ready to ask; nothing is sent yet.

        Args:
            url: the service's address.
            api_key: a key where it wants one; TACIT_API_KEY of the environment by default.
            timeout: seconds that one request may go without an answer.
            patience: how long to go on asking a service that is busy, away or not there yet.
            transport: what carries the requests, e.g. to an application in this process; the network by default.

        Raises:
            InputError: the address is no URL, or the key no key.
        """
        self._patience = patience or Patience()
        self._http = httpx.Client(transport=transport, **settings(url, api_key, timeout))

    def score(
        self,
        history: Sequence[str],
        response: str,
        references: Sequence[str] = (),
        *,
        metrics: Sequence[str] | None = None,
        explain: bool = False,
    ) -> dict[str, Score]:
        """Return the scores of one response by metric, all that are served by default; see :meth:`Reasoner.score`."""
        [row] = self._send(calls.score([body_of(Item(history, response, references))], metrics, explain))
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
    ) -> Iterator[ItemScores]:
        """Yield the scores of each ``(id, history, response[, references])``, in order; see :meth:`Reasoner.stream`.

        One batch is held in memory. An item that cannot be scored gives a row with ``error``.

        Args:
            items: what to score; metrics, explain: as for :meth:`score`.
            batch_size: items a request at most; by default as many as the service takes and answers in about five seconds.

        Raises:
            InputError: ``batch_size`` is below 1.
        """
        return self._stream(items, metrics, explain, self._pace(batch_size))

    def score_file(
        self,
        path: str | os.PathLike[str],
        *,
        metrics: Sequence[str] | None = None,
        explain: bool = False,
        batch_size: int | None = None,
        strict: bool = False,
    ) -> Iterator[ItemScores]:
        """Yield the scores of a dialogue file's items (JSON lines, plain or gzip), in order, in constant memory.

        A line that holds no item gives a row without id whose error names the line; ``strict`` ends there.
        """
        return self._stream(read_items(path, strict=strict), metrics, explain, self._pace(batch_size))

    def explain(
        self, history: Sequence[str], response: str, references: Sequence[str] = (), *, metrics: Sequence[str] | None = None
    ) -> dict[str, Explanation]:
        """Return what each metric's score of one response rests on: its ``text()``, ``claims``, ``svg()``."""
        return self._send(calls.explanation(Item(history, response, references), metrics))

    def info(self) -> ServiceDetails:
        """Return what the service is made of: version, graph, metrics with their signatures, limits."""
        return self._send(calls.info())

    def concept(self, text: str, *, language: str = "en") -> ConceptDetails:
        """Return the concept that ``text`` names, with what is around it; InputError when it names none."""
        return self._send(calls.concept(text, language))

    def complete(self, prefix: str, *, limit: int = 10) -> list[Completion]:
        """Return concepts whose text begins with ``prefix``."""
        return self._send(calls.complete(prefix, limit))

    def neighbours(
        self, concept: str, hop: int = 1, limit: int = 10, relations: Collection[str] | None = None, *, language: str = "en"
    ) -> list[Neighbour]:
        """Return the concepts exactly ``hop`` hops from a concept (text or URI), strongest first."""
        return self._send(calls.neighbours(concept, hop, limit, relations, language))

    def paths(self, source: str, target: str, max_hops: int = 6, limit: int = 10, *, language: str = "en") -> list[Path]:
        """Return the shortest paths between two concepts (texts or URIs), strongest first."""
        return self._send(calls.paths(source, target, max_hops, limit, language))

    def tails(self, head: str, relation: str | None = None, limit: int | None = None) -> list[Assertion]:
        """Return what is known about an event; without ``limit`` as much as the service gives."""
        return self._send(calls.tails(head, relation, limit))

    def cypher(
        self, query: str, parameters: Mapping[str, Any] | None = None, *, limit: int = 1000, timeout: float = 10.0
    ) -> QueryResult:
        """Return the rows of a read-only query, given as Cypher or by its name in the cookbook."""
        return self._send(calls.cypher(query, parameters, limit, timeout))

    def cookbook(self) -> dict[str, Query]:
        """Return the exploratory queries that come with tacit, by name."""
        return self._send(calls.cookbook())

    def health(self) -> bool:
        """Whether the service lives; asked once."""
        return self._asked_once("/healthz")

    def ready(self) -> bool:
        """Whether the service can answer: its graph is there; asked once."""
        return self._asked_once("/readyz")

    def close(self) -> None:
        """Let go of the connections."""
        self._http.close()

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *exc: object) -> None:
        self.close()

    def _send(self, call: calls.Call[T]) -> T:
        exchange = Exchange(call, self._patience)
        while True:
            request = exchange.request(self._http)
            try:
                response = self._http.send(request)
            except httpx.TransportError as error:
                sleep(exchange.failed(request, error))
                continue
            wait = exchange.refused(response)
            if wait is None:
                return exchange.answer(response)
            sleep(wait)

    def _asked_once(self, path: str) -> bool:
        try:
            return self._http.get(path).is_success
        except httpx.TransportError:
            return False

    def _pace(self, batch_size: int | None) -> Pace:
        return Pace(batch_size, self._http.timeout.read or TIMEOUT)

    def _stream(
        self, items: Iterable[StreamItem], metrics: Sequence[str] | None, explain: bool, pace: Pace
    ) -> Iterator[ItemScores]:
        self._learn_limits(pace)
        for batch in batches(items, pace):
            yield from batch.filled(self._rows(batch.items, metrics, explain, pace))

    def _rows(
        self, items: Sequence[dict[str, Any]], metrics: Sequence[str] | None, explain: bool, pace: Pace
    ) -> list[ItemScores]:
        """Rows in order; where the service takes less at a time, halves are sent, down to one item that is too much by itself."""
        if not items:
            return []
        try:
            return self._send(calls.score(items, metrics, explain, pace))
        except (TooMuch, TooSlow) as error:
            pace.refused()
            if len(items) == 1:
                if isinstance(error, TooSlow):
                    raise
                return [ItemScores(None, error=str(error))]
        middle = len(items) // 2
        first = self._rows(items[:middle], metrics, explain, pace)
        return first + self._rows(items[middle:], metrics, explain, pace)

    def _learn_limits(self, pace: Pace) -> None:
        """Ask the service for its limits, once; what it does not tell is found out by what it refuses."""
        call = calls.info()
        try:
            details = Exchange(call, self._patience).answer(self._http.get(call.path))
        except (httpx.TransportError, TacitError):
            return
        pace.keep_within(details.limits)
