"""Each question to the service as data: method, path, what is sent, and how the library's types are made of the answer."""

from __future__ import annotations

from collections.abc import Callable, Collection, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, Generic, NamedTuple, TypeVar
from urllib.parse import quote

from ...cypher import Query
from ...graph.item import Item
from ...graph.model import Assertion, GraphCounts, Neighbour, Path, QueryResult
from ...reasoning.base import Score, path_from_dict
from ...reasoning.explanation import Explanation
from ...reasoning.scorer import ItemScores
from ..schema import read_assertion, read_neighbour
from .batches import Pace, body_of

T = TypeVar("T")


@dataclass(frozen=True, slots=True)
class Call(Generic[T]):
    """One request.

    Attributes:
        read: makes the typed answer of the JSON that comes. body: sent as JSON by POST; None: by GET.
        pace: learns how long a request of ``size`` items took, and gives its timeout.
    """

    path: str
    read: Callable[[Any], T]
    body: Mapping[str, Any] | None = None
    parameters: Mapping[str, Any] = field(default_factory=dict)
    pace: Pace | None = None
    size: int = 0


def score(
    items: Sequence[Mapping[str, Any]], metrics: Sequence[str] | None, explain: bool, pace: Pace | None = None
) -> Call[list[ItemScores]]:
    """The scores of several items, in order."""

    def read(answer: Any) -> list[ItemScores]:
        rows = [ItemScores.from_dict(row) for row in answer["items"]]
        if len(rows) != len(items):
            raise ValueError(f"{len(rows)} rows for {len(items)} items")
        return rows

    return Call("/v1/score", read, {"items": items, **_chosen(metrics), "explain": explain}, pace=pace, size=len(items))


def explanation(item: Item, metrics: Sequence[str] | None) -> Call[dict[str, Explanation]]:
    """What each metric's score of one response rests on; the picture is drawn here, so that it need not travel."""

    def read(answer: Any) -> dict[str, Explanation]:
        return {name: _explanation(told) for name, told in answer["explanations"].items()}

    return Call("/v1/explain", read, {**body_of(item), **_chosen(metrics), "svg": False})


def info() -> Call[ServiceDetails]:
    """What the service is made of."""

    def read(answer: Any) -> ServiceDetails:
        metrics = {name: MetricDetails(told["summary"], told["signature"]) for name, told in answer["metrics"].items()}
        return ServiceDetails(answer["version"], _graph(answer["graph"]), metrics, dict(answer["limits"]))

    return Call("/v1/info", read)


def concept(text: str, language: str) -> Call[ConceptDetails]:
    """One concept with what is around it."""

    def read(answer: Any) -> ConceptDetails:
        return ConceptDetails(answer["text"], answer["uri"], tuple(map(read_neighbour, answer["neighbours"])))

    return Call(f"/v1/concepts/{quote(text, safe='')}", read, parameters={"language": language})


def complete(prefix: str, limit: int) -> Call[list[Completion]]:
    """The concepts whose text begins so."""

    def read(answer: Any) -> list[Completion]:
        return [Completion(row["uri"], row["text"]) for row in answer["concepts"]]

    return Call("/v1/concepts", read, parameters={"prefix": prefix, "limit": limit})


def neighbours(concept: str, hop: int, limit: int, relations: Collection[str] | None, language: str) -> Call[list[Neighbour]]:
    """The concepts around one."""
    parameters: dict[str, Any] = {"concept": concept, "hop": hop, "limit": limit, "language": language}
    if relations is not None:
        parameters["relation"] = list(relations) or [""]
    return Call("/v1/neighbours", lambda answer: [read_neighbour(row) for row in answer["neighbours"]], parameters=parameters)


def paths(source: str, target: str, max_hops: int, limit: int, language: str) -> Call[list[Path]]:
    """The shortest paths between two concepts."""
    parameters = {"source": source, "target": target, "max_hops": max_hops, "limit": limit, "language": language}
    return Call("/v1/paths", lambda answer: [path_from_dict(row) for row in answer["paths"]], parameters=parameters)


def tails(head: str, relation: str | None, limit: int | None) -> Call[list[Assertion]]:
    """What is known about an event."""
    given = {"head": head, "relation": relation, "limit": limit}
    parameters = {name: value for name, value in given.items() if value is not None}
    return Call("/v1/tails", lambda answer: [read_assertion(row) for row in answer["tails"]], parameters=parameters)


def cypher(query: str, parameters: Mapping[str, Any] | None, limit: int, timeout: float) -> Call[QueryResult]:
    """The rows of a read-only query."""

    def read(answer: Any) -> QueryResult:
        columns = tuple(answer["columns"])
        rows = tuple(tuple(row[column] for column in columns) for row in answer["rows"])
        return QueryResult(columns, rows, answer["truncated"])

    body = {"query": query, "parameters": dict(parameters or {}), "limit": limit, "timeout": timeout}
    return Call("/v1/cypher", read, body)


def cookbook() -> Call[dict[str, Query]]:
    """The exploratory queries that come with tacit, by name."""

    def read(answer: Any) -> dict[str, Query]:
        return {
            row["name"]: Query(f"explore/{row['name']}", row["text"], row["summary"], tuple(row["parameters"]))
            for row in answer["queries"]
        }

    return Call("/v1/cookbook", read)


def _chosen(metrics: Sequence[str] | None) -> dict[str, Any]:
    return {} if metrics is None else {"metrics": [metrics] if isinstance(metrics, str) else list(metrics)}


def _graph(told: Mapping[str, Any] | None) -> GraphDetails | None:
    if told is None:
        return None
    counts = GraphCounts(told["concepts"], told["events"], told["assertions"], dict(told["relations"]))
    return GraphDetails(told["url"], told["digest"], counts, told.get("changed"))


def _explanation(told: Mapping[str, Any]) -> Explanation:
    evidence = {"pieces": told["pieces"], "note": told["note"]}
    told_of_it = {name: told.get(name) for name in ("value", "percentile", "signature")}
    score = Score.from_dict({**told_of_it, "evidence": evidence})
    return Explanation(tuple(told["history"]), told["response"], score)


# What the service tells and the library has no type for: what it serves, a concept and its surroundings, completions.


class Completion(NamedTuple):
    """A concept whose text begins as asked: its URI and its text."""

    uri: str
    text: str


@dataclass(frozen=True, slots=True)
class ConceptDetails:
    """A concept and its surroundings: ``text`` and ``uri``, and its strongest ``neighbours`` at one hop, at most 10."""

    text: str
    uri: str
    neighbours: tuple[Neighbour, ...] = ()


@dataclass(frozen=True, slots=True)
class MetricDetails:
    """A metric that is served: what it measures in a few words, and the signature that its scores bear."""

    summary: str
    signature: str


@dataclass(frozen=True, slots=True)
class GraphDetails:
    """The graph of a service.

    Attributes:
        url: where it is, without a password. digest: of its content. counts: its sizes.
        changed: a sentence where its folder was loaded again or deleted since the service opened it, else None.
    """

    url: str
    digest: str
    counts: GraphCounts
    changed: str | None = None


@dataclass(frozen=True, slots=True)
class ServiceDetails:
    """What a service is made of.

    Attributes:
        version: of tacit. graph: what it asks, None where its metrics need none.
        metrics: what can be asked for, by name, in the order in which scores come.
        limits: what it takes at most, by name, as it says it.
    """

    version: str
    graph: GraphDetails | None
    metrics: dict[str, MetricDetails]
    limits: dict[str, Any] = field(default_factory=dict)
