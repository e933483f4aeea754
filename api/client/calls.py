"""The calls of the HTTP API as data: path, parameters or body, and the conversion of the response to types of the library."""

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

    def read(answer: Any) -> dict[str, Explanation]:
        return {name: _explanation(row) for name, row in answer["explanations"].items()}

    return Call("/v1/explain", read, {**body_of(item), **_metrics(metrics), "svg": False})


def info() -> Call[ServiceDetails]:
    """Version, graph, metrics and limits of the service."""

    def read(answer: Any) -> ServiceDetails:
        metrics = {name: MetricDetails(row["summary"], row["signature"]) for name, row in answer["metrics"].items()}
        return ServiceDetails(answer["version"], _graph(answer["graph"]), metrics, dict(answer["limits"]))

    return Call("/v1/info", read)


def concept(text: str, language: str) -> Call[ConceptDetails]:
    """One concept with its strongest neighbours."""

    def read(answer: Any) -> ConceptDetails:
        return ConceptDetails(answer["text"], answer["uri"], tuple(map(read_neighbour, answer["neighbours"])))

    return Call(f"/v1/concepts/{quote(text, safe='')}", read, parameters={"language": language})


def complete(prefix: str, limit: int) -> Call[list[Completion]]:
    """The concepts whose text begins with ``prefix``."""

    def read(answer: Any) -> list[Completion]:
        return [Completion(row["uri"], row["text"]) for row in answer["concepts"]]

    return Call("/v1/concepts", read, parameters={"prefix": prefix, "limit": limit})


def neighbours(concept: str, hop: int, limit: int, relations: Collection[str] | None, language: str) -> Call[list[Neighbour]]:
    """The neighbours of a concept."""
    parameters: dict[str, Any] = {"concept": concept, "hop": hop, "limit": limit, "language": language}
    if relations is not None:
        parameters["relation"] = list(relations) or [""]
    return Call("/v1/neighbours", lambda answer: [read_neighbour(row) for row in answer["neighbours"]], parameters=parameters)


def paths(source: str, target: str, max_hops: int, limit: int, language: str) -> Call[list[Path]]:
    """The shortest paths between two concepts."""
    parameters = {"source": source, "target": target, "max_hops": max_hops, "limit": limit, "language": language}
    return Call("/v1/paths", lambda answer: [path_from_dict(row) for row in answer["paths"]], parameters=parameters)


def tails(head: str, relation: str | None, limit: int | None) -> Call[list[Assertion]]:
    """Assertions about an event."""
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
    """The queries of the cookbook, by name."""

    def read(answer: Any) -> dict[str, Query]:
        return {
            row["name"]: Query(f"explore/{row['name']}", row["text"], row["summary"], tuple(row["parameters"]))
            for row in answer["queries"]
        }

    return Call("/v1/cookbook", read)


def _metrics(metrics: Sequence[str] | None) -> dict[str, Any]:
    return {} if metrics is None else {"metrics": [metrics] if isinstance(metrics, str) else list(metrics)}


def _graph(row: Mapping[str, Any] | None) -> GraphDetails | None:
    if row is None:
        return None
    counts = GraphCounts(row["concepts"], row["events"], row["assertions"], dict(row["relations"]))
    return GraphDetails(row["url"], row["digest"], counts, row.get("changed"))


def _explanation(row: Mapping[str, Any]) -> Explanation:
    evidence = {"pieces": row["pieces"], "note": row["note"]}
    fields = {name: row.get(name) for name in ("value", "percentile", "signature")}
    score = Score.from_dict({**fields, "evidence": evidence})
    return Explanation(tuple(row["history"]), row["response"], score)


# Response types that the library does not have.


class Completion(NamedTuple):
    """A concept whose text begins with the given prefix: its URI and its text."""

    uri: str
    text: str


@dataclass(frozen=True, slots=True)
class ConceptDetails:
    """A concept with its strongest neighbours at one hop, at most 10."""

    text: str
    uri: str
    neighbours: tuple[Neighbour, ...] = ()


@dataclass(frozen=True, slots=True)
class MetricDetails:
    """A metric of the service: a summary in a few words, and the signature of its scores."""

    summary: str
    signature: str


@dataclass(frozen=True, slots=True)
class GraphDetails:
    """The graph of a service.

    Attributes:
        url: its URL without a password. digest: of its content. counts: its sizes.
        changed: a sentence if its files were loaded again or deleted since the service opened them, else None.
    """

    url: str
    digest: str
    counts: GraphCounts
    changed: str | None = None


@dataclass(frozen=True, slots=True)
class ServiceDetails:
    """Description of a service.

    Attributes:
        version: of tacit. graph: None if the service has none.
        metrics: by name, in the order of the scores.
        limits: of requests, by name.
    """

    version: str
    graph: GraphDetails | None
    metrics: dict[str, MetricDetails]
    limits: dict[str, Any] = field(default_factory=dict)
