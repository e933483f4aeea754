"""The methods of both clients, written once: coroutines that :class:`AsyncClient` awaits and :class:`Client` runs to the end."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Callable, Collection, Mapping, Sequence
from time import monotonic
from typing import Any, TypeVar, overload
from urllib.parse import quote

import httpx
import orjson

from ...cypher import Query
from ...graph.arguments import check_texts
from ...graph.errors import InputError, TacitError
from ...graph.item import Item
from ...graph.links import ConceptTail
from ...graph.model import Assertion, Neighbour, Path, QueryResult
from ...graph.query.validator import check_parameters
from ...graph.questions import Instance
from ...graph.schema import load
from ...reasoning.base import Score
from ...reasoning.explanation import Explanation
from ...reasoning.inference.answers import DialogueAnswers, TurnAnswers
from ...reasoning.inference.choosing import Chosen
from ...reasoning.scorer import ItemScores
from ..details import MAX_ROWS, Completion, ConceptDetails, Distance, ServiceDetails
from .batches import BatchSizer, body_of
from .exchange import RETRY_STATUSES, TIMEOUT, RetryPolicy, TooMuch, TooSlow, answer_of, unreachable

T = TypeVar("T")


class Methods(ABC):
    """The methods of a client, over the HTTP client that a subclass opens."""

    _http: httpx.Client | httpx.AsyncClient
    _retry: RetryPolicy

    @abstractmethod
    async def _transmit(self, request: httpx.Request) -> httpx.Response:
        """Send a request."""

    @abstractmethod
    async def _pause(self, seconds: float) -> None:
        """Sleep between two attempts."""

    async def score(
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
        [row] = await self._score([body_of(Item(history, response, references))], metrics, explain)
        if row.error is not None:
            raise InputError(row.error)
        return row.scores

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
        pair = {} if other is None else {"other": Item(history, other, references).response}

        def read(answer: Any) -> Any:
            explanations = [load(dict[str, Explanation], answer[name]) for name in ("explanations", *pair)]
            return tuple(explanations) if pair else explanations[0]

        return await self._post("/v1/explain", read, **body_of(item), **pair, metrics=_names(metrics), svg=False)

    async def info(self) -> ServiceDetails:
        """Return the service's version, graph, metrics with their signatures, and limits."""
        return await self._get("/v1/info", _object(ServiceDetails))

    async def concept(self, text: str, *, language: str = "en") -> ConceptDetails:
        """Return the concept that ``text`` names, with its neighbours; :class:`UnknownName` if it is not in the graph."""
        return await self._get(f"/v1/concepts/{quote(text, safe='')}", _object(ConceptDetails), language=language)

    async def complete(self, prefix: str, *, limit: int = 10) -> list[Completion]:
        """Return concepts whose text begins with ``prefix``."""
        return await self._get("/v1/concepts", _member("concepts", list[Completion]), prefix=prefix, limit=limit)

    async def neighbours(
        self,
        concept: str,
        hop: int = 1,
        limit: int | None = 10,
        relations: Collection[str] | None = None,
        *,
        language: str = "en",
    ) -> list[Neighbour]:
        """Return the concepts exactly ``hop`` hops from a concept (text or URI), strongest first.

        Without ``limit`` as many as the service returns at once, 1,000.
        """
        relation = None if relations is None else list(relations) or [""]
        return await self._get(
            "/v1/neighbours", _member("neighbours", list[Neighbour]), concept=concept, hop=hop, limit=_limit(limit),
            relation=relation, language=language,
        )  # fmt: skip

    async def hops(self, source: str, targets: Sequence[str], max_hops: int = 6, *, language: str = "en") -> list[int]:
        """Return the hops from a concept to each of at most 100 others (texts or URIs); -1: no path within ``max_hops``."""
        rows = await self._get(
            "/v1/hops", _member("hops", list[Distance]), source=source, target=list(check_texts(targets)), max_hops=max_hops,
            language=language,
        )  # fmt: skip
        return [row.hops for row in rows]

    async def paths(self, source: str, target: str, max_hops: int = 6, limit: int = 10, *, language: str = "en") -> list[Path]:
        """Return the shortest paths between two concepts (texts or URIs), strongest first."""
        return await self._paths(source, target, max_hops, limit, language)

    async def tails(self, head: str, relation: str | None = None, limit: int | None = None) -> list[Assertion]:
        """Return assertions about an event, best first; without ``limit`` as many as the service returns at once, 1,000."""
        return await self._get("/v1/tails", _member("tails", list[Assertion]), head=head, relation=relation, limit=_limit(limit))

    async def concept_tails(
        self, concept: str, relation: str | None = None, limit: int | None = None, *, language: str = "en"
    ) -> list[ConceptTail]:
        """Return the tails of the events that mention a concept (text or URI), best first; the graph needs links.

        Without ``limit`` as many as the service returns at once, 1,000.
        """
        return await self._get(
            "/v1/concept-tails", _member("tails", list[ConceptTail]), concept=concept, relation=relation,
            limit=_limit(limit), language=language,
        )  # fmt: skip

    async def linked_paths(
        self, source: str, target: str, max_hops: int = 6, limit: int = 10, *, language: str = "en"
    ) -> list[Path]:
        """Return the shortest paths between two concepts or events through both, best first; the graph needs links."""
        return await self._paths(source, target, max_hops, limit, language, events=True)

    async def infer(
        self, dialogue: Sequence[str], target: int | None = None, questions: Sequence[str] | None = None, *, limit: int = 3
    ) -> DialogueAnswers:
        """Return the answers to CICERO's questions about a turn, or every turn; see :meth:`Inference.answer`."""
        turns = await self._post(
            "/v1/infer", _member("turns", list[TurnAnswers]), dialogue=dialogue, target=target,
            questions=None if questions is None else [str(name) for name in questions], limit=limit,
        )  # fmt: skip
        return DialogueAnswers(turns)

    async def choose(self, instance: Instance, answers: int | None = None) -> Chosen:
        """Return the judged choices of an instance; ``answers``: how many are right; see :meth:`Chooser.choose`."""
        return await self._post(
            "/v1/choose", _object(Chosen), id=instance.id, dialogue=instance.dialogue, target=instance.target,
            question=instance.question.value, choices=instance.choices, answers=answers,
        )  # fmt: skip

    async def cypher(
        self, query: str, parameters: Mapping[str, Any] | None = None, *, limit: int = 1000, timeout: float = 10.0
    ) -> QueryResult:
        """Return the rows of a read-only query: Cypher, or the name of a query of the cookbook."""
        return await self._post(
            "/v1/cypher", _table, query=query, parameters=check_parameters(parameters), limit=limit, timeout=timeout
        )

    async def cookbook(self) -> dict[str, Query]:
        """Return the queries of the service's cookbook, by name."""
        return await self._get("/v1/cookbook", _queries)

    async def health(self) -> bool:
        """Return whether the service is running; without retries."""
        return await self._succeeds("/healthz")

    async def ready(self) -> bool:
        """Return whether the service is ready, i.e. its graph answers; without retries."""
        return await self._succeeds("/readyz")

    async def _paths(
        self, source: str, target: str, max_hops: int, limit: int, language: str, events: bool | None = None
    ) -> list[Path]:
        return await self._get(
            "/v1/paths", _member("paths", list[Path]), source=source, target=target, max_hops=max_hops, limit=limit,
            language=language, events=events,
        )  # fmt: skip

    async def _get(self, path: str, read: Callable[[Any], T], **parameters: Any) -> T:
        return await self._send(read, lambda: self._http.build_request("GET", path, params=_without_none(parameters)))

    async def _post(self, path: str, read: Callable[[Any], T], **body: Any) -> T:
        return await self._send(read, lambda: self._http.build_request("POST", path, content=_json(body), headers=_IS_JSON))

    async def _send(
        self, read: Callable[[Any], T], request: Callable[[], httpx.Request], sizer: BatchSizer | None = None, size: int = 0
    ) -> T:
        """Send what ``request`` builds until there is a final response, and return it converted by ``read``.

        ``sizer`` gets the result of a request of ``size`` items.
        """
        started, attempt = monotonic(), 0
        while True:
            attempt += 1
            attempt_started, built = monotonic(), request()
            wait: float | None
            try:
                response = await self._transmit(built)
            except httpx.TransportError as error:
                # after a read timeout there is no retry, which would cost the service the same again
                wait = None if isinstance(error, httpx.ReadTimeout) else self._retry.wait(attempt, monotonic() - started)
                if wait is None:
                    raise unreachable(built.url, error) from error
            else:
                busy = response.status_code in RETRY_STATUSES
                wait = self._retry.wait(attempt, monotonic() - started, response.headers.get("Retry-After")) if busy else None
                if sizer is not None and busy:
                    sizer.reduce()
                elif sizer is not None and response.is_success:
                    sizer.succeeded(size, monotonic() - attempt_started)
                if wait is None:
                    return answer_of(response, read)
            await self._pause(wait)

    async def _succeeds(self, path: str) -> bool:
        try:
            return (await self._transmit(self._http.build_request("GET", path))).is_success
        except httpx.TransportError:
            return False

    def _sizer(self, batch_size: int | None) -> BatchSizer:
        return BatchSizer(batch_size, self._http.timeout.read or TIMEOUT)

    async def _score(
        self, items: Sequence[dict[str, Any]], metrics: Sequence[str] | None, explain: bool, sizer: BatchSizer | None = None
    ) -> list[ItemScores]:
        def read(answer: Any) -> list[ItemScores]:
            rows = [ItemScores.from_dict(row) for row in answer["items"]]
            if len(rows) != len(items):
                raise ValueError(f"{len(rows)} rows for {len(items)} items")
            return rows

        def request() -> httpx.Request:
            body, timeout = _json({"items": items, "metrics": _names(metrics), "explain": explain}), self._http.timeout
            if sizer is not None:
                timeout = httpx.Timeout(sizer.timeout(len(items)), connect=timeout.connect)
            return self._http.build_request("POST", "/v1/score", content=body, headers=_IS_JSON, timeout=timeout)

        return await self._send(read, request, sizer, len(items))

    async def _rows(
        self, items: Sequence[dict[str, Any]], metrics: Sequence[str] | None, explain: bool, sizer: BatchSizer
    ) -> list[ItemScores]:
        """Return the rows in order; a batch that is too large or too slow is split in halves, down to single items."""
        if not items:
            return []
        try:
            return await self._score(items, metrics, explain, sizer)
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
        try:
            details = answer_of(await self._transmit(self._http.build_request("GET", "/v1/info")), _object(ServiceDetails))
        except (httpx.TransportError, TacitError):
            return
        sizer.keep_within(details.limits, requests)


_IS_JSON = {"Content-Type": "application/json"}


def _limit(limit: int | None) -> int:
    return MAX_ROWS if limit is None else limit


def _json(body: Mapping[str, Any]) -> bytes:
    try:
        return orjson.dumps(_without_none(body))
    except TypeError as error:
        raise InputError(f"the request cannot be written as JSON: {error}; give valid Unicode and 64-bit numbers") from None


def _without_none(values: Mapping[str, Any]) -> dict[str, Any]:
    """Return the values without those that are None, whose default the service has."""
    return {name: value for name, value in values.items() if value is not None}


def _names(metrics: Sequence[str] | None) -> list[str] | None:
    return None if metrics is None else [metrics] if isinstance(metrics, str) else list(metrics)


def _object(kind: type[T]) -> Callable[[Any], T]:
    """Return a function that reads a response as a ``kind``."""
    return lambda answer: load(kind, answer)


def _member(name: str, kind: type[T]) -> Callable[[Any], T]:
    """Return a function that reads one member of a response as a ``kind``."""
    return lambda answer: load(kind, answer[name])


def _table(answer: Any) -> QueryResult:
    columns = tuple(answer["columns"])
    rows = tuple(tuple(row[column] for column in columns) for row in answer["rows"])
    return QueryResult(columns, rows, answer["truncated"])


def _queries(answer: Any) -> dict[str, Query]:
    return {
        row["name"]: Query(f"explore/{row['name']}", row["text"], row["summary"], tuple(row["parameters"]))
        for row in answer["queries"]
    }
