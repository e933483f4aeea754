"""Response types of the service that the library lacks, shared with the client; :mod:`tacit.graph.schema` has their JSON."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any, NamedTuple

from ..graph.model import GraphCounts, Neighbour
from ..graph.schema import shape

MAX_ROWS = 1_000
"""Most rows of a graph lookup that the service returns at once."""


@shape()
class Completion(NamedTuple):
    """A concept whose text begins with the given prefix: its URI and its text."""

    uri: str
    text: str


@shape()
class Distance(NamedTuple):
    """The number of hops between two concepts, given by their texts; -1: there is no path within the limit of hops."""

    source: str
    target: str
    hops: int


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


@shape(
    "url", "digest", "concepts=counts.concepts", "events=counts.events", "assertions=counts.assertions",
    "relations=counts.relations", "changed",
)  # fmt: skip
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

    @classmethod
    def json_fields(cls, row: Mapping[str, Any]) -> dict[str, Any]:
        """Return the fields from JSON, where the counts are not nested."""
        return {**row, "counts": row}


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
