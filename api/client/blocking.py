"""The blocking client of the HTTP service."""

from __future__ import annotations

import os
from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from time import sleep
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
from .batches import BatchSizer, batches, body_of
from .exchange import TIMEOUT, URL, Exchange, Patience, TooMuch, TooSlow, settings

T = TypeVar("T")


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
        patience: Patience | None = None,
        transport: httpx.BaseTransport | None = None,
    ) -> None:
        """Open a client; no request is sent yet.

        Args:
            url: the service's address.
            api_key: the API key, if the service needs one; default: the environment variable TACIT_API_KEY.
            timeout: seconds without a response after which a request fails.
            patience: how often and how long to retry while the service is busy or unreachable.
            transport: an httpx transport, e.g. to an application in this process; default: the network.

        Raises:
            InputError: the address is not an HTTP URL, or the key has characters that no key has.
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
        """Return the scores of one response by metric; see :meth:`Reasoner.score`.

        Args:
            metrics: names of metrics of the service; None: all.
            explain: return the evidence too.

        Raises:
            InputError: the item cannot be scored.
        """
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

        Holds one batch in memory. An item that cannot be scored gives a row with ``error``.

        Args:
            items: the items; metrics, explain: as for :meth:`score`.
            batch_size: maximum number of items per request; default: as many as the service allows and scores in about five
                seconds.

        Raises:
            InputError: ``batch_size`` is below 1.
        """
        return self._stream(items, metrics, explain, self._sizer(batch_size))

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
        return self._stream(read_items(path, strict=strict), metrics, explain, self._sizer(batch_size))

    @overload
    def explain(
        self,
        history: Sequence[str],
        response: str,
        references: Sequence[str] = (),
        *,
        metrics: Sequence[str] | None = None,
        other: None = None,
    ) -> dict[str, Explanation]: ...

    @overload
    def explain(
        self,
        history: Sequence[str],
        response: str,
        references: Sequence[str] = (),
        *,
        metrics: Sequence[str] | None = None,
        other: str,
    ) -> tuple[dict[str, Explanation], dict[str, Explanation]]: ...

    def explain(
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
            return self._send(calls.explanation(item, metrics))
        return self._send(calls.two_explanations(item, Item(history, other, references), metrics))

    def info(self) -> ServiceDetails:
        """Return the service's version, graph, metrics with their signatures, and limits."""
        return self._send(calls.info())

    def concept(self, text: str, *, language: str = "en") -> ConceptDetails:
        """Return the concept that ``text`` names, with its neighbours; :class:`UnknownName` if it is not in the graph."""
        return self._send(calls.concept(text, language))

    def complete(self, prefix: str, *, limit: int = 10) -> list[Completion]:
        """Return concepts whose text begins with ``prefix``."""
        return self._send(calls.complete(prefix, limit))

    def neighbours(
        self, concept: str, hop: int = 1, limit: int = 10, relations: Collection[str] | None = None, *, language: str = "en"
    ) -> list[Neighbour]:
        """Return the concepts exactly ``hop`` hops from a concept (text or URI), strongest first."""
        return self._send(calls.neighbours(concept, hop, limit, relations, language))

    def hops(self, source: str, targets: Sequence[str], max_hops: int = 6, *, language: str = "en") -> list[int]:
        """Return the hops from a concept to each of at most 100 others (texts or URIs); -1: no path within ``max_hops``."""
        return self._send(calls.hops(source, targets, max_hops, language))

    def paths(self, source: str, target: str, max_hops: int = 6, limit: int = 10, *, language: str = "en") -> list[Path]:
        """Return the shortest paths between two concepts (texts or URIs), strongest first."""
        return self._send(calls.paths(source, target, max_hops, limit, language))

    def tails(self, head: str, relation: str | None = None, limit: int | None = None) -> list[Assertion]:
        """Return assertions about an event, best first; without ``limit`` the service's default number."""
        return self._send(calls.tails(head, relation, limit))

    def concept_tails(
        self, concept: str, relation: str | None = None, limit: int | None = None, *, language: str = "en"
    ) -> list[ConceptTail]:
        """Return the tails of the events that mention a concept (text or URI), best first; the graph needs links."""
        return self._send(calls.concept_tails(concept, relation, limit, language))

    def linked_paths(self, source: str, target: str, max_hops: int = 6, limit: int = 10, *, language: str = "en") -> list[Path]:
        """Return the shortest paths between two concepts or events through both, best first; the graph needs links."""
        return self._send(calls.paths(source, target, max_hops, limit, language, events=True))

    def infer(
        self,
        dialogue: Sequence[str],
        target: int | None = None,
        questions: Sequence[str] | None = None,
        *,
        limit: int = 3,
    ) -> DialogueAnswers:
        """Return the answers to CICERO's questions about a turn, or every turn; see :meth:`Inference.answer`."""
        return self._send(calls.infer(dialogue, target, questions, limit))

    def choose(self, instance: Instance, answers: int | None = None) -> Chosen:
        """Return the judged choices of an instance; ``answers``: how many are right; see :meth:`Chooser.choose`."""
        return self._send(calls.choose(instance, answers))

    def cypher(
        self, query: str, parameters: Mapping[str, Any] | None = None, *, limit: int = 1000, timeout: float = 10.0
    ) -> QueryResult:
        """Return the rows of a read-only query: Cypher, or the name of a query of the cookbook."""
        return self._send(calls.cypher(query, parameters, limit, timeout))

    def cookbook(self) -> dict[str, Query]:
        """Return the queries of the service's cookbook, by name."""
        return self._send(calls.cookbook())

    def health(self) -> bool:
        """Return whether the service is running; without retries."""
        return self._succeeds("/healthz")

    def ready(self) -> bool:
        """Return whether the service is ready, i.e. its graph answers; without retries."""
        return self._succeeds("/readyz")

    def close(self) -> None:
        """Close the connections."""
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

    def _succeeds(self, path: str) -> bool:
        try:
            return self._http.get(path).is_success
        except httpx.TransportError:
            return False

    def _sizer(self, batch_size: int | None) -> BatchSizer:
        return BatchSizer(batch_size, self._http.timeout.read or TIMEOUT)

    def _stream(
        self, items: Iterable[StreamItem], metrics: Sequence[str] | None, explain: bool, sizer: BatchSizer
    ) -> Iterator[ItemScores]:
        self._apply_limits(sizer)
        for batch in batches(items, sizer):
            yield from batch.filled(self._rows(batch.items, metrics, explain, sizer))

    def _rows(
        self, items: Sequence[dict[str, Any]], metrics: Sequence[str] | None, explain: bool, sizer: BatchSizer
    ) -> list[ItemScores]:
        """Return the rows in order; a batch that is too large or too slow is split in halves, down to single items."""
        if not items:
            return []
        try:
            return self._send(calls.score(items, metrics, explain, sizer))
        except (TooMuch, TooSlow) as error:
            sizer.reduce()
            if len(items) == 1:
                if isinstance(error, TooSlow):
                    raise
                return [ItemScores(None, error=str(error))]
        middle = len(items) // 2
        first = self._rows(items[:middle], metrics, explain, sizer)
        return first + self._rows(items[middle:], metrics, explain, sizer)

    def _apply_limits(self, sizer: BatchSizer) -> None:
        """Set the limits of the service on ``sizer``, if the service returns them; without retries."""
        call = calls.info()
        try:
            details = Exchange(call, self._patience).answer(self._http.get(call.path))
        except (httpx.TransportError, TacitError):
            return
        sizer.keep_within(details.limits)
