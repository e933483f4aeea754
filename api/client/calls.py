"""The calls of the HTTP API as data: path, parameters or body, and the conversion of the response to types of the library."""

from __future__ import annotations

from collections.abc import Callable, Collection, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, Generic, TypeVar
from urllib.parse import quote

from ...cypher import Query
from ...graph.item import Item
from ...graph.links import ConceptTail
from ...graph.model import Assertion, Neighbour, Path, QueryResult
from ...graph.questions import Instance
from ...graph.schema import load
from ...reasoning.explanation import Explanation
from ...reasoning.inference.answers import DialogueAnswers, TurnAnswers
from ...reasoning.inference.choosing import Chosen
from ...reasoning.scorer import ItemScores
from ..schema import Completion, ConceptDetails, Distance, ServiceDetails
from .batches import BatchSizer, body_of

T = TypeVar("T")


@dataclass(frozen=True, slots=True)
class Call(Generic[T]):
    """One call of the API.

    Attributes:
        read: converts the JSON response. body: sent as JSON by POST; None: the call is a GET with ``parameters``.
        sizer: gives the timeout of a request of ``size`` items, and is told its duration.
    """

    path: str
    read: Callable[[Any], T]
    body: Mapping[str, Any] | None = None
    parameters: Mapping[str, Any] = field(default_factory=dict)
    sizer: BatchSizer | None = None
    size: int = 0


def score(
    items: Sequence[Mapping[str, Any]], metrics: Sequence[str] | None, explain: bool, sizer: BatchSizer | None = None
) -> Call[list[ItemScores]]:
    """The scores of several items, in order."""

    def read(answer: Any) -> list[ItemScores]:
        rows = [ItemScores.from_dict(row) for row in answer["items"]]
        if len(rows) != len(items):
            raise ValueError(f"{len(rows)} rows for {len(items)} items")
        return rows

    return Call("/v1/score", read, {"items": items, **_metrics(metrics), "explain": explain}, sizer=sizer, size=len(items))


def explanation(item: Item, metrics: Sequence[str] | None) -> Call[dict[str, Explanation]]:
    """The explanations of one response; pictures are drawn by the client."""

    body = {**body_of(item), **_metrics(metrics), "svg": False}
    return Call("/v1/explain", lambda answer: load(dict[str, Explanation], answer["explanations"]), body)


def two_explanations(
    item: Item, other: Item, metrics: Sequence[str] | None
) -> Call[tuple[dict[str, Explanation], dict[str, Explanation]]]:
    """The explanations of two responses to one history, ``other`` having that of ``item``, in one request."""

    def read(answer: Any) -> tuple[dict[str, Explanation], dict[str, Explanation]]:
        first, second = (load(dict[str, Explanation], answer[name]) for name in ("explanations", "other"))
        return first, second

    return Call("/v1/explain", read, {**body_of(item), "other": other.response, **_metrics(metrics), "svg": False})


def info() -> Call[ServiceDetails]:
    """Version, graph, metrics and limits of the service."""
    return Call("/v1/info", lambda answer: load(ServiceDetails, answer))


def concept(text: str, language: str) -> Call[ConceptDetails]:
    """One concept with its strongest neighbours."""
    path = f"/v1/concepts/{quote(text, safe='')}"
    return Call(path, lambda answer: load(ConceptDetails, answer), parameters={"language": language})


def complete(prefix: str, limit: int) -> Call[list[Completion]]:
    """The concepts whose text begins with ``prefix``."""
    parameters = {"prefix": prefix, "limit": limit}
    return Call("/v1/concepts", lambda answer: load(list[Completion], answer["concepts"]), parameters=parameters)


def neighbours(concept: str, hop: int, limit: int, relations: Collection[str] | None, language: str) -> Call[list[Neighbour]]:
    """The neighbours of a concept."""
    parameters: dict[str, Any] = {"concept": concept, "hop": hop, "limit": limit, "language": language}
    if relations is not None:
        parameters["relation"] = list(relations) or [""]
    return Call("/v1/neighbours", lambda answer: load(list[Neighbour], answer["neighbours"]), parameters=parameters)


def hops(source: str, targets: Sequence[str], max_hops: int, language: str) -> Call[list[int]]:
    """The numbers of hops from one concept to others."""
    parameters = {"source": source, "target": list(targets), "max_hops": max_hops, "language": language}
    return Call("/v1/hops", lambda answer: [row.hops for row in load(list[Distance], answer["hops"])], parameters=parameters)


def paths(source: str, target: str, max_hops: int, limit: int, language: str, events: bool = False) -> Call[list[Path]]:
    """The shortest paths between two concepts, or with ``events`` between concepts and events by links too."""
    parameters: dict[str, Any] = {"source": source, "target": target, "max_hops": max_hops, "limit": limit, "language": language}
    if events:
        parameters["events"] = True
    return Call("/v1/paths", lambda answer: load(list[Path], answer["paths"]), parameters=parameters)


def tails(head: str, relation: str | None, limit: int | None) -> Call[list[Assertion]]:
    """Assertions about an event."""
    given = {"head": head, "relation": relation, "limit": limit}
    parameters = {name: value for name, value in given.items() if value is not None}
    return Call("/v1/tails", lambda answer: load(list[Assertion], answer["tails"]), parameters=parameters)


def concept_tails(concept: str, relation: str | None, limit: int | None, language: str) -> Call[list[ConceptTail]]:
    """Tails of the events that mention a concept."""
    given = {"concept": concept, "relation": relation, "limit": limit, "language": language}
    parameters = {name: value for name, value in given.items() if value is not None}
    return Call("/v1/concept-tails", lambda answer: load(list[ConceptTail], answer["tails"]), parameters=parameters)


def infer(dialogue: Sequence[str], target: int | None, questions: Sequence[str] | None, limit: int) -> Call[DialogueAnswers]:
    """The answers to the five questions about the turns of a dialogue."""
    given = {"target": target, "questions": None if questions is None else [str(name) for name in questions]}
    body = {"dialogue": dialogue, **{name: value for name, value in given.items() if value is not None}, "limit": limit}
    return Call("/v1/infer", lambda answer: DialogueAnswers(load(list[TurnAnswers], answer["turns"])), body)


def choose(instance: Instance, answers: int | None) -> Call[Chosen]:
    """The judged choices of an instance."""
    body: dict[str, Any] = {
        "id": instance.id, "dialogue": instance.dialogue, "target": instance.target, "question": instance.question.value,
        "choices": instance.choices,
    }  # fmt: skip
    return Call("/v1/choose", lambda answer: load(Chosen, answer), body if answers is None else {**body, "answers": answers})


def cypher(query: str, parameters: Mapping[str, Any] | None, limit: int, timeout: float) -> Call[QueryResult]:
    """The rows of a read-only query."""

    def read(answer: Any) -> QueryResult:
        columns = tuple(answer["columns"])
        rows = tuple(tuple(row[column] for column in columns) for row in answer["rows"])
        return QueryResult(columns, rows, answer["truncated"])

    body = {"query": query, "parameters": dict(parameters or {}), "limit": limit, "timeout": timeout}
    return Call("/v1/cypher", read, body)


def cookbook() -> Call[dict[str, Query]]:
    """The queries of the cookbook, by name."""

    def read(answer: Any) -> dict[str, Query]:
        return {
            row["name"]: Query(f"explore/{row['name']}", row["text"], row["summary"], tuple(row["parameters"]))
            for row in answer["queries"]
        }

    return Call("/v1/cookbook", read)


def _metrics(metrics: Sequence[str] | None) -> dict[str, Any]:
    return {} if metrics is None else {"metrics": [metrics] if isinstance(metrics, str) else list(metrics)}
